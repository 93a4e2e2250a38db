"""The life of one small institution on a real account: `make test-aws`, off by default.

``TRAINSHED_AWS_ACCOUNT``, ``TRAINSHED_AWS_REGION`` and ``TRAINSHED_AWS_ZONE`` say where; the
credentials are the environment's. What a destroy retains is named at the end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.deploy import account, cdk
from tests.deploy.institutions import changed, small
from tests.deploy.place import RealAccount

pytestmark = pytest.mark.aws
NAME = "trainshed-test"
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
PATIENCE_SECONDS = 2 * 3600


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> RealAccount:
    """The account, bootstrapped."""
    named = [os.environ.get(f"TRAINSHED_AWS_{key}") for key in ("ACCOUNT", "REGION")]
    assert all(named), "set TRAINSHED_AWS_ACCOUNT, TRAINSHED_AWS_REGION and TRAINSHED_AWS_ZONE"
    found = RealAccount(tmp_path_factory.mktemp("aws"), str(named[0]), str(named[1]))
    who = found.client("sts").get_caller_identity()["Account"]
    assert who == found.account, f"the credentials are of {who}, not of {found.account}"
    cdk.run(found, "bootstrap", f"aws://{found.account}/{found.region}", seconds=PATIENCE_SECONDS)
    return found


@pytest.fixture(scope="module")
def deployed(place: RealAccount) -> Iterator[cdk.Cdk]:
    """The institution, deployed; destroyed at the end, whatever happened."""
    made = cdk.of(place, place.work, document(place))
    made.seconds = PATIENCE_SECONDS
    try:
        made.deploy()
        yield made
    finally:
        made.destroy()
        kept = [
            line
            for stack in STACKS
            for line in made.template(stack)["Resources"]
            if made.template(stack)["Resources"][line]
            .get("DeletionPolicy", "")
            .startswith("Retain")
        ]
        print(f"retained, and paid for until it is deleted: {kept}")


def document(place: RealAccount) -> dict[str, object]:
    zone = os.environ.get("TRAINSHED_AWS_ZONE", f"{place.region}a")
    return small(
        NAME, account=place.account, region=place.region, network={"zone": zone, "vpc": {}}
    )


def test_both_stacks_are_created(place: RealAccount, deployed: cdk.Cdk) -> None:
    created = account.statuses(place, *STACKS, region=place.region)
    assert created == ["CREATE_COMPLETE"] * 2
    assert account.statuses(place, NAME, region=place.region) == ["CREATE_COMPLETE"]


def test_a_second_deploy_changes_nothing(place: RealAccount, deployed: cdk.Cdk) -> None:
    assert deployed.deploy_again().count("(no changes)") == 2


def test_a_live_change_replaces_nothing(place: RealAccount, deployed: cdk.Cdk) -> None:
    before = account.physical_ids(place, STACKS[1], region=place.region)
    grown = changed(document(place), "fleet.queues.gpu.max_nodes", 3)
    cdk.of(place, place.work, grown)
    deployed.deploy(STACKS[1], options=["--exclusively"])
    assert account.physical_ids(place, STACKS[1], region=place.region) == before
