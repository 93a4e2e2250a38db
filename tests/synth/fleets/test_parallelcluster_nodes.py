"""What nodes run and may do, and what stays as it was when a script changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from trainshed.config import (
    Fleet,
    LoginPool,
    ParallelClusterOptions,
    Queue,
)
from trainshed.fleets import NodeScript, ParallelClusterFleet

Build = Callable[..., ParallelClusterFleet]
Synth = Callable[[cdk.Stack], Any]
Text = Callable[[Any], str]
MakeRecord = Callable[..., Fleet]


# The head node's OnNodeConfigured can never change, its key included: see pc_actions.sh.
PC_ACTIONS_KEY = "5c8cac96b948b01d8ca0aeced9d2cdc67825c72b8701de204d45f90ded1209f8.sh"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    script = tmp_path / "site.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    return script


def head_actions(result: Any) -> dict[str, Any]:
    actions: dict[str, Any] = result.configuration["HeadNode"]["CustomActions"]
    return actions


def test_a_changed_script_runs_on_the_head_node_and_changes_nothing_fixed(
    build: Build, synthesised: Synth, site: Path
) -> None:
    seen = []
    for text in ("#!/bin/bash\ntrue\n", "#!/bin/bash\nfalse\n"):
        site.write_text(text)
        stack = cdk.Stack(cdk.App(), "Foreign")
        build(stack, head_scripts=[NodeScript(str(site), ("--quietly",))])
        seen.append(synthesised(stack))
    before, after = (head_actions(result) for result in seen)
    assert before["OnNodeConfigured"] == after["OnNodeConfigured"]
    assert before["OnNodeUpdated"] != after["OnNodeUpdated"]
    assert (
        before["OnNodeUpdated"]["Sequence"][0]["Args"][:2]
        == (before["OnNodeConfigured"]["Sequence"][0]["Args"])
    )


def test_the_script_that_can_never_change_has_its_key_for_ever(plain: Any) -> None:
    (step,) = head_actions(plain)["OnNodeConfigured"]["Sequence"]
    assert step == {
        "Script": f"s3://cdk-hnb659fds-assets-111122223333-us-east-2/{PC_ACTIONS_KEY}",
        "Args": ["/trainshed/kait/head-actions", "us-east-2"],
    }


def test_the_head_nodes_list_has_each_script_with_its_sha256_and_arguments(
    stack: cdk.Stack, build: Build, synthesised: Synth, site: Path, as_text: Text
) -> None:
    script = NodeScript(str(site), ("a", "b"))
    build(stack, head_scripts=[script])
    parameters = synthesised(stack).of_type("AWS::SSM::Parameter").values()
    (listed,) = (
        p["Properties"] for p in parameters if p["Properties"]["Name"].endswith("/head-actions")
    )
    lines = [line.split(" ") for line in as_text(listed["Value"]).splitlines()]
    assert [(len(line[0]), line[1][:5], line[2:]) for line in lines] == [
        (64, "s3://", []),
        (64, "s3://", ["/fsx"]),
        (64, "s3://", lines[2][2:]),
        (64, "s3://", ["a", "b"]),
    ]
    assert lines[2][2:4] == ["us-east-2", "pc_head.sh"]
    assert lines[3][0] == script.sha256


def test_login_nodes_keep_their_credentials_from_users(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord, as_text: Text
) -> None:
    build(stack, record(login_nodes={"login": LoginPool()}))
    result = synthesised(stack)
    (pool,) = result.configuration["LoginNodes"]["Pools"]
    assert pool["CustomActions"]["OnNodeConfigured"]["Sequence"][0]["Args"] == [
        "/trainshed/kait/login-actions",
        "us-east-2",
    ]
    parameters = result.of_type("AWS::SSM::Parameter").values()
    (value,) = (
        as_text(p["Properties"]["Value"])
        for p in parameters
        if p["Properties"]["Name"].endswith("/login-actions")
    )
    assert value.endswith(" pcluster-admin")


def compute_steps(result: Any) -> dict[str, list[list[str]]]:
    (queue,) = result.configuration["Scheduling"]["SlurmQueues"]
    return {
        event: [step.get("Args", []) for step in action["Sequence"]]
        for event, action in queue["CustomActions"].items()
    }


def test_compute_nodes_reach_the_file_system_over_efa_before_it_is_mounted(plain: Any) -> None:
    start = compute_steps(plain)["OnNodeStart"]
    assert start[0] == ["/fsx"]
    region, sha256, url = start[1]
    assert (region, len(sha256), url[:5]) == ("us-east-2", 64, "s3://")
    # The wrapped script is fetched by the wrapper, so the node may read it too.
    (queue,) = plain.configuration["Scheduling"]["SlurmQueues"]
    assert url.rpartition("/")[2] in [grant["KeyName"] for grant in queue["Iam"]["S3Access"]]


@pytest.mark.parametrize("part", ["storage", "queue"])
def test_without_efa_on_both_sides_nothing_is_set_up_for_it(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord, part: str
) -> None:
    queue = record().queues["compute"].model_copy(update={"efa": part != "queue"})
    build(stack, record(queues={"compute": queue}), efa=part != "storage")
    assert compute_steps(synthesised(stack))["OnNodeStart"] == [["/fsx"]]


def test_compute_nodes_keep_their_credentials_from_jobs(plain: Any) -> None:
    assert compute_steps(plain)["OnNodeConfigured"][:3] == [[], ["/fsx"], ["pcluster-admin"]]


def test_compute_nodes_get_their_checks_and_may_read_them(plain: Any) -> None:
    step = compute_steps(plain)["OnNodeConfigured"][3]
    assert (step[:2], step[6:]) == (["us-east-2", "pc_compute.sh"], ["/fsx"])
    assert [len(step[2]), len(step[4])] == [64, 64]
    (queue,) = plain.configuration["Scheduling"]["SlurmQueues"]
    granted = [grant["KeyName"] for grant in queue["Iam"]["S3Access"]]
    assert all(url.rpartition("/")[2] in granted for url in (step[3], step[5]))


def test_the_end_of_a_block_changes_nothing_that_a_compute_node_runs(
    build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    seen = []
    for end in ("2027-03-01T11:30:00Z", "2027-03-08T11:30:00Z"):
        capacity = {"kind": "capacity_block", "reservation_id": "cr-0123456789abcdef0", "end": end}
        queue = Queue.model_validate_json(
            json.dumps({"instance_type": "p5en.48xlarge", "max_nodes": 4, "capacity": capacity})
        )
        stack = cdk.Stack(cdk.App(), "Foreign")
        build(stack, record(queues={"compute": queue}))
        seen.append(synthesised(stack))
    before, after = seen
    assert compute_steps(before) == compute_steps(after)
    assert head_actions(before)["OnNodeUpdated"] != head_actions(after)["OnNodeUpdated"]


@pytest.mark.parametrize(
    ("removal", "policy", "list_policy"),
    [("retain", "Retain", "RetainExceptOnCreate"), ("destroy", "Delete", "Delete")],
)
def test_what_a_retained_cluster_needs_is_retained_with_it(
    stack: cdk.Stack,
    build: Build,
    synthesised: Synth,
    record: MakeRecord,
    removal: str,
    policy: str,
    list_policy: str,
) -> None:
    options = ParallelClusterOptions.model_validate({"removal": removal})
    build(stack, record(parallelcluster=options))
    result = synthesised(stack)
    lists = result.of_type("AWS::SSM::Parameter").values()
    policies = result.of_type("AWS::IAM::ManagedPolicy").items()
    kept = [p for id, p in policies if "NodesPolicies" in id or "Boundary" in id]
    # Their names are fixed: one that a creation left behind would be in the way of the next.
    assert [each["DeletionPolicy"] for each in lists] == [list_policy] * 4
    assert [each["DeletionPolicy"] for each in kept] == [policy] * 4


def test_node_policies_read_their_own_scripts_and_nothing_else(plain: Any, as_text: Text) -> None:
    policies = plain.of_type("AWS::IAM::ManagedPolicy")
    found = {id: policy["Properties"] for id, policy in policies.items() if "NodesPolicies" in id}
    for properties in found.values():
        assert properties["Path"] == "/parallelcluster/kait/"
        for statement in properties["PolicyDocument"]["Statement"]:
            assert statement["Action"] in ("s3:GetObject", "ssm:GetParameter")
            resources = statement["Resource"]
            for resource in resources if isinstance(resources, list) else [resources]:
                assert "*" not in as_text(resource)


def test_configurations_use_the_policies_of_their_kind_of_node(plain: Any) -> None:
    head = plain.configuration["HeadNode"]["Iam"]["AdditionalIamPolicies"]
    assert [policy["Policy"].split("Policies")[-1][:4] for policy in head] == [
        "arn:",
        "Head",
    ]
