"""One change of each class of ``OnChange`` on a bare fleet, and what it leaves as it was.

The head of this fleet says of each document that it is applied (``head.py``). Nodes of a former
launch template are the keeper's, which waits for their jobs: tests/slurm has that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.deploy import account
from tests.deploy.cdk import CdkError, of
from tests.deploy.emulator.process import REGION, Emulator
from tests.deploy.head import ReadyHead
from tests.deploy.institutions import Document, changed, small
from tests.deploy.remains import Remains, documented
from trainshed.records import OnChange
from trainshed.review.bare import verdict
from trainshed.review.effects import OF_ON_CHANGE, Effect

NAME = "iron-changes"
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
TRAIN = "fleet.queues.train"
SPARES = 1
DOCUMENT = small(
    NAME,
    fleet={
        "backend": "slurm",
        "image": {"ami_id": "ami-0123456789abcdef0"},
        "queues": {
            name: {
                "instance_type": instance_type,
                "min_nodes": nodes,
                "max_nodes": nodes,
                "capacity": {"kind": "on_demand"},
            }
            for name, instance_type, nodes in (
                ("train", "p5.48xlarge", 2),
                ("spare", "m7i.2xlarge", SPARES),
            )
        },
    },
)
# A key of each class that a bare fleet takes while it runs, whatever ParallelCluster would need.
TAKEN = {
    OnChange.LIVE: ("fleet.slurm.extra_slurm_settings", {"MaxJobCount": 5000}),
    OnChange.DRAINS_NODES: (f"{TRAIN}.root_volume", {"gib": 300}),
    OnChange.STOPS_FLEET: (f"{TRAIN}.instance_type", "p5en.48xlarge"),
    OnChange.REPLACES_NODES: (f"{TRAIN}.capacity.placement_group", True),
    OnChange.REFUSED: ("fleet.head_node.instance_type", "m7i.4xlarge"),
}
REPLACED = OnChange.REPLACES_DATA


@dataclass
class Fleet:
    """The fleet and its head."""

    emulator: Emulator
    head: ReadyHead
    work: Path
    remains: Remains

    def deploy(self, document: Document, *stacks: str) -> None:
        """Deploy a document."""
        of(self.emulator, self.work, document).deploy(*stacks, options=["--exclusively"])

    def note(self) -> None:
        """Note what is to stay of the stacks."""
        self.remains.note(of(self.emulator, self.work, DOCUMENT), *STACKS)

    def deploy_with_a_failure(self, document: Document) -> None:
        """Deploy the cluster's stack with a resource that fails once the fleet is updated."""
        cdk = of(self.emulator, self.work, document)
        cdk.synth()
        cdk.fail_after(STACKS[1], "Custom::TrainshedSlurmFleet", f"/trainshed/{NAME}/VpcId")
        with pytest.raises(CdkError, match="ParameterAlreadyExists"):
            cdk.deploy_again(STACKS[1], options=["--exclusively"])

    def update(self, path: str = "", value: Any = None) -> None:
        """Deploy the cluster's stack with one key changed."""
        self.deploy(changed(DOCUMENT, path, value) if path else DOCUMENT, STACKS[1])

    @property
    def document(self) -> dict[str, Any]:
        """The fleet document."""
        name = f"/trainshed/{NAME}/slurm/fleet"
        value = self.emulator.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
        return dict(json.loads(value))

    @property
    def instances(self) -> dict[str, str]:
        """The instances that there are, with their roles."""
        wanted = [
            {"Name": "tag:trainshed:cluster", "Values": [NAME]},
            {"Name": "instance-state-name", "Values": ["pending", "running"]},
        ]
        pages = self.emulator.client("ec2").describe_instances(Filters=wanted)["Reservations"]
        return {
            each["InstanceId"]: next(
                tag["Value"] for tag in each["Tags"] if tag["Key"] == "trainshed:role"
            )
            for page in pages
            for each in page["Instances"]
        }

    @property
    def state(self) -> dict[str, Any]:
        """What a failed update is to leave as it was."""
        groups = self.emulator.client("autoscaling").describe_auto_scaling_groups()
        pages = (
            self.emulator.client("ssm")
            .get_paginator("get_parameters_by_path")
            .paginate(Path=f"/trainshed/{NAME}/", Recursive=True)
        )
        parameters = {each["Name"]: each["Value"] for page in pages for each in page["Parameters"]}
        status = json.loads(parameters.pop(f"/trainshed/{NAME}/slurm/status"))
        return {
            "document": json.loads(parameters.pop(f"/trainshed/{NAME}/slurm/fleet")),
            "parameters": parameters,
            "status": (status["generation"], status["phase"]),
            "groups": {
                each["AutoScalingGroupName"]: (each["MaxSize"], each["LaunchTemplate"])
                for each in groups["AutoScalingGroups"]
            },
            "resources": account.physical_ids(self.emulator, STACKS[1]),
            "volumes": self.volumes,
        }

    @property
    def volumes(self) -> set[str]:
        """The volumes of head nodes' states."""
        wanted = [{"Name": "tag:trainshed:cluster", "Values": [NAME]}]
        found = self.emulator.client("ec2").describe_volumes(Filters=wanted)["Volumes"]
        return {each["VolumeId"] for each in found}

    def outdated(self, queue: str) -> bool:
        """Tell whether nodes of a queue have another launch template than the document says."""
        wanted = self.document["queues"][queue]
        groups = self.emulator.client("autoscaling").describe_auto_scaling_groups(
            AutoScalingGroupNames=[wanted["asg"]]
        )["AutoScalingGroups"]
        versions = {each["LaunchTemplate"]["Version"] for each in groups[0]["Instances"]}
        return versions != {wanted["version"]}


@pytest.fixture(scope="module")
def fleet(emulator: Emulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with ReadyHead(emulator, NAME, REGION) as head:
        made = Fleet(emulator, head, tmp_path_factory.mktemp(NAME), Remains(emulator))
        made.deploy(DOCUMENT, *STACKS)
        yield made


def reviewed(kind: OnChange, path: str, value: Any) -> Effect:
    """Return what a review says of a change."""
    told = verdict(tuple(path.split(".")), None, value)
    return told[0] if told else OF_ON_CHANGE[kind]


def test_every_class_is_tried() -> None:
    assert {*TAKEN, REPLACED} == set(OnChange)


@pytest.mark.parametrize("kind", TAKEN, ids=str)
def test_what_a_fleet_takes_ends_no_instance_and_outdates_what_the_review_says(
    fleet: Fleet, kind: OnChange
) -> None:
    path, value = TAKEN[kind]
    if fleet.outdated("train"):
        fleet.update()
    before, document = fleet.instances, fleet.document
    version = document["queues"]["train"]["version"]
    fleet.update(path, value)
    assert account.statuses(fleet.emulator, STACKS[1]) == ["UPDATE_COMPLETE"]
    assert fleet.instances == before
    drains = reviewed(kind, path, value) is Effect.DRAINS_NODES
    assert (fleet.document["queues"]["train"]["version"] != version) == drains
    assert not drains or fleet.outdated("train")


def test_more_nodes_join_and_the_others_stay(fleet: Fleet) -> None:
    before = fleet.instances
    fleet.deploy(grown(fleet), STACKS[1])
    after = fleet.instances
    assert before.items() <= after.items()
    assert [*after.values()].count("compute") == [*before.values()].count("compute") + 1


def test_fewer_nodes_are_left_to_the_keeper(fleet: Fleet) -> None:
    before = fleet.instances
    smaller = changed(changed(DOCUMENT, f"{TRAIN}.max_nodes", 1), f"{TRAIN}.min_nodes", 1)
    fleet.deploy(smaller, STACKS[1])
    assert fleet.instances == before
    assert fleet.document["queues"]["train"]["nodes"] == 1


def test_another_name_is_refused_and_rolled_back(fleet: Fleet) -> None:
    fleet.update()
    before, document = fleet.instances, fleet.document
    with pytest.raises(CdkError, match="ClusterName cannot change to another"):
        fleet.update("fleet.cluster_name", "another")
    assert account.statuses(fleet.emulator, STACKS[1]) == ["UPDATE_ROLLBACK_COMPLETE"]
    assert fleet.instances == before
    assert fleet.document == document


def grown(fleet: Fleet) -> Document:
    """Return the document with a node more than there are: an earlier test may have left some."""
    nodes = [*fleet.instances.values()].count("compute") - SPARES + 1
    return changed(changed(DOCUMENT, f"{TRAIN}.max_nodes", nodes), f"{TRAIN}.min_nodes", nodes)


def test_an_update_that_fails_after_the_fleet_has_changed_is_taken_back(fleet: Fleet) -> None:
    fleet.update()
    before, state = fleet.instances, fleet.state
    fleet.deploy_with_a_failure(changed(grown(fleet), *TAKEN[OnChange.LIVE]))
    assert account.statuses(fleet.emulator, STACKS[1]) == ["UPDATE_ROLLBACK_COMPLETE"]
    assert fleet.state == state
    # A rollback ends no instance: the keeper takes the new one away once it has no jobs.
    assert before.items() < fleet.instances.items()
    assert len(fleet.instances) == len(before) + 1


def test_an_update_that_the_head_node_refuses_is_taken_back(fleet: Fleet) -> None:
    fleet.update()
    before, state = fleet.instances, fleet.state
    fleet.head.refuse("NoSuchKey is not a key of slurm.conf")
    with pytest.raises(CdkError, match="NoSuchKey is not a key"):
        fleet.update(*TAKEN[OnChange.LIVE])
    fleet.head.refuse("")
    assert account.statuses(fleet.emulator, STACKS[1]) == ["UPDATE_ROLLBACK_COMPLETE"]
    assert fleet.instances == before
    assert fleet.state == state
    fleet.update(*TAKEN[OnChange.LIVE])
    assert account.statuses(fleet.emulator, STACKS[1]) == ["UPDATE_COMPLETE"]


def without_spare() -> Document:
    queues = DOCUMENT["fleet"]["queues"]
    return changed(DOCUMENT, "fleet.queues", {"train": queues["train"]})


def test_a_queue_with_jobs_is_not_removed(fleet: Fleet) -> None:
    fleet.update()
    before = fleet.instances
    fleet.head.tell({"spare": {"idle": 0, "busy": 1}})
    with pytest.raises(CdkError, match="queue spare is removed while 1 of its nodes have jobs"):
        fleet.deploy(without_spare(), STACKS[1])
    assert account.statuses(fleet.emulator, STACKS[1]) == ["UPDATE_ROLLBACK_COMPLETE"]
    assert fleet.instances == before


def test_a_queue_without_jobs_goes_with_its_nodes(fleet: Fleet) -> None:
    before = fleet.instances
    fleet.head.tell({"spare": {"idle": 0, "busy": 0}})
    fleet.deploy(without_spare(), STACKS[1])
    told = verdict(("fleet", "queues", "spare"), DOCUMENT["fleet"]["queues"]["spare"], None)
    assert told is not None
    assert told[0] is Effect.NEEDS_IDLE_NODES
    assert account.statuses(fleet.emulator, STACKS[1]) == ["UPDATE_COMPLETE"]
    assert fleet.instances.items() < before.items()
    assert len(before) - len(fleet.instances) == 1
    fleet.head.tell({})


def test_replaced_data_stays_and_nodes_are_told_of_the_new(fleet: Fleet) -> None:
    old = fleet.document["mounts"]
    fleet.note()
    fleet.deploy(changed(DOCUMENT, "storage.lustre.throughput_mb_s_per_tib", 250), *STACKS)
    new = fleet.document["mounts"]
    assert [each["path"] for each in new] == [each["path"] for each in old]
    assert new[0]["dns_name"] != old[0]["dns_name"]
    there = fleet.emulator.client("fsx").describe_file_systems()["FileSystems"]
    assert {old[0]["dns_name"], new[0]["dns_name"]} <= {each["DNSName"] for each in there}


def test_after_a_destroy_a_second_deploy_stands_beside_what_was_retained(fleet: Fleet) -> None:
    old, volumes = fleet.document, fleet.volumes
    fleet.note()
    of(fleet.emulator, fleet.work, DOCUMENT).destroy()
    assert fleet.remains.left == fleet.remains.expected
    assert fleet.remains.types <= documented()
    assert fleet.instances == {}
    assert fleet.volumes == volumes
    fleet.deploy(DOCUMENT, *STACKS)
    assert account.statuses(fleet.emulator, *STACKS) == ["CREATE_COMPLETE"] * 2
    assert fleet.volumes > volumes
    assert fleet.document["head"]["state_volume_id"] not in volumes
    assert fleet.document["mounts"] != old["mounts"]
