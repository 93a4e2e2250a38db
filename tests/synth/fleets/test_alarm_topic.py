"""How the head node of a ParallelCluster cluster tells people what it does by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import aws_cdk as cdk

from trainshed.fleets import ParallelClusterFleet

Build = Callable[..., ParallelClusterFleet]
Synth = Callable[[cdk.Stack], Any]
TOPIC = "arn:aws:sns:us-east-2:111122223333:alerts"
KEY = "arn:aws:kms:us-east-2:111122223333:key/0123"


def statements(result: Any, part: str) -> dict[str, dict[str, Any]]:
    policies = result.of_type("AWS::IAM::ManagedPolicy")
    (policy,) = (each for id, each in policies.items() if part in id)
    written = policy["Properties"]["PolicyDocument"]["Statement"]
    return {each.get("Sid", str(index)): each for index, each in enumerate(written)}


def test_the_head_node_reads_the_topics_name_when_it_has_something_to_say(
    stack: cdk.Stack, build: Build, synthesised: Synth
) -> None:
    fleet = build(stack)
    fleet.send_alarms_to(TOPIC, key_arn=KEY)
    result = synthesised(stack)
    named = {p["Properties"]["Name"]: p for p in result.of_type("AWS::SSM::Parameter").values()}
    parameter = named["/trainshed/kait/alarm-topic"]["Properties"]
    assert parameter["Value"] == TOPIC
    allowed = statements(result, "NodesPoliciesHead")
    assert allowed["ReadAlarmTopic"]["Action"] == "ssm:GetParameter"
    assert allowed["RaiseAlarms"] == {
        "Sid": "RaiseAlarms",
        "Effect": "Allow",
        "Action": "sns:Publish",
        "Resource": TOPIC,
    }
    assert allowed["EncryptAlarms"]["Resource"] == KEY


def test_the_boundary_lets_the_head_node_publish_and_no_other_node_may(
    stack: cdk.Stack, build: Build, synthesised: Synth
) -> None:
    build(stack).send_alarms_to(TOPIC)
    result = synthesised(stack)
    assert "sns:Publish" in json.dumps(statements(result, "Boundary"))
    assert "sns:Publish" not in json.dumps(statements(result, "NodesPoliciesCompute"))
    assert "sns:Publish" not in json.dumps(statements(result, "NodesPoliciesLogin"))
    assert "kms:" not in json.dumps(statements(result, "NodesPoliciesHead"))
