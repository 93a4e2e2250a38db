"""The published policies of the deploying role are those of today's templates."""

from __future__ import annotations

import json

from scripts import deploying_role
from tests.deploy.emulator.process import ROOT

PUBLISHED = ROOT / "docs" / "deploying-role.json"


def test_the_published_policies_are_current() -> None:
    assert PUBLISHED.read_text() == deploying_role.document(), "run make policy"


def test_no_action_is_a_wildcard_and_each_policy_fits() -> None:
    for policy in json.loads(PUBLISHED.read_text()):
        assert len(json.dumps(policy, separators=(",", ":"))) <= deploying_role.MOST_CHARACTERS
        assert not [a for each in policy["Statement"] for a in each["Action"] if "*" in a]


def test_roles_can_be_made_only_where_ours_are() -> None:
    statements = [
        each for policy in json.loads(PUBLISHED.read_text()) for each in policy["Statement"]
    ]
    everywhere = [each for each in statements if each["Resource"] == "*"]
    assert not [a for each in everywhere for a in each["Action"] if a.startswith("iam:")]
