"""What becomes of the nodes of a bare fleet when its template changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import TEMPLATES, write
from trainshed.review import Effect, Review, review


def tagged(role: str) -> dict[str, Any]:
    return {"Tags": [{"Key": "Name", "Value": "bare"}, {"Key": "trainshed:role", "Value": role}]}


def login_template(**data: Any) -> dict[str, Any]:
    specification = [{"ResourceType": "volume", **tagged("login")}]
    return {"LaunchTemplateData": {**data, "TagSpecifications": specification}}


INSTANCE, GROUP = "AWS::EC2::Instance", "AWS::AutoScaling::AutoScalingGroup"
TEMPLATE = "AWS::EC2::LaunchTemplate"
# What a bare fleet is made of: type, properties before and after (None: it goes), verdict.
NODES: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None, Effect]] = {
    "group grows": (GROUP, {"MaxSize": "4"}, {"MaxSize": "5"}, Effect.LIVE),
    "group shrinks": (GROUP, {"MaxSize": "4"}, {"MaxSize": "3"}, Effect.DRAINS_NODES),
    "group of another template": (
        GROUP,
        {"LaunchTemplate": {"Version": "1"}},
        {"LaunchTemplate": {"Version": "2"}},
        Effect.DRAINS_NODES,
    ),
    "group of others leaves": (GROUP, {"MaxSize": "4"}, None, Effect.REPLACES_NODES),
    "queue leaves": (GROUP, {**tagged("compute")}, None, Effect.NEEDS_IDLE_NODES),
    "login pool leaves": (GROUP, {**tagged("login")}, None, Effect.ENDS_SESSIONS),
    "login pool shrinks": (
        GROUP,
        {"MaxSize": "4", **tagged("login")},
        {"MaxSize": "3", **tagged("login")},
        Effect.ENDS_SESSIONS,
    ),
    "login pool elsewhere": (
        GROUP,
        {"AutoScalingGroupName": "a", **tagged("login")},
        {"AutoScalingGroupName": "b", **tagged("login")},
        Effect.ENDS_SESSIONS,
    ),
    "login template": (
        TEMPLATE,
        login_template(ImageId="ami-1"),
        login_template(ImageId="ami-2"),
        Effect.LIVE,
    ),
    "template": (
        TEMPLATE,
        {"LaunchTemplateData": {"ImageId": "ami-1"}},
        {"LaunchTemplateData": {"ImageId": "ami-2"}},
        Effect.DRAINS_NODES,
    ),
    "head node of another type": (
        INSTANCE,
        {"InstanceType": "m7i.large", **tagged("head")},
        {"InstanceType": "m7i.xlarge", **tagged("head")},
        Effect.PAUSES_NEW_JOBS,
    ),
    "head node of another group": (
        INSTANCE,
        {"SecurityGroupIds": ["sg-1"], **tagged("head")},
        {"SecurityGroupIds": ["sg-2"], **tagged("head")},
        Effect.LIVE,
    ),
    "head node with another key": (
        INSTANCE,
        {**tagged("head")},
        {"KeyName": "ops", **tagged("head")},
        Effect.PAUSES_NEW_JOBS,
    ),
    "head node in another subnet": (
        INSTANCE,
        {"SubnetId": "subnet-1", **tagged("head")},
        {"SubnetId": "subnet-2", **tagged("head")},
        Effect.PAUSES_NEW_JOBS,
    ),
    "instance of others with another image": (
        INSTANCE,
        {"ImageId": "ami-1"},
        {"ImageId": "ami-2"},
        Effect.REPLACES_NODES,
    ),
    "instance of others of another type": (
        INSTANCE,
        {"InstanceType": "m7i.large"},
        {"InstanceType": "m7i.xlarge"},
        Effect.LIVE,
    ),
    "head node leaves": (INSTANCE, {"ImageId": "ami-1"}, None, Effect.REPLACES_NODES),
}


@pytest.mark.parametrize("name", NODES)
def test_a_changed_part_of_a_bare_fleet_has_its_verdict(name: str, tmp_path: Path) -> None:
    kind, before, after, verdict = NODES[name]
    other = {"Other": {"Type": "AWS::SNS::Topic"}}
    base = {"Node": {"Type": kind, "Properties": before}, **other}
    head = {"Node": {"Type": kind, "Properties": after}, **other} if after else other
    found = review(
        write(tmp_path / "a", {"Stack": {"Resources": base}}),
        write(tmp_path / "b", {"Stack": {"Resources": head}}),
    )
    assert found.verdict == verdict


def bare_reviewed(folder: Path, change: Callable[[Any], object]) -> Review:
    """Review the bare example before and after a change of its cluster's resources."""
    base, head = (json.loads((TEMPLATES / "bare-cluster.json").read_text()) for _ in range(2))
    change(head["Resources"])
    return review(
        write(folder / "a", {"bare-cluster": base}, institution="bare"),
        write(folder / "b", {"bare-cluster": head}, institution="bare"),
    )


def another_image(resources: Any) -> None:
    for resource in resources.values():
        properties = resource.get("Properties", {})
        for each in (properties, properties.get("LaunchTemplateData", {})):
            if "ImageId" in each:
                each["ImageId"] = "ami-2"


def larger_disk_of_the_head_node(resources: Any) -> None:
    disks = resources["ClusterFleetNodesHeadDisksC5C947D3"]["Properties"]["LaunchTemplateData"]
    disks["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"] = 400


NODES_OF = "bare-cluster/ClusterFleetNodes"
HEAD_NODE = f"{NODES_OF}HeadInstanceE22A5C86"
REPLACED_HEAD = (
    "CloudFormation makes a new one, since {} cannot change in place. The head node is replaced on "
    "the same state volume: running jobs go on, and none starts for some minutes."
)


def test_another_image_of_a_bare_fleet_ends_no_job(tmp_path: Path) -> None:
    found = bare_reviewed(tmp_path, another_image)
    assert [
        (each.effect, each.place.split()[0][len("bare-cluster/") :]) for each in found.findings
    ] == [
        (Effect.DRAINS_NODES, "ClusterFleetNodesTrainQueueNodesLaunchTemplateC6F9E073"),
        (Effect.PAUSES_NEW_JOBS, "ClusterFleetNodesHeadInstanceE22A5C86"),
        (Effect.LIVE, "ClusterFleetNodesLoginLoginLaunchTemplateC96D2949"),
    ]
    assert found.findings[1].sentence == REPLACED_HEAD.format("ImageId")
    assert found.findings[2].sentence == (
        "Login nodes have it once they are replaced: terminate them one by one. Jobs run on."
    )


def test_another_disk_of_a_bare_head_node_replaces_it(tmp_path: Path) -> None:
    """Its template keeps its id, and the instance asks for the latest version."""
    found = bare_reviewed(tmp_path, larger_disk_of_the_head_node)
    assert [(each.place, each.effect, each.sentence) for each in found.findings] == [
        (HEAD_NODE, Effect.PAUSES_NEW_JOBS, REPLACED_HEAD.format("LaunchTemplate"))
    ]
