"""Our provider on the real ParallelCluster: what it deploys, and what it says of refusals."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.peers.pcluster import rig

pytestmark = pytest.mark.slow

ARN = "arn:aws:cloudformation:us-east-2:111122223333:stack/llm/0f1e2d3c-inner"
OUTER = "arn:aws:cloudformation:us-east-2:111122223333:stack/institute/0f1e2d3c-outer"
LATER = OUTER.replace("0f1e2d3c-outer", "99999999-later")
SECRET = "hunter2-in-a-script-argument"
P5EN = yaml.safe_load((rig.ROOT / "tests/peers/pcluster/fixtures/p5en.yaml").read_text())
P5EN["HeadNode"]["CustomActions"]["OnNodeConfigured"]["Sequence"][0]["Args"] = [SECRET]
WORLD = {
    "reservations": {
        "cr-0123456789abcdef0": {"type": "p5en.48xlarge", "count": 4},
        "cr-0123456789abcdefb": {"type": "p5en.48xlarge", "count": 4, "kind": "capacity-block"},
    }
}


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    configuration: dict[str, Any] = copy.deepcopy(P5EN)
    change(configuration)
    return configuration


def resource_queue(config: dict[str, Any]) -> Any:
    return config["Scheduling"]["SlurmQueues"][0]


def resource(config: dict[str, Any]) -> Any:
    return resource_queue(config)["ComputeResources"][0]


def event(kind: str, configuration: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "RequestType": kind,
        "StackId": OUTER,
        "LogicalResourceId": "ClusterResource",
        "ResourceProperties": {
            "ServiceToken": "arn:aws:lambda:us-east-2:111122223333:function:framework",
            "SchemaVersion": "1",
            "ClusterName": "llm",
            "ClusterConfiguration": json.dumps(configuration),
            "RemovalPolicy": "retain",
            "RollbackOnFailure": "false",
            "SuppressValidators": "[]",
            "ValidationFailureLevel": "ERROR",
        },
        **({} if kind == "Create" else {"PhysicalResourceId": ARN}),
        **more,
    }


INVALID = changed(lambda config: resource(config).update(MinCount=2))
UNKNOWN = changed(lambda config: config["HeadNode"].update(Foo=SECRET))
STOPPING = changed(
    lambda config: (
        config["Scheduling"]["SlurmSettings"].update(ScaledownIdletime=5),
        config["HeadNode"].update(InstanceType="m7i.4xlarge"),
        config["HeadNode"]["CustomActions"]["OnNodeConfigured"]["Sequence"][0].update(Args=["x"]),
        config["Tags"][0].update(Value="x"),
    )
)
LIVE = changed(lambda config: config["Tags"][0].update(Value="x"))
# What a later stack has of its own: policies of nodes, and their boundary.
RETAKEN = changed(
    lambda config: (
        config["Iam"].update(PermissionsBoundary="arn:aws:iam::111122223333:policy/later"),
        config["HeadNode"]["Iam"]["AdditionalIamPolicies"][1].update(
            Policy="arn:aws:iam::111122223333:policy/llm-head-later"
        ),
        resource_queue(config)["Iam"]["AdditionalIamPolicies"][1].update(
            Policy="arn:aws:iam::111122223333:policy/llm-compute-later"
        ),
    )
)
SHRUNK = changed(lambda config: resource(config).update(MinCount=2, MaxCount=2))
STEPS: dict[str, dict[str, Any]] = {
    "invalid": {"event": event("Create", INVALID)},
    "unknown key": {"event": event("Create", UNKNOWN)},
    "create": {"event": event("Create", P5EN)},
    "create again": {"event": event("Create", P5EN)},
    "created": {
        "event": event("Create", P5EN, PhysicalResourceId=ARN, Outcome="created"),
        "entry": "is_complete",
        "before": "CREATE_COMPLETE",
    },
    "same": {"event": event("Update", P5EN)},
    "shrunk": {"event": event("Update", SHRUNK)},
    "stopping": {"event": event("Update", STOPPING)},
    "live": {"event": event("Update", LIVE)},
    "live again": {"event": event("Update", LIVE)},
    "updated": {
        "event": event("Update", LIVE, Outcome="updated"),
        "entry": "is_complete",
        "before": "UPDATE_COMPLETE",
    },
    "shrunk while stopped": {"event": event("Update", SHRUNK), "fleet": "STOPPED"},
    # The stack around the cluster is gone: the account has no other than the cluster's own.
    "not taken over": {
        "event": event("Create", STOPPING, StackId=LATER),
        "before": "UPDATE_COMPLETE",
    },
    "taken over": {"event": event("Create", RETAKEN, StackId=LATER), "fleet": "STOPPED"},
    "taken over again": {"event": event("Create", RETAKEN, StackId=LATER)},
    "former owner": {
        "event": event("Update", RETAKEN),
        "before": "UPDATE_COMPLETE",
    },
}


@pytest.fixture(scope="module")
def driven() -> dict[str, Any]:
    cases = [rig.Case(step["event"]) for step in STEPS.values()]
    configurations = [rig.Case(each) for each in (P5EN, STOPPING, RETAKEN)]
    document = {
        "instance_types": rig.instance_types([*cases, *configurations]),
        "world": WORLD,
        "steps": list(STEPS.values()),
    }
    answer: dict[str, Any] = json.loads(rig.run("tests.peers.pcluster.drive", json.dumps(document)))
    return answer


@pytest.fixture(scope="module")
def steps(driven: dict[str, Any]) -> dict[str, Any]:
    return dict(zip(STEPS, driven["steps"], strict=True))


def test_an_invalid_configuration_is_refused_in_words(steps: dict[str, Any]) -> None:
    lines = steps["invalid"]["error"].splitlines()
    assert lines[:2] == [
        "cluster llm was not created: Invalid cluster configuration.",
        "- ERROR ComputeResourceSizeValidator: Max count must be set to the same value of min "
        "count when using Capacity Block reservation.",
    ]
    assert all(line.startswith("- WARNING ") for line in lines[2:])
    assert steps["invalid"]["calls"] == []


def test_an_error_of_the_schema_is_told_without_the_value(steps: dict[str, Any]) -> None:
    assert steps["unknown key"]["error"].splitlines() == [
        "cluster llm was not created: Invalid cluster configuration.",
        "- ERROR ConfigSchemaValidator: [('HeadNode', {'Foo': ['Unknown field.']})]",
    ]


def test_a_valid_configuration_becomes_a_stack_that_names_its_owner(steps: dict[str, Any]) -> None:
    assert steps["create"]["answer"] == {"PhysicalResourceId": ARN, "Outcome": "created"}
    ((call, given),) = steps["create"]["calls"]
    assert call == "cloudformation.CreateStack"
    assert given["StackName"] == "llm"
    assert given["DisableRollback"] is True
    assert {each["Key"]: each["Value"] for each in given["Tags"]} == {
        "Project": "llm",
        "trainshed:owner": "0f1e2d3c-outer/ClusterResource",
        "trainshed:owner-stack": OUTER,
        "parallelcluster:cluster-name": "llm",
        "parallelcluster:version": "3.16.1",
    }


def test_a_repeated_create_adopts_the_stack(steps: dict[str, Any]) -> None:
    assert steps["create again"]["answer"] == {"PhysicalResourceId": ARN, "Outcome": "adopted"}
    assert steps["create again"]["calls"] == []


def test_a_created_cluster_answers_its_ids(steps: dict[str, Any]) -> None:
    assert steps["created"]["answer"] == {
        "IsComplete": True,
        "Data": {
            "HeadNodeInstanceId": "i-0123456789abcdef0",
            "HeadNodePrivateIp": "10.0.0.7",
            "StackArn": ARN,
            "StackName": "llm",
        },
    }


@pytest.mark.parametrize(("step", "outcome"), [("same", "unchanged"), ("live again", "updated")])
def test_what_the_cluster_has_already_is_recognised_by_what_pcluster_saved(
    steps: dict[str, Any], step: str, outcome: str
) -> None:
    assert steps[step]["answer"] == {"PhysicalResourceId": ARN, "Outcome": outcome}
    assert steps[step]["calls"] == []


def test_a_refused_update_lists_what_each_change_needs(steps: dict[str, Any]) -> None:
    lines = steps["stopping"]["error"].splitlines()
    assert lines[0] == "this update is refused, cluster llm is untouched: Update failure"
    unsupported = "Update actions are not currently supported for the '{0}' parameter"
    assert set(lines[1:]) == {
        f"- HeadNode.InstanceType: {unsupported.format('InstanceType')}. Restore 'InstanceType' "
        "value to 'm7i.8xlarge'. If you need this change, please consider creating a new cluster "
        "instead of updating the existing one.",
        "- HeadNode.CustomActions.OnNodeConfigured.Sequence: "
        f"{unsupported.format('Sequence')}. Restore 'Sequence' value to (value left out). "
        "If you need this change, please consider creating a new cluster instead of updating the "
        "existing one.",
        "- Scheduling.SlurmSettings.ScaledownIdletime: All compute nodes must be stopped. Stop "
        "the compute fleet with the pcluster update-compute-fleet command",
        "- Tags[Project].Value: allowed",
    }
    assert steps["stopping"]["calls"] == []


def test_fewer_nodes_need_a_stopped_fleet(steps: dict[str, Any]) -> None:
    assert "ComputeResources[p5en].MaxCount: " in steps["shrunk"]["error"]
    assert steps["shrunk"]["calls"] == []
    assert steps["shrunk while stopped"]["answer"]["Outcome"] == "updated"


def test_an_allowed_update_reaches_cloudformation_and_keeps_the_owner(
    steps: dict[str, Any],
) -> None:
    assert steps["live"]["answer"]["Outcome"] == "updated"
    ((call, given),) = steps["live"]["calls"]
    assert call == "cloudformation.UpdateStack"
    tags = {each["Key"]: each["Value"] for each in given["Tags"]}
    assert tags["Project"] == "x"
    assert tags["trainshed:owner"] == "0f1e2d3c-outer/ClusterResource"
    assert steps["updated"]["answer"]["IsComplete"]


def test_a_later_stack_takes_the_cluster_over_with_its_own_policies_and_boundary(
    steps: dict[str, Any],
) -> None:
    assert steps["taken over"]["answer"] == {"PhysicalResourceId": ARN, "Outcome": "updated"}
    ((call, given),) = steps["taken over"]["calls"]
    assert call == "cloudformation.UpdateStack"
    tags = {each["Key"]: each["Value"] for each in given["Tags"]}
    assert tags["trainshed:owner"] == "99999999-later/ClusterResource"
    assert tags["trainshed:owner-stack"] == LATER
    assert steps["taken over again"]["answer"] == steps["taken over"]["answer"]
    assert steps["taken over again"]["calls"] == []


def test_a_takeover_that_pcluster_refuses_says_what_is_in_its_way(steps: dict[str, Any]) -> None:
    lines = steps["not taken over"]["error"].splitlines()
    assert lines[0] == (
        "cluster llm was retained and is untouched: it can be taken over, but not with this "
        "configuration: Update failure"
    )
    assert "- Tags[trainshed:owner].Value: allowed" in lines
    assert "- Tags[trainshed:owner-stack].Value: allowed" in lines
    assert steps["not taken over"]["calls"] == []


def test_a_former_owner_touches_nothing(steps: dict[str, Any]) -> None:
    assert steps["former owner"]["error"] == (
        "stack llm was not touched: it does not carry the tag "
        "trainshed:owner=0f1e2d3c-outer/ClusterResource"
    )
    assert steps["former owner"]["calls"] == []


def test_the_configuration_is_logged_by_neither_us_nor_pcluster(driven: dict[str, Any]) -> None:
    assert '"decision": "created"' in driven["log"]
    assert SECRET not in driven["log"]
    assert SECRET not in json.dumps([step.get("error", "") for step in driven["steps"]])
