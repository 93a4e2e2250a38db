"""What a destroy leaves, to the last resource, and what a second deploy makes of it."""

from __future__ import annotations

import pytest

from tests.deploy import account
from tests.deploy.cdk import Cdk, CdkError, of
from tests.deploy.emulator.process import Emulator
from tests.deploy.institutions import small

NAME = "leaving"
# Types of retained resources that an account's lists show.
TYPES = (
    "AWS::EC2::CapacityReservation",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::Subnet",
    "AWS::EC2::VPC",
    "AWS::FSx::FileSystem",
    "AWS::IAM::ManagedPolicy",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SSM::Parameter",
)
STACKS = (f"{NAME}-foundation", f"{NAME}-cluster")
DOCUMENT = small(
    NAME,
    storage={
        "lustre": {"capacity_gib": 1200, "throughput_mb_s_per_tib": 125},
        "links": {"Data": {"path": "/data", "prefix": "data/", "direction": "both"}},
    },
    fleet={
        "queues": {
            "gpu": {
                "instance_type": "p5.48xlarge",
                "max_nodes": 2,
                "capacity": {"kind": "targeted_reservation", "create": {"nodes": 2}},
            }
        }
    },
)


# What comes and stays with a retained resource, by what tells it: a VPC's own group and table, and
# what ParallelCluster keeps beside its stack.
COMPANIONS = {
    "ec2 CapacityReservations": "of the first cluster stack, which the second does not know",
    "ec2 SecurityGroups": "the default group of the VPC",
    "ec2 RouteTables": "the main table of the VPC",
    "s3 Buckets": "where ParallelCluster keeps configurations",
    "cloudformation StackSummaries": "the cluster",
    "ssm Parameters": "of the cluster's stack",
}


@pytest.fixture(scope="module")
def before(emulator: Emulator) -> set[str]:
    """What the account had."""
    return account.inventory(emulator)


@pytest.fixture(scope="module")
def cdk(emulator: Emulator, before: set[str], tmp_path_factory: pytest.TempPathFactory) -> Cdk:
    """The command line over an institution that is deployed, with an object in its bucket."""
    cdk = of(emulator, tmp_path_factory.mktemp(NAME), DOCUMENT)
    cdk.deploy()
    emulator.client("s3").put_object(Bucket=bucket(emulator), Key="data/one", Body=b"1")
    return cdk


def bucket(emulator: Emulator) -> str:
    return account.outputs(emulator, STACKS[0])["BucketName"]


def parameters(cdk: Cdk) -> list[str]:
    """Return the names of the parameters that the cluster's stack retains."""
    return [
        each["Properties"]["Name"]
        for each in cdk.template(STACKS[1])["Resources"].values()
        if each["Type"] == "AWS::SSM::Parameter"
        and each.get("DeletionPolicy", "").startswith("Retain")
    ]


def test_a_cluster_that_was_retained_is_refused_and_then_taken_over(
    emulator: Emulator, cdk: Cdk
) -> None:
    arn = account.stack_id(emulator, NAME)
    cdk.destroy(STACKS[1])
    assert account.stack_id(emulator, NAME) == arn
    with pytest.raises(CdkError, match="already exists") as refused:
        cdk.deploy_again(STACKS[1])
    assert "HeadActions" in str(refused.value)
    assert account.stack_id(emulator, NAME) == arn
    emulator.client("ssm").delete_parameters(Names=parameters(cdk))
    cdk.deploy_again(STACKS[1])
    assert account.stack_id(emulator, NAME) == arn
    assert account.statuses(emulator, NAME) == ["UPDATE_COMPLETE"]


def test_a_destroy_leaves_exactly_what_is_retained(
    emulator: Emulator, cdk: Cdk, before: set[str]
) -> None:
    data = bucket(emulator)
    stays = {
        id: type
        for stack in STACKS
        for id, type in account.retained(emulator, stack, cdk.template(stack)).items()
    }
    cdk.destroy()
    left = {
        id: kind
        for kind, id in (each.rsplit(" ", 1) for each in account.inventory(emulator) - before)
    }
    assert not [id for id, type in stays.items() if type in TYPES and id not in left]
    others = {kind for id, kind in left.items() if id not in stays}
    assert others <= set(COMPANIONS)
    assert {"AWS::FSx::FileSystem", "AWS::S3::Bucket", "AWS::EC2::CapacityReservation"} <= {
        *stays.values()
    }
    assert emulator.client("s3").get_object(Bucket=data, Key="data/one")["Body"].read() == b"1"


def test_a_second_foundation_stands_beside_the_first_and_refuses_its_cluster(
    emulator: Emulator, cdk: Cdk
) -> None:
    """The stacks are gone by now, and what they retained is not."""
    arn = account.stack_id(emulator, NAME)
    there = emulator.client("fsx").describe_file_systems()["FileSystems"]
    cdk.deploy_again(STACKS[0])
    assert account.outputs(emulator, STACKS[0])["FileSystemId"] not in {
        each["FileSystemId"] for each in there
    }
    assert emulator.client("s3").list_objects_v2(Bucket=bucket(emulator))["KeyCount"] == 0
    with pytest.raises(CdkError, match="already exists"):
        cdk.deploy_again(STACKS[1])
    emulator.client("ssm").delete_parameters(Names=parameters(cdk))
    with pytest.raises(CdkError, match="HeadNode > Networking > SubnetId"):
        cdk.deploy_again(STACKS[1])
    assert account.stack_id(emulator, NAME) == arn
    assert account.statuses(emulator, NAME) == ["UPDATE_COMPLETE"]
