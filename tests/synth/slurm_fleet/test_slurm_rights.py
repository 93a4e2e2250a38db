"""What nodes, provider and schedule of a bare fleet may do: all of it, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest

from trainshed._assets import asset
from trainshed.config import (
    AccountingDatabase,
    CapacityBlock,
    Fleet,
    HeadNode,
    LoginPool,
    PackageCache,
    SlurmOptions,
)
from trainshed.fleets import slurm_acknowledgments, slurm_head

Record = Callable[..., Fleet]
Build = Callable[..., Any]
Statements = dict[str, tuple[list[str], list[str], Any]]

BLOCK = CapacityBlock(
    reservation_id="cr-0123456789abcdef0",
    start=datetime(2027, 3, 1, 11, 30, tzinfo=UTC),
    end=datetime(2027, 3, 15, 11, 30, tzinfo=UTC),
)
SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf"
POLICY = "arn:aws:iam::111122223333:policy/extra"
ENV = cdk.Environment(account="111122223333", region="us-east-2")
PLACE = "us-east-2:111122223333"
PARAMETER = f"arn:aws:ssm:{PLACE}:parameter/trainshed/lab/slurm"
IN_REGION = {"StringEquals": {"aws:RequestedRegion": "us-east-2"}}


def tagged(role: str) -> dict[str, Any]:
    return {
        "StringEquals": {
            "aws:ResourceTag/trainshed:cluster": "lab",
            "aws:ResourceTag/trainshed:role": role,
        }
    }


COMMON: Statements = {
    "FetchArchives": (["s3:GetObject"], ["arn:aws:s3:::<bucket>/<key>"] * 2, None),
    "ReadSecrets": (["secretsmanager:GetSecretValue"], ["<MungeKey>"], None),
    "ReadFleet": (["ssm:GetParameter"], [f"{PARAMETER}/fleet"], None),
    "TellOfBoot": (
        ["ssm:PutParameter", "ssm:DeleteParameter"],
        [f"{PARAMETER}/nodes/*"],
        None,
    ),
    "WriteLogs": (
        ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
        [
            f"arn:aws:logs:{PLACE}:log-group:/trainshed/lab/slurm",
            f"arn:aws:logs:{PLACE}:log-group:/trainshed/lab/slurm:*",
        ],
        None,
    ),
    "PutMetrics": (
        ["cloudwatch:PutMetricData"],
        ["*"],
        {"StringEquals": {"cloudwatch:namespace": "Trainshed"}},
    ),
    "ReadTags": (["ec2:DescribeTags"], ["*"], IN_REGION),
    "Sessions": (
        [
            *(
                f"ec2messages:{verb}"
                for verb in (
                    "AcknowledgeMessage",
                    "DeleteMessage",
                    "FailMessage",
                    "GetEndpoint",
                    "GetMessages",
                    "SendReply",
                )
            ),
            "ssm:UpdateInstanceInformation",
            *(
                f"ssmmessages:{verb}"
                for verb in (
                    "CreateControlChannel",
                    "CreateDataChannel",
                    "OpenControlChannel",
                    "OpenDataChannel",
                )
            ),
        ],
        ["*"],
        IN_REGION,
    ),
}
GROUPS = f"arn:aws:autoscaling:{PLACE}:autoScalingGroup:*:autoScalingGroupName/*"
INSTANCES = f"arn:aws:ec2:{PLACE}:instance/*"
ATTACH = ["ec2:AttachVolume", "ec2:DetachVolume"]
HEAD: Statements = {
    "WriteStatus": (["ssm:PutParameter"], [f"{PARAMETER}/status"], None),
    "ReadDocuments": (
        ["ssm:GetParameters"],
        [f"{PARAMETER}/{name}" for name in ("fleet", "command", "status")],
        None,
    ),
    "ForgetBoots": (["ssm:DeleteParameters"], [f"{PARAMETER}/nodes/*"], None),
    "ReadBoots": (["ssm:GetParametersByPath"], [f"{PARAMETER}/nodes"], None),
    "FillGroups": (
        [
            "autoscaling:SetDesiredCapacity",
            "autoscaling:TerminateInstanceInAutoScalingGroup",
        ],
        [GROUPS],
        tagged("compute"),
    ),
    "FenceNodes": (["ec2:TerminateInstances"], [INSTANCES], tagged("compute")),
    "StopFormerHead": (["ec2:StopInstances"], [INSTANCES], tagged("head")),
    "AttachState": (ATTACH, [f"arn:aws:ec2:{PLACE}:volume/<Volume>"], None),
    "AttachStateToHead": (ATTACH, [INSTANCES], tagged("head")),
    "Look": (
        [
            "autoscaling:DescribeAutoScalingGroups",
            "autoscaling:DescribeScalingActivities",
            "ec2:DescribeInstances",
            "ec2:DescribeVolumes",
        ],
        ["*"],
        IN_REGION,
    ),
}
START = (["ec2:StartInstances"], [INSTANCES], tagged("head"))
STATUS = (["ssm:GetParameter"], [f"{PARAMETER}/status"], None)
ON_EVENT: Statements = {
    "FillGroups": (["autoscaling:SetDesiredCapacity"], [GROUPS], tagged("compute")),
    "StartHead": START,
    "Command": (["ssm:PutParameter", "ssm:DeleteParameter"], [f"{PARAMETER}/command"], None),
    "ReadStatus": STATUS,
    "Look": (
        [
            "autoscaling:DescribeAutoScalingGroups",
            "ec2:DescribeCapacityReservations",
            "ec2:DescribeInstances",
        ],
        ["*"],
        IN_REGION,
    ),
}
IS_COMPLETE: Statements = {
    "FillGroups": (
        ["autoscaling:SetDesiredCapacity", "autoscaling:SetInstanceProtection"],
        [GROUPS],
        tagged("compute"),
    ),
    "StartHead": START,
    "ReadStatus": STATUS,
    "Forget": (["ssm:DeleteParameter"], [f"{PARAMETER}/status", f"{PARAMETER}/command"], None),
    "ReadBoots": (["ssm:GetParametersByPath"], [f"{PARAMETER}/nodes"], None),
    "ForgetBoots": (["ssm:DeleteParameters"], [f"{PARAMETER}/nodes/*"], None),
    "Look": (
        [
            "autoscaling:DescribeAutoScalingGroups",
            "autoscaling:DescribeScalingActivities",
            "ec2:DescribeInstances",
        ],
        ["*"],
        IN_REGION,
    ),
}


def written(resource: Any) -> str:
    """Write a resource with the partition of the world, and what AWS names as ``<What>``."""
    match resource:
        case {"Fn::Join": [_, parts]}:
            text = "".join(written(part) for part in parts)
            return "arn:aws:s3:::<bucket>/<key>" if "cdk-hnb659fds-assets" in text else text
        case {"Ref": "AWS::Partition"}:
            return "aws"
        case {"Ref": name}:
            return "<MungeKey>" if "MungeKey" in name else "<Volume>" if "Volume" in name else name
        case _:
            return str(resource)


def statements(made: Any, part: str) -> Statements:
    """Return the statements of the managed policy whose logical id has a part."""
    document = made.properties("AWS::IAM::ManagedPolicy", part)["PolicyDocument"]
    listed = document["Statement"]
    assert {statement["Effect"] for statement in listed} == {"Allow"}
    many = [(s, [s["Action"]] if isinstance(s["Action"], str) else s["Action"]) for s in listed]
    return {
        statement["Sid"]: (
            actions,
            [
                written(resource)
                for resource in (
                    statement["Resource"]
                    if isinstance(statement["Resource"], list)
                    else [statement["Resource"]]
                )
            ],
            statement.get("Condition"),
        )
        for statement, actions in many
    }


@pytest.mark.parametrize(
    ("part", "rights"),
    [
        ("RolesComputePolicy", COMMON),
        ("RolesHeadPolicy", COMMON | HEAD),
        ("ProviderStartPolicy", ON_EVENT),
        ("ProviderLookPolicy", IS_COMPLETE),
    ],
    ids=["compute", "head", "on_event", "is_complete"],
)
def test_its_rights_are_these(part: str, rights: Statements, plain: Any) -> None:
    assert statements(plain, part) == rights


CLIENTS = {
    "_ssm": "ssm",
    "_ec2": "ec2",
    "_autoscaling": "autoscaling",
    "autoscaling": "autoscaling",
}


def calls(*paths: Path) -> set[str]:
    """Return the actions that programs call: boto3's methods and ``aws SERVICE VERB``."""
    found = set()
    for path in paths:
        text = path.read_text()
        for client, paginated, method in re.findall(
            r"(_client\(\"\w+\"\)|\b_ssm|\b_ec2|\b_?autoscaling)\."
            r"(?:get_paginator\(\s*\"(\w+)\"|(\w+)\()",
            text,
        ):
            service = CLIENTS.get(client) or client.split('"')[1]
            words = (paginated or method).split("_")
            found.add(f"{service}:{''.join(word.capitalize() for word in words)}")
        if path.suffix != ".sh":
            continue
        for service, verb in re.findall(r"\baws (ec2|secretsmanager|ssm) ([a-z-]+)", text):
            found.add(f"{service}:{''.join(word.capitalize() for word in verb.split('-'))}")
        found |= {"s3:GetObject"} if re.search(r"\baws s3 cp", text) else set()
    return found


NODE = Path(asset("node"))
OF_NODES = [
    path for path in (*NODE.glob("*.sh"), NODE / "user_data/bootstrap.sh") if path.name[:3] != "pc_"
]
HANDLER = Path(asset("functions", "slurm_fleet", "handler.py"))
OF_HEAD = [*OF_NODES, NODE / "keeper" / "aws.py"]


def test_what_is_called_is_allowed(plain: Any) -> None:
    node_only = {"ec2:AttachVolume", "ec2:DescribeVolumes"}
    assert node_only <= calls(*OF_NODES)
    assert {"ssm:GetParametersByPath", "ec2:TerminateInstances"} <= calls(*OF_HEAD)
    assert {"autoscaling:SetInstanceProtection", "ec2:StartInstances"} <= calls(HANDLER)
    assert calls(*OF_HEAD) <= allowed(plain, "RolesHeadPolicy")
    both = allowed(plain, "ProviderStartPolicy") | allowed(plain, "ProviderLookPolicy")
    assert calls(HANDLER) == both


def allowed(made: Any, part: str) -> set[str]:
    return {action for actions, _, _ in statements(made, part).values() for action in actions}


def test_login_nodes_may_do_what_compute_nodes_may(build: Build, record: Record) -> None:
    made = build(record(login_nodes={"login": LoginPool()}))
    assert statements(made, "RolesLoginPolicy") == COMMON


def test_a_database_password_is_the_head_nodes_alone(build: Build, record: Record) -> None:
    database = AccountingDatabase(host="db", user="slurm", password_secret_arn=SECRET)
    made = build(record(accounting=database))
    assert statements(made, "RolesHeadPolicy")["ReadOwnSecrets"] == (
        ["secretsmanager:GetSecretValue"],
        [SECRET],
        None,
    )
    assert SECRET not in str(statements(made, "RolesComputePolicy"))


def test_a_package_cache_can_be_read(build: Build, record: Record) -> None:
    cache = PackageCache(bucket="ours", key="cache.tar", sha256="1" * 64)
    made = build(record(slurm=SlurmOptions(packages=cache)))
    _, objects, _ = statements(made, "RolesComputePolicy")["FetchArchives"]
    assert objects[2:] == ["arn:aws:s3:::ours/cache.tar"]


def test_alarms_can_be_raised_where_a_topic_is_named(build: Build) -> None:
    topic = "arn:aws:sns:us-east-2:111122223333:alerts"
    made = build(alarm_topic_arn=topic)
    assert statements(made, "RolesHeadPolicy")["RaiseAlarms"] == (["sns:Publish"], [topic], None)
    assert made.document["alarm_topic_arn"] == topic


def test_named_policies_are_on_their_own_nodes(build: Build, record: Record) -> None:
    made = build(
        record(head_node=HeadNode(policies=(POLICY,)), queue={"policies": (f"{POLICY}-2",)})
    )
    roles = {
        part: made.properties("AWS::IAM::Role", f"Roles{part}")["ManagedPolicyArns"][1:]
        for part in ("HeadRole", "TrainQueueRole")
    }
    assert roles == {"HeadRole": [POLICY], "TrainQueueRole": [f"{POLICY}-2"]}


def test_a_schedule_fills_its_group_and_nothing_else(build: Build, record: Record) -> None:
    made = build(record(queue={"capacity": BLOCK}))
    policy = made.properties("AWS::IAM::Policy", "TrainQueueSchedule")["PolicyDocument"]
    (group,) = made.of_type("AWS::AutoScaling::AutoScalingGroup")
    (statement,) = policy["Statement"]
    assert statement["Action"] == "autoscaling:SetDesiredCapacity"
    assert statement["Resource"]["Fn::Join"][1][-1] == {"Ref": group}
    assert "autoScalingGroupName/" in statement["Resource"]["Fn::Join"][1][-2]


def test_grants_reach_the_policies_of_the_nodes(build: Build) -> None:
    made = build()
    fleet = made.fleet
    principals = {
        "head": fleet.head_grant_principal,
        "compute": fleet.compute_grant_principal,
    }
    assert principals == {"head": fleet.roles.head_policy, "compute": fleet.roles.compute_policy}


@pytest.mark.parametrize("env", [ENV, None], ids=["one-account", "any-account"])
def test_every_finding_of_the_packs_is_acknowledged(
    env: cdk.Environment | None, build: Build, record: Record
) -> None:
    fleet = record(login_nodes={"login": LoginPool()}, queue={"capacity": BLOCK})
    build(fleet, app=with_packs(), env=env)


def test_the_packs_do_look(build: Build, record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_head, "OF_MUNGE_KEY", {})
    assert slurm_acknowledgments.OF_MUNGE_KEY
    with pytest.raises(RuntimeError, match="MungeKey"):
        build(app=with_packs())


def with_packs() -> cdk.App:
    app = cdk.App()
    cdk.Validations.of(app).add_plugins(
        cdk_nag.AwsSolutionsChecks(app), cdk_nag.NIST80053R5Checks(app)
    )
    return app
