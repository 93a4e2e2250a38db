"""What an institution's own file gets watched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Template

from stacks.cluster_stack import ClusterStack
from trainshed.config import Institution, load

ROOT = Path(__file__).parents[3]


def alarms_of(institution: Institution) -> dict[str, dict[str, Any]]:
    """The alarms of a cluster stack, by construct id."""
    stack = ClusterStack(cdk.App(), "Cluster", institution=institution)
    found = Template.from_stack(stack).find_resources("AWS::CloudWatch::Alarm")
    return {
        name.removeprefix("Alerts")[:-8]: alarm["Properties"]
        for name, alarm in found.items()
        if name.startswith("Alerts")
    }


@pytest.fixture(scope="module")
def full() -> Institution:
    """The file with every key."""
    return load(ROOT / "institutions" / "full.yaml")


def test_a_made_file_system_is_watched_for_saturation(full: Institution) -> None:
    alarms = alarms_of(full)
    assert alarms["FsxThroughputSaturated"]["Threshold"] == 0.95 * 18.75e9
    assert alarms["FsxMetadataSaturated"]["Threshold"] == 0.95 * 12_000 * 300
    assert {"FsxImportStuck", "FsxExportStuck", "FsxSpaceLow", "FsxDiskFull"} <= set(alarms)


def test_the_login_nodes_of_parallelcluster_are_watched_by_their_group(full: Institution) -> None:
    (dimension,) = alarms_of(full)["LoginLoginNodeStatus"]["Dimensions"]
    assert dimension == {
        "Name": "AutoScalingGroupName",
        "Value": "full-h200-login-AutoScalingGroup",
    }


@pytest.mark.parametrize("known", [True, False])
def test_an_existing_file_system_is_watched_as_far_as_the_file_knows_it(
    full: Institution, known: bool
) -> None:
    existing = {
        "file_system_id": "fs-0123456789abcdef0",
        "dns_name": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
        "mount_name": "ab3tzbev",
        "security_group_id": "sg-0123456789abcdef2",
        "efa": True,
    }
    if known:
        existing |= {
            "capacity_gib": 38_400,
            "throughput_mb_s_per_tib": 500,
            "metadata_iops": 12_000,
        }
    storage = {
        **full.storage.model_dump(mode="json", exclude_unset=True),
        "lustre": None,
        "existing": existing,
    }
    text = json.dumps({**full.model_dump(mode="json", exclude_unset=True), "storage": storage})
    institution = Institution.model_validate_json(text)
    alarms = {name for name in alarms_of(institution) if name.startswith("Fsx")}
    always = {"FsxDiskFull", "FsxImportStuck", "FsxExportStuck"}
    sized = {"FsxSpaceLow", "FsxSpaceCritical", "FsxThroughputSaturated", "FsxMetadataSaturated"}
    assert alarms == (always | sized if known else always)


def test_a_bare_fleet_is_watched_from_within() -> None:
    bare = load(ROOT / "institutions" / "bare.yaml")
    alarms = alarms_of(bare)
    assert {"SlurmctldDown", "NodesDown", "GpuLost", "HeadMemory", "LoginMemory"} <= set(alarms)
    assert "LoginLoginNodeStatus" in alarms
    for alarm in alarms.values():
        if alarm.get("Namespace") == "Trainshed":
            (name,) = (d["Value"] for d in alarm["Dimensions"] if d["Name"] == "ClusterName")
            assert name == bare.cluster_name


@pytest.mark.parametrize("gated", [True, False])
def test_what_a_head_node_of_parallelcluster_sends_is_watched(
    full: Institution, gated: bool
) -> None:
    options = full.fleet.parallelcluster.model_copy(
        update={} if gated else {"gate": None},
    )
    fleet = full.fleet.model_copy(update={"parallelcluster": options})
    assert full.fleet.accounting
    alarms = alarms_of(full.model_copy(update={"fleet": fleet}))
    sent = {name for name, alarm in alarms.items() if alarm.get("Namespace") == "Trainshed"}
    assert sent == {"NodesHeld", "GoodputLow", *(["QueuesClosed"] if gated else [])}
    for name in sent:
        (cluster, role) = alarms[name]["Dimensions"]
        assert (cluster["Value"], role["Value"]) == ("full-h200", "head")
