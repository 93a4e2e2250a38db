"""One change of each class of ``OnChange`` on a running cluster, and what it leaves as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.deploy import account
from tests.deploy.cdk import Cdk, CdkError, of
from tests.deploy.emulator.process import Emulator
from tests.deploy.institutions import changed, small
from trainshed.records import OnChange

NAME = "changing"
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
QUEUE = "fleet.queues.gpu"

# A change of each class that the cluster takes while it runs.
TAKEN = {
    OnChange.LIVE: (f"{QUEUE}.max_nodes", 3),
    OnChange.DRAINS_NODES: (f"{QUEUE}.root_volume", {"gib": 300}),
    OnChange.REPLACES_NODES: (f"{QUEUE}.capacity.placement_group", True),
}
# Changes that are refused, with words of the one who refuses.
REFUSED = {
    OnChange.STOPS_FLEET: (f"{QUEUE}.instance_type", "g6.24xlarge", "All compute nodes must be"),
    OnChange.REFUSED: ("fleet.cluster_name", "another", "ClusterName cannot change from changing"),
}
REPLACED = OnChange.REPLACES_DATA


@pytest.fixture(scope="module")
def work(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the institution, which is deployed."""
    work = tmp_path_factory.mktemp(NAME)
    deployed(emulator, work).deploy()
    return work


def deployed(emulator: Emulator, work: Path, path: str = "", value: Any = None) -> Cdk:
    document = small(NAME)
    return of(emulator, work, changed(document, path, value) if path else document)


def deploy_cluster(emulator: Emulator, work: Path, path: str = "", value: Any = None) -> None:
    deployed(emulator, work, path, value).deploy(STACKS[1], options=["--exclusively"])


def ids(emulator: Emulator) -> dict[str, str]:
    return {
        f"{stack} {logical}": id
        for stack in STACKS
        for logical, id in account.physical_ids(emulator, stack).items()
    }


def test_every_class_is_tried() -> None:
    assert {*TAKEN, *REFUSED, REPLACED} == set(OnChange)


@pytest.mark.parametrize("kind", TAKEN, ids=str)
def test_what_a_running_cluster_takes_replaces_nothing(
    emulator: Emulator, work: Path, kind: OnChange
) -> None:
    before = ids(emulator)
    deploy_cluster(emulator, work, *TAKEN[kind])
    assert account.statuses(emulator, *STACKS)[1] == "UPDATE_COMPLETE"
    assert account.statuses(emulator, NAME) == ["UPDATE_COMPLETE"]
    assert ids(emulator) == before


@pytest.mark.parametrize("kind", REFUSED, ids=str)
def test_what_is_refused_is_said_and_rolled_back(
    emulator: Emulator, work: Path, kind: OnChange
) -> None:
    path, value, words = REFUSED[kind]
    before = ids(emulator)
    with pytest.raises(CdkError, match=words):
        deploy_cluster(emulator, work, path, value)
    assert account.statuses(emulator, *STACKS)[1] == "UPDATE_ROLLBACK_COMPLETE"
    assert ids(emulator) == before
    # The next deploy of what was there finds nothing broken.
    deploy_cluster(emulator, work)
    assert ids(emulator) == before


def test_replaced_data_stays_beside_the_new(emulator: Emulator, work: Path) -> None:
    stack = STACKS[0]
    old = account.outputs(emulator, stack)["FileSystemId"]
    deployed(emulator, work, "storage.lustre.throughput_mb_s_per_tib", 250).deploy(stack)
    new = account.outputs(emulator, stack)["FileSystemId"]
    assert new != old
    there = emulator.client("fsx").describe_file_systems()["FileSystems"]
    assert {old, new} <= {each["FileSystemId"] for each in there}
    handed = emulator.client("ssm").get_parameter(Name=f"/trainshed/{NAME}/FileSystemId")
    assert handed["Parameter"]["Value"] == new
