"""The rights of a bare fleet beside what its programs call, IAM's limits and cdk-nag's packs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import cdk_nag
import pytest

from trainshed import facts
from trainshed._assets import asset
from trainshed.config import (
    AccountingDatabase,
    CapacityBlock,
    Fleet,
    LoginPool,
    PackageCache,
    SlurmOptions,
)
from trainshed.fleets import slurm_acknowledgments, slurm_head

Record = Callable[..., Fleet]
Build = Callable[..., Any]

BLOCK = CapacityBlock(
    reservation_id="cr-0123456789abcdef0",
    start=datetime(2027, 3, 1, 11, 30, tzinfo=UTC),
    end=datetime(2027, 3, 15, 11, 30, tzinfo=UTC),
)
ENV = cdk.Environment(account="111122223333", region="us-east-2")
KEY = f"arn:aws:kms:ap-southeast-2:111122223333:key/{'0' * 36}"
SECRET = "arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf"

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
OF_HEAD = [*OF_NODES, *(NODE / "keeper").rglob("*.py")]


def test_what_is_called_is_allowed(plain: Any) -> None:
    node_only = {"ec2:AttachVolume", "ec2:DescribeVolumes"}
    assert node_only <= calls(*OF_NODES)
    assert {"ssm:GetParametersByPath", "ec2:TerminateInstances"} <= calls(*OF_HEAD)
    assert {"autoscaling:SetInstanceProtection", "ec2:StartInstances"} <= calls(HANDLER)
    assert calls(*OF_HEAD) <= allowed(plain, "RolesHeadPolicy")
    both = allowed(plain, "ProviderStartPolicy") | allowed(plain, "ProviderLookPolicy")
    assert calls(HANDLER) == both


def allowed(made: Any, part: str) -> set[str]:
    return {action for actions, _, _ in made.statements(part).values() for action in actions}


def test_the_longest_policy_is_one_that_iam_takes(build: Build, record: Record) -> None:
    """IAM user guide "IAM and STS quotas", read 2026-11-29: 6,144 characters without blanks."""
    cache = PackageCache(bucket="b" * 63, key="k" * 200, sha256="1" * 64)
    fleet = record(
        accounting=AccountingDatabase(host="db", user="slurm", password_secret_arn=SECRET),
        slurm=SlurmOptions(packages=cache),
    )
    made = build(
        fleet,
        cluster_name="c" * 40,
        zone=facts.ZoneName("ap-southeast-2a"),
        env=cdk.Environment(account="111122223333", region="ap-southeast-2"),
        alarms=(f"arn:aws:sns:ap-southeast-2:111122223333:{'t' * 100}", KEY),
    )
    document = made.properties("AWS::IAM::ManagedPolicy", "RolesHeadPolicy")["PolicyDocument"]
    size = len(json.dumps(resolved(document), separators=(",", ":")))
    assert 4000 < size < 6144


def resolved(value: Any) -> Any:
    """Return a policy with values as long as AWS's own."""
    match value:
        case {"Fn::Join": [_, parts]}:
            return "".join(resolved(part) for part in parts)
        case {"Ref": "AWS::Partition"}:
            return "aws-us-gov"
        case {"Ref": name}:
            return "x" * (120 if "MungeKey" in name else 21)
        case dict():
            return {key: resolved(item) for key, item in value.items()}
        case list():
            return [resolved(item) for item in value]
        case _:
            return value


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
