"""The published policies of the deploying role are those of today's templates."""

from __future__ import annotations

import json

import pytest

from scripts import deploying_role
from tests.deploy.emulator.process import ROOT

PUBLISHED = ROOT / "docs" / "deploying-role.json"


def test_the_published_policies_are_current() -> None:
    assert PUBLISHED.read_text() == deploying_role.document(), "run make policy"


def test_each_action_is_one_of_the_service_authorization_reference() -> None:
    known = deploying_role.authorization()
    published = {
        action
        for policy in json.loads(PUBLISHED.read_text())
        for each in policy["Statement"]
        for action in each["Action"]
    }
    assert [each for each in published if known[each] is None] == []
    by_hand = {each for actions in deploying_role.BY_HAND.values() for each in actions}
    assert by_hand | {*deploying_role.ALWAYS} <= published
    # What schemas of CloudFormation name, and IAM has not.
    assert "s3:REST.PUT.OBJECT" in deploying_role.asked() - published


def test_what_can_be_limited_to_our_names_is() -> None:
    assert deploying_role.resources("sns:CreateTopic") == ("arn:aws:sns:*:*:*-cluster-*",)
    assert deploying_role.resources("s3:DeleteBucket") == ("arn:aws:s3:::*-foundation-*",)
    # A kind of resource among them has AWS's own ids.
    assert deploying_role.resources("ssm:AddTagsToResource") == ("*",)
    assert deploying_role.resources("fsx:CreateFileSystem") == ("*",)
    assert deploying_role.resources("cloudwatch:DescribeAlarms") == ("*",)


def test_an_action_that_the_data_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rest = {k: v for k, v in deploying_role.authorization().items() if k != "sns:CreateTopic"}
    monkeypatch.setattr(deploying_role, "authorization", lambda: rest)
    with pytest.raises(ValueError, match=r"authorization.json lacks \['sns:CreateTopic'\]"):
        deploying_role.document()


def test_the_page_attaches_as_many_policies_as_there_are() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    numbers = range(len(json.loads(PUBLISHED.read_text())))
    assert f"for n in {' '.join(map(str, numbers))}; do" in page
    assert ",".join(f"$arn-{number}" for number in numbers) in page


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
