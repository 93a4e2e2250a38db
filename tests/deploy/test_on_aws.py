"""The life of one small institution on a real account: `make test-aws`, off by default.

``TRAINSHED_AWS_ACCOUNT``, ``TRAINSHED_AWS_REGION`` and ``TRAINSHED_AWS_ZONE`` say where; the
credentials are the environment's. What a destroy retains is named at the end, but for parameters,
which the next run makes again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest

from tests.deploy import account, cdk
from tests.deploy.institutions import changed, small
from tests.deploy.place import RealAccount

pytestmark = pytest.mark.aws
# Short enough for the published policies of the deploying role.
NAME = "trainshed-aws"
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
PARAMETER = "AWS::SSM::Parameter"
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
def deployed(place: RealAccount, pytestconfig: pytest.Config) -> Iterator[cdk.Cdk]:
    """The institution, deployed; destroyed at the end, whatever happened."""
    made = cdk.of(place, place.work, document(place))
    made.seconds = PATIENCE_SECONDS
    try:
        made.deploy()
        yield made
    finally:
        kept = retained(place, made)
        try:
            made.destroy()
        finally:
            forget(place, [id for id, type in kept.items() if type == PARAMETER])
            lines = sorted(f"{type} {id}" for id, type in kept.items() if type != PARAMETER)
            # pytest shows nothing of a test that passed.
            capture = pytestconfig.pluginmanager.getplugin("capturemanager")
            with capture.global_and_fixture_disabled() if capture else nullcontext():
                print("\nretained, and paid for until it is deleted:", *lines, sep="\n  ")


def retained(place: RealAccount, made: cdk.Cdk) -> dict[str, str]:
    """Return physical id and type of what stays of the stacks that there are."""
    found: dict[str, str] = {}
    for stack in STACKS:
        if account.exists(place, stack, region=place.region):
            template = made.template(stack)
            found |= account.retained(place, stack, template, region=place.region)
    return found


def forget(place: RealAccount, parameters: list[str]) -> None:
    """Delete retained parameters, whose names the next run needs."""
    if parameters:
        place.client("ssm").delete_parameters(Names=parameters)


def document(place: RealAccount) -> dict[str, Any]:
    zone = os.environ.get("TRAINSHED_AWS_ZONE", f"{place.region}a")
    described = small(
        NAME, account=place.account, region=place.region, network={"zone": zone, "vpc": {}}
    )
    # Its head node would run on, in a network without a way out.
    return changed(described, "fleet.parallelcluster.removal", "destroy")


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


def test_what_is_refused_is_rolled_back_and_replaces_nothing(
    place: RealAccount, deployed: cdk.Cdk
) -> None:
    before = account.physical_ids(place, STACKS[1], region=place.region)
    cdk.of(place, place.work, changed(document(place), "fleet.cluster_name", "another"))
    with pytest.raises(cdk.CdkError, match=f"ClusterName cannot change from {NAME}"):
        deployed.deploy(STACKS[1], options=["--exclusively"])
    told = account.statuses(place, STACKS[1], NAME, region=place.region)
    assert told == ["UPDATE_ROLLBACK_COMPLETE", "UPDATE_COMPLETE"]
    assert account.physical_ids(place, STACKS[1], region=place.region) == before
