"""Row by row: what ParallelCluster does with a change of the seed's configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import (
    CLUSTER,
    Config,
    cluster_stack,
    configuration,
    configured,
    write,
)
from trainshed.review import Effect, review
from trainshed.review.cluster import configuration as read_configuration

Change = Callable[[Config], object]


def slurm(config: Config) -> Any:
    return config["Scheduling"]["SlurmSettings"]


def queue(config: Config) -> Any:
    return config["Scheduling"]["SlurmQueues"][0]


def resource(config: Config) -> Any:
    return queue(config)["ComputeResources"][0]


def grow(config: Config) -> None:
    resource(config).update(MinCount=6, MaxCount=6)


def shrink(config: Config) -> None:
    resource(config).update(MinCount=2, MaxCount=2)


def rename(config: Config) -> None:
    queue(config)["Name"] = "gpus"


def remove(config: Config) -> None:
    config["Scheduling"]["SlurmQueues"] = [{**queue(config), "Name": "other"}]


def other_reservation(config: Config) -> None:
    queue(config)["CapacityReservationTarget"]["CapacityReservationId"] = "cr-0123456789abcdef1"


def other_capacity_type(config: Config) -> None:
    queue(config)["CapacityType"] = "SPOT"


def more_rights(config: Config) -> None:
    policies = queue(config)["Iam"]["AdditionalIamPolicies"]
    policies.append({"Policy": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"})


def other_script(config: Config) -> None:
    queue(config)["CustomActions"]["OnNodeStart"]["Script"] = "s3://bkt/script/other.sh"


def queue_image(config: Config) -> None:
    queue(config)["Image"] = {"CustomAmi": "ami-0a48ee03071e7ff22"}


def other_include(config: Config) -> None:
    slurm(config)["CustomSlurmSettingsIncludeFile"] = "s3://bkt/script/settings-2.conf"


def whole_nodes(config: Config) -> None:
    queue(config)["JobExclusiveAllocation"] = True


def other_scratch(config: Config) -> None:
    queue(config)["ComputeSettings"]["LocalStorage"]["EphemeralVolume"]["MountDir"] = "/scratch"


def health_check(config: Config) -> None:
    queue(config)["HealthChecks"] = {"Gpu": {"Enabled": True}}


def second_file_system(config: Config) -> None:
    first = config["SharedStorage"][0]
    settings = {"FileSystemId": "fs-0123456789abcdef1"}
    second = {**first, "Name": "fsx2", "MountDir": "/fsx2", "FsxLustreSettings": settings}
    config["SharedStorage"].append(second)


def memory(config: Config) -> None:
    slurm(config)["EnableMemoryBasedScheduling"] = False


def idle_time(config: Config) -> None:
    slurm(config)["ScaledownIdletime"] = 30


def database(config: Config) -> None:
    slurm(config)["Database"] = {"Uri": "db:3306", "UserName": "slurm"}


def head_type(config: Config) -> None:
    config["HeadNode"]["InstanceType"] = "g4dn.16xlarge"


def cluster_image(config: Config) -> None:
    config["Image"]["CustomAmi"] = "ami-0a48ee03071e7ff22"


def nothing(config: Config) -> None:
    """The script behind an S3 key changes, and its key does not: nobody sees it."""


# features.md F70: what is live there may go on while jobs run; whether nodes drain for it is here.
DRAIN: dict[str, tuple[Change, Effect]] = {
    "grow": (grow, Effect.LIVE),
    "new reservation": (other_reservation, Effect.DRAINS_NODES),
    "capacity type": (other_capacity_type, Effect.DRAINS_NODES),
    "queue rights": (more_rights, Effect.LIVE),
    "script": (other_script, Effect.DRAINS_NODES),
    "queue image": (queue_image, Effect.DRAINS_NODES),
    "include file": (other_include, Effect.LIVE),
    "whole nodes": (whole_nodes, Effect.LIVE),
    "scratch": (other_scratch, Effect.DRAINS_NODES),
    "health check": (health_check, Effect.LIVE),
    "second file system": (second_file_system, Effect.LIVE),
    "shrink": (shrink, Effect.STOPS_FLEET),
    "rename": (rename, Effect.STOPS_FLEET),
    "remove": (remove, Effect.STOPS_FLEET),
    "memory": (memory, Effect.STOPS_FLEET),
    "idle time": (idle_time, Effect.STOPS_FLEET),
    "database": (database, Effect.STOPS_FLEET),
    "head type": (head_type, Effect.REFUSED),
    "cluster image": (cluster_image, Effect.REFUSED),
    "same key": (nothing, Effect.UNTOUCHED),
}
TERMINATE: dict[str, tuple[Change, Effect]] = {
    "shrink": (shrink, Effect.REPLACES_NODES),
    "rename": (rename, Effect.REPLACES_NODES),
    "remove": (remove, Effect.REPLACES_NODES),
    "memory": (memory, Effect.STOPS_FLEET),
    "idle time": (idle_time, Effect.STOPS_FLEET),
    "database": (database, Effect.STOPS_FLEET),
    "script": (other_script, Effect.REPLACES_NODES),
}


@pytest.mark.parametrize("name", DRAIN)
def test_a_change_under_drain_has_its_verdict(name: str, tmp_path: Path) -> None:
    change, verdict = DRAIN[name]
    assert configured(tmp_path, change).verdict == verdict


@pytest.mark.parametrize("name", TERMINATE)
def test_a_change_under_terminate_has_its_verdict(name: str, tmp_path: Path) -> None:
    change, verdict = TERMINATE[name]
    assert configured(tmp_path, change, QueueUpdateStrategy="TERMINATE").verdict == verdict


def test_a_shrink_is_explained(tmp_path: Path) -> None:
    found = configured(tmp_path, shrink)
    first = found.findings[0]
    assert first.place == (
        "cluster-config Scheduling.SlurmQueues[compute].ComputeResources[kait-gpu].MaxCount"
    )
    assert (first.before, first.after) == ("4", "2")
    assert first.sentence == (
        "ParallelCluster takes nodes away only from a stopped fleet, or under TERMINATE, which "
        "ends the jobs there; DRAIN does not."
    )


def test_the_way_to_remove_the_cluster_is_no_matter_of_its_nodes(tmp_path: Path) -> None:
    before, after = (cluster_stack(configuration()) for _ in range(2))
    after["Resources"]["Cluster"]["Properties"]["RemovalPolicy"] = "destroy"
    found = review(
        write(tmp_path / "a", {CLUSTER: before}), write(tmp_path / "b", {CLUSTER: after})
    )
    (finding,) = found.findings
    assert (found.verdict, finding.before, finding.after) == (Effect.LIVE, "retain", "destroy")


def test_another_name_is_another_cluster(tmp_path: Path) -> None:
    before, after = (cluster_stack(configuration()) for _ in range(2))
    after["Resources"]["Cluster"]["Properties"]["ClusterName"] = "other"
    found = review(
        write(tmp_path / "a", {CLUSTER: before}), write(tmp_path / "b", {CLUSTER: after})
    )
    assert found.verdict == Effect.REFUSED


@pytest.mark.parametrize(
    ("removal", "verdict"), [("retain", Effect.LIVE), ("destroy", Effect.LOSES_DATA)]
)
def test_a_cluster_that_goes_is_deleted_only_where_it_says_so(
    removal: str, verdict: Effect, tmp_path: Path
) -> None:
    before = cluster_stack(configuration())
    before["Resources"]["Cluster"]["Properties"]["RemovalPolicy"] = removal
    after = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}}
    found = review(
        write(tmp_path / "a", {CLUSTER: before}), write(tmp_path / "b", {CLUSTER: after})
    )
    assert found.verdict == verdict
    assert found.is_stopped == (removal == "destroy")


def test_a_construct_that_moves_finds_its_name_taken(tmp_path: Path) -> None:
    before = cluster_stack(configuration())
    after = {"Resources": {"Moved": before["Resources"]["Cluster"]}}
    found = review(
        write(tmp_path / "a", {CLUSTER: before}), write(tmp_path / "b", {CLUSTER: after})
    )
    assert found.verdict == Effect.REFUSED
    assert found.findings[0].place == f"{CLUSTER}/Moved"
    assert found.findings[0].sentence.startswith("The name is taken by the cluster of")


def test_references_are_read_inside_and_outside_quotes() -> None:
    parts = [
        '{"Name":"a \\"b\\"","Subnet":"',
        {"Ref": "FoundationSubnet"},
        '","Count":',
        {"Fn::GetAtt": ["Pool", "Size"]},
        "}",
    ]
    assert read_configuration({"Fn::Join": ["", parts]}) == {
        "Name": 'a "b"',
        "Subnet": "${Subnet}",
        "Count": "${Pool.Size}",
    }


def test_a_configuration_without_references_is_plain_json() -> None:
    config = configuration()
    assert read_configuration(json.dumps(config)) == config
