"""What nodes, provider and schedule of a bare fleet may do: all of it, by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import aws_cdk as cdk
import pytest

from trainshed.config import (
    AccountingDatabase,
    CapacityBlock,
    Fleet,
    HeadNode,
    LoginPool,
    PackageCache,
    SlurmOptions,
)

Record = Callable[..., Fleet]
Build = Callable[..., Any]
Statements = dict[str, tuple[list[str], list[str], Any]]

BLOCK = CapacityBlock(
    reservation_id="cr-0123456789abcdef0",
    start=datetime(2027, 3, 1, 11, 30, tzinfo=UTC),
    end=datetime(2027, 3, 15, 11, 30, tzinfo=UTC),
)
SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf"
TOPIC = "arn:aws:sns:us-east-2:111122223333:alerts"
KEY = "arn:aws:kms:us-east-2:111122223333:key/0"
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
            "ec2:DescribeCapacityReservations",
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
    assert plain.statements(part) == rights


def test_login_nodes_may_do_what_compute_nodes_may(build: Build, record: Record) -> None:
    made = build(record(login_nodes={"login": LoginPool()}))
    assert made.statements("RolesLoginPolicy") == COMMON


def test_a_database_password_is_the_head_nodes_alone(build: Build, record: Record) -> None:
    database = AccountingDatabase(host="db", user="slurm", password_secret_arn=SECRET)
    made = build(record(accounting=database))
    assert made.statements("RolesHeadPolicy")["ReadOwnSecrets"] == (
        ["secretsmanager:GetSecretValue"],
        [SECRET],
        None,
    )
    assert SECRET not in str(made.statements("RolesComputePolicy"))


def test_a_package_cache_can_be_read(build: Build, record: Record) -> None:
    cache = PackageCache(bucket="ours", key="cache.tar", sha256="1" * 64)
    made = build(record(slurm=SlurmOptions(packages=cache)))
    _, objects, _ = made.statements("RolesComputePolicy")["FetchArchives"]
    assert objects[2:] == ["arn:aws:s3:::ours/cache.tar"]


@pytest.mark.parametrize("key", [None, KEY], ids=["no key", "key"])
def test_the_head_node_publishes_where_a_topic_is_named(key: str | None, build: Build) -> None:
    made = build(alarms=(TOPIC, key))
    rights = made.statements("RolesHeadPolicy")
    assert rights["RaiseAlarms"] == (["sns:Publish"], [TOPIC], None)
    encrypts = rights.get("EncryptAlarms")
    assert encrypts == ((["kms:Decrypt", "kms:GenerateDataKey"], [KEY], None) if key else None)
    assert made.document["alarm_topic_arn"] == TOPIC
    assert made.fleet.document["alarm_topic_arn"] == TOPIC
    (resource,) = made.of_type("Custom::TrainshedSlurmFleet").values()
    value = made.properties("AWS::SSM::Parameter")["Value"]
    assert resource["Properties"]["FleetDocument"] == value


def test_named_policies_are_on_their_own_nodes(build: Build, record: Record) -> None:
    made = build(
        record(
            head_node=HeadNode(policies=(POLICY,)),
            queue={"policies": (f"{POLICY}-2",)},
            login_nodes={"web": LoginPool(policies=(f"{POLICY}-3",)), "shell": LoginPool()},
        )
    )
    roles = {
        part: made.properties("AWS::IAM::Role", f"Roles{part}")["ManagedPolicyArns"][1:]
        for part in ("HeadRole", "TrainQueueRole", "WebLoginRole", "ShellLoginRole")
    }
    assert roles == {
        "HeadRole": [POLICY],
        "TrainQueueRole": [f"{POLICY}-2"],
        "WebLoginRole": [f"{POLICY}-3"],
        "ShellLoginRole": [],
    }


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
