"""What becomes of the nodes of a bare fleet when its template changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.review.assemblies import ROOT, TEMPLATES, write
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
    "queue of no fleet leaves": (GROUP, {**tagged("compute")}, None, Effect.REPLACES_NODES),
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


def fleet(cluster: str = "bare", **more: Any) -> dict[str, Any]:
    return {
        "Type": "Custom::TrainshedSlurmFleet",
        "Properties": {"ClusterName": cluster},
        **more,
    }


def queue(**properties: Any) -> dict[str, Any]:
    return {"Type": GROUP, "Properties": {**tagged("compute"), **properties}}


def of_cluster(cluster: str) -> dict[str, Any]:
    return {"Tags": [*tagged("compute")["Tags"], {"Key": "trainshed:cluster", "Value": cluster}]}


TOPIC = {"Other": {"Type": "AWS::SNS::Topic"}}
QUEUE_REFUSED = (
    "The nodes of its queue go. While one has jobs the deployment is refused, and nothing is "
    "changed: drain them before."
)
FLEET_ENDS = (
    "The fleet goes, and nothing is refused: its jobs have 10 minutes, then they end with their "
    "nodes."
)


def stacks_reviewed(folder: Path, base: dict[str, Any], head: dict[str, Any]) -> Review:
    return review(
        write(folder / "a", {"Stack": {"Resources": {**base, **TOPIC}}}),
        write(folder / "b", {"Stack": {"Resources": {**head, **TOPIC}}}),
    )


def rows(found: Review) -> dict[str, tuple[Effect, str]]:
    return {each.place: (each.effect, each.sentence) for each in found.findings}


def test_a_queue_that_goes_needs_idle_nodes_while_its_fleet_stays(tmp_path: Path) -> None:
    found = stacks_reviewed(tmp_path, {"Queue": queue(), "Fleet": fleet()}, {"Fleet": fleet()})
    assert rows(found) == {"Stack/Queue": (Effect.NEEDS_IDLE_NODES, QUEUE_REFUSED)}


def test_a_whole_fleet_that_goes_ends_its_jobs(tmp_path: Path) -> None:
    template = {"Type": TEMPLATE, "Properties": {"LaunchTemplateData": {"ImageId": "ami-1"}}}
    login = {"Type": GROUP, "Properties": tagged("login")}
    base = {"Queue": queue(), "Template": template, "Login": login, "Fleet": fleet()}
    found = stacks_reviewed(tmp_path, base, {})
    assert rows(found) == {
        "Stack/Queue": (
            Effect.REPLACES_NODES,
            "Its nodes are terminated, with what runs on them.",
        ),
        "Stack/Login": (
            Effect.ENDS_SESSIONS,
            "Login nodes are terminated at once: sessions on them end.",
        ),
        "Stack/Fleet": (Effect.REPLACES_NODES, FLEET_ENDS),
    }


def test_a_fleet_is_found_by_a_name_that_only_the_deployment_knows(tmp_path: Path) -> None:
    name: Any = {"Ref": "Name"}
    base = {"Queue": queue(**of_cluster(name)), "Fleet": fleet(name)}
    found = stacks_reviewed(tmp_path, base, {"Fleet": fleet(name)})
    assert rows(found)["Stack/Queue"][0] is Effect.NEEDS_IDLE_NODES


def test_jobs_run_on_where_login_nodes_go_alone(tmp_path: Path) -> None:
    login = {"Type": GROUP, "Properties": tagged("login")}
    found = stacks_reviewed(tmp_path, {"Login": login, "Fleet": fleet()}, {"Fleet": fleet()})
    assert rows(found)["Stack/Login"] == (
        Effect.ENDS_SESSIONS,
        "Login nodes are terminated at once: sessions on them end. Jobs run on.",
    )


HANDLER = ROOT / "assets" / "functions" / "slurm_fleet" / "handler.py"


def test_a_fleet_that_goes_has_the_time_that_is_told() -> None:
    assert "GRACE_SECONDS = 600\n" in HANDLER.read_text()


FLEETS_THAT_REFUSE_NOTHING: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another construct": ({"Fleet": fleet()}, {"New": fleet()}),
    "another cluster": ({"Fleet": fleet("bare"), "B": fleet("b")}, {"B": fleet("b")}),
    "under a condition": ({"Fleet": fleet()}, {"Fleet": fleet(Condition="Sometimes")}),
    "new": ({}, {"Fleet": fleet()}),
}


@pytest.mark.parametrize("name", FLEETS_THAT_REFUSE_NOTHING)
def test_a_fleet_that_may_not_stay_refuses_nothing(name: str, tmp_path: Path) -> None:
    base, head = FLEETS_THAT_REFUSE_NOTHING[name]
    found = stacks_reviewed(tmp_path, {"Queue": queue(**of_cluster("bare")), **base}, head)
    assert rows(found)["Stack/Queue"][0] is Effect.REPLACES_NODES


def test_a_fleet_that_is_retained_keeps_what_the_stack_keeps(tmp_path: Path) -> None:
    found = stacks_reviewed(tmp_path, {"Fleet": fleet(DeletionPolicy="Retain")}, {})
    assert rows(found) == {
        "Stack/Fleet": (
            Effect.LIVE,
            "The fleet is retained: no job is asked to end, and this stack no longer manages it.",
        )
    }


def test_a_fleet_keeps_its_provider(tmp_path: Path) -> None:
    base, head = (
        {"Fleet": {**fleet(), "Properties": {"ServiceToken": token}}} for token in ("a", "b")
    )
    found = stacks_reviewed(tmp_path, base, head)
    assert rows(found) == {
        "Stack/Fleet": (
            Effect.REFUSED,
            "CloudFormation cannot move a custom resource to another provider.",
        )
    }
