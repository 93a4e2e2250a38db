"""EC2's warnings of a Capacity Block reach the head node of either fleet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest
from aws_cdk import aws_iam as iam

from trainshed.fleets import BlockEvents

Synth = Callable[[cdk.Stack], Any]
BLOCKS = ("cr-0123456789abcdef0", "cr-0123456789abcdef1")


def build(app: cdk.App, env: cdk.Environment | None = None) -> cdk.Stack:
    stack = cdk.Stack(app, "Foreign", env=env)
    head = iam.ManagedPolicy(stack, "Head")
    BlockEvents(
        stack,
        "BlockEvents",
        cluster_name="kait",
        block_ids=BLOCKS,
        head=head,
        log_retention_days=180,
    )
    return stack


@pytest.fixture(scope="module")
def made(synthesised: Synth) -> Any:
    return synthesised(build(cdk.App()))


@pytest.mark.parametrize(
    "env", [cdk.Environment(account="111122223333", region="us-east-2"), None], ids=["one", "any"]
)
def test_cdk_nag_finds_nothing_that_is_not_acknowledged(env: cdk.Environment | None) -> None:
    app = cdk.App()
    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
    build(app, env)
    app.synth()


def test_rules_listen_to_both_spellings_of_both_warnings(made: Any) -> None:
    patterns = {
        tuple(rule["Properties"]["EventPattern"]["detail-type"]): rule["Properties"][
            "EventPattern"
        ].get("detail")
        for rule in made.of_type("AWS::Events::Rule").values()
    }
    assert patterns == {
        (
            "Capacity Block Expiration Warning",
            "Capacity Block Reservation Expiration Warning",
        ): {"capacity-reservation-id": list(BLOCKS)},
        (
            "EC2 Capacity Block Instance Interruption Warning",
            "EC2 Capacity Reservation Instance Interruption Warning",
        ): None,
    }


def test_the_function_knows_the_parameter_of_each_block(made: Any) -> None:
    (function,) = made.of_type("AWS::Lambda::Function").values()
    variables = json.dumps(function["Properties"]["Environment"]["Variables"])
    assert all(block in variables for block in BLOCKS)
    names = {p["Properties"]["Name"] for p in made.of_type("AWS::SSM::Parameter").values()}
    assert names == {f"/trainshed/kait/blocks/{block}" for block in BLOCKS}
    values = {p["Properties"]["Value"] for p in made.of_type("AWS::SSM::Parameter").values()}
    assert values == {"none"}


def test_the_head_node_reads_and_the_function_alone_writes(made: Any) -> None:
    policies = made.of_type("AWS::IAM::ManagedPolicy")
    actions = {
        re.sub(r"[0-9A-F]{8}$", "", id): sorted(
            action
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            for action in (
                statement["Action"]
                if isinstance(statement["Action"], list)
                else [statement["Action"]]
            )
        )
        for id, policy in policies.items()
    }
    assert actions == {
        "Head": ["ssm:GetParameters"],
        "BlockEventsPolicy": [
            "ec2:DescribeInstances",
            "logs:CreateLogStream",
            "logs:PutLogEvents",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:ReceiveMessage",
            "ssm:GetParameter",
            "ssm:PutParameter",
        ],
    }
