"""A fleet's Slurm policy on ParallelCluster: settings, files of the head node, who reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from trainshed.config import AccountingDatabase, Fleet, Image, ImageLock, NewDatabase
from trainshed.fleets import ParallelClusterFleet
from trainshed.slurm import SlurmPolicy

Build = Callable[..., ParallelClusterFleet]
Synth = Callable[[cdk.Stack], Any]
MakeRecord = Callable[..., Fleet]

DATABASE = AccountingDatabase(
    host="db.example.edu",
    user="slurm",
    password_secret_arn="arn:aws:secretsmanager:us-east-2:111122223333:secret:db-AbCdEf",
    client_security_group_id="sg-0123456789abcdef9",
)
HARDENED = SlurmPolicy(preset="kait-hardened")
ENV = cdk.Environment(account="111122223333", region="us-east-2")


def with_policy(record: MakeRecord, **over: Any) -> Fleet:
    policy = SlurmPolicy.model_validate({"preset": "kait-hardened", **over})
    return record(accounting=DATABASE, policy=policy)


def parameter(result: Any, name: str) -> str:
    (value,) = (
        each["Properties"]["Value"]
        for each in result.of_type("AWS::SSM::Parameter").values()
        if each["Properties"]["Name"] == name
    )
    return str(value)


@pytest.fixture
def result(stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord) -> Any:
    build(stack, with_policy(record))
    return synthesised(stack)


def test_the_policy_is_in_the_cluster_configuration(result: Any) -> None:
    slurm = result.configuration["Scheduling"]
    partitions = [
        line["PartitionName"]
        for line in slurm["SlurmSettings"]["CustomSlurmSettings"]
        if "PartitionName" in line
    ]
    assert partitions == ["debug", "normal", "priority", "exclusive"]
    assert slurm["SlurmQueues"][0]["CustomSlurmSettings"] == {
        "Default": "NO",
        "RootOnly": "YES",
        "Hidden": "YES",
    }
    assert slurm["SlurmSettings"]["Database"] == {
        "Uri": "db.example.edu",
        "UserName": "slurm",
        "PasswordSecretArn": DATABASE.password_secret_arn,
        "DatabaseName": "slurm_acct",
    }


def test_the_head_node_alone_has_the_group_that_the_database_lets_in(result: Any) -> None:
    configuration = result.configuration
    groups = configuration["HeadNode"]["Networking"]["AdditionalSecurityGroups"]
    assert "sg-0123456789abcdef9" in groups
    assert "sg-0123456789abcdef9" not in json.dumps(configuration["Scheduling"])


def test_the_head_node_puts_the_policy_around_slurmctld_before_there_is_one(result: Any) -> None:
    (start,) = result.configuration["HeadNode"]["CustomActions"]["OnNodeStart"]["Sequence"]
    assert start["Args"] == ["/trainshed/kait/head-start-actions", "us-east-2"]
    line = parameter(result, "/trainshed/kait/head-start-actions").split()
    assert line[2:] == ["install", "/trainshed/kait/slurm-policy", "us-east-2"]


def test_an_update_applies_it_and_changes_with_every_change_of_it(
    build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    seen = []
    for over in ({}, {"users": {"kim": {"account": "general"}}}):
        stack = cdk.Stack(cdk.App(), "Foreign", env=ENV)
        build(stack, with_policy(record, **over))
        result = synthesised(stack)
        actions = result.configuration["HeadNode"]["CustomActions"]
        lines = parameter(result, "/trainshed/kait/head-actions").splitlines()
        (applied,) = (line.split() for line in lines if " apply " in line)
        assert applied[2:5] == ["apply", "/trainshed/kait/slurm-policy", "us-east-2"]
        seen.append(
            (
                actions["OnNodeStart"],
                actions["OnNodeConfigured"],
                actions["OnNodeUpdated"]["Sequence"][0]["Args"][-1],
                parameter(result, "/trainshed/kait/slurm-policy"),
            )
        )
    first, second = seen
    # ParallelCluster refuses an update that changes these two.
    assert first[:2] == second[:2]
    assert first[2] != second[2] and first[3] != second[3]


def test_the_head_node_and_no_other_may_read_program_and_document(result: Any) -> None:
    lines = parameter(result, "/trainshed/kait/slurm-policy").splitlines()
    keys = [line.split()[1].partition("s3://")[2].partition("/")[2] for line in lines]
    assert [key.rpartition(".")[2] for key in keys] == ["py", "json"]
    policies = {
        re.sub(r"[0-9A-F]{8}$", "", id): json.dumps(policy)
        for id, policy in result.of_type("AWS::IAM::ManagedPolicy").items()
    }
    for key in keys:
        assert key in policies["FleetNodesPoliciesHead"]
        assert key not in policies["FleetNodesPoliciesCompute"]
        assert key not in policies["FleetNodesPoliciesLogin"]
        assert key in json.dumps(result.configuration["HeadNode"]["Iam"]["S3Access"])
    assert "FleetNodesPolicyParameter" in policies["FleetNodesPoliciesHead"]


def test_the_document_is_an_asset_of_its_content(
    stack: cdk.Stack, build: Build, record: MakeRecord
) -> None:
    build(stack, with_policy(record))
    app = cdk.Stage.of(stack)
    assert app is not None
    folder = Path(app.synth().directory)
    written = [json.loads(path.read_text()) for path in folder.glob("asset.*.json")]
    (document,) = (each for each in written if "keep_accounts" in each)
    assert document["cluster"] == "kait"
    assert document["keep_accounts"] == ["pcdefault"]
    assert sorted(document["accounts"]) == ["general", "priority"]


def test_without_a_policy_there_is_none_and_a_later_one_finds_its_place(
    stack: cdk.Stack, build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    build(stack, record())
    result = synthesised(stack)
    assert parameter(result, "/trainshed/kait/slurm-policy") == "none"
    assert "OnNodeStart" in result.configuration["HeadNode"]["CustomActions"]
    assert "apply" not in parameter(result, "/trainshed/kait/head-actions")


def test_a_stack_for_any_region_has_the_same_content_each_time(
    build: Build, synthesised: Synth, record: MakeRecord
) -> None:
    hashes = []
    for unrelated in range(2):
        stack = cdk.Stack(cdk.App(), "Foreign")
        for _ in range(unrelated):
            cdk.Token.as_string({"Ref": "Anything"})
        build(stack, with_policy(record))
        actions = synthesised(stack).configuration["HeadNode"]["CustomActions"]
        hashes.append(actions["OnNodeUpdated"]["Sequence"][0]["Args"][-1])
    assert hashes[0] == hashes[1]


def test_warnings_of_the_linter_are_warnings_of_the_cdk(
    stack: cdk.Stack, build: Build, record: MakeRecord
) -> None:
    fleet = build(stack, with_policy(record, scheduler={"return_to_service": 1}))
    warnings = cdk.assertions.Annotations.from_stack(stack).find_warning(
        f"/{fleet.node.path}", cdk.assertions.Match.string_like_regexp("return-to-service")
    )
    assert len(warnings) == 1


def test_a_cluster_without_a_gate_is_a_warning_of_the_cdk(
    stack: cdk.Stack, build: Build, record: MakeRecord
) -> None:
    fleet = build(stack, record())
    told = "names no all_reduce_perf.*trainshed:policy:1"
    assert cdk.assertions.Annotations.from_stack(stack).find_warning(
        f"/{fleet.node.path}", cdk.assertions.Match.string_like_regexp(told)
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"policy": HARDENED},
            "policy: has limits, accounts and users, which Slurm keeps in a database, and "
            "fleet.accounting is not given; write accounting: {create: {}}, or a database that is "
            "there already",
        ),
        (
            {"accounting": AccountingDatabase(create=NewDatabase())},
            "fleet.accounting.create asks for a database, which SlurmAccountingDatabase makes; "
            "give its record instead: fleet.accounting.made(...)",
        ),
        (
            {
                "image": Image(
                    lock=ImageLock(
                        ami_id="ami-0123456789abcdef0",
                        name="DLAMI",
                        kernel="6.8.0-1021-aws",
                        nvidia_driver="570.86.15",
                        efa_installer="1.38.0",
                    )
                )
            },
            "image.lock: is for backend slurm; ParallelCluster has images of its own: leave it "
            "out, or give ami_id",
        ),
    ],
    ids=["no database", "a database to be made", "an image of the other backend"],
)
def test_what_does_not_go_together_is_refused(
    stack: cdk.Stack, build: Build, record: MakeRecord, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as refused:
        build(stack, record(**given))
    assert str(refused.value) == message
