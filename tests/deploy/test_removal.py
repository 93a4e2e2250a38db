"""What a destroy leaves, to the last resource, and what a second deploy makes of it."""

from __future__ import annotations

import json

import pytest

from tests.deploy import account
from tests.deploy.cdk import Cdk, CdkError, of
from tests.deploy.emulator.process import ROOT, Emulator
from tests.deploy.institutions import small
from tests.deploy.remains import Remains, documented

NAME = "leaving"
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


@pytest.fixture(scope="module")
def remains(emulator: Emulator) -> Remains:
    """What the account had, and what is to stay."""
    return Remains(emulator)


@pytest.fixture(scope="module")
def cdk(emulator: Emulator, remains: Remains, tmp_path_factory: pytest.TempPathFactory) -> Cdk:
    """The command line over an institution that is deployed, with an object in its bucket."""
    cdk = of(emulator, tmp_path_factory.mktemp(NAME), DOCUMENT)
    cdk.deploy()
    emulator.client("s3").put_object(Bucket=bucket(emulator), Key="data/one", Body=b"1")
    return cdk


def test_the_documented_types_are_those_that_the_examples_retain() -> None:
    retained = {
        str(each["Type"])
        for path in sorted((ROOT / "tests" / "golden" / "templates").glob("*.json"))
        for each in json.loads(path.read_text())["Resources"].values()
        if each.get("DeletionPolicy", "").startswith("Retain")
    }
    assert documented() == retained


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
    emulator: Emulator, cdk: Cdk, remains: Remains
) -> None:
    arn = account.stack_id(emulator, NAME)
    remains.note(cdk, STACKS[1])
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
    emulator: Emulator, cdk: Cdk, remains: Remains
) -> None:
    """Of two stacks of the cluster, since the first one was destroyed already."""
    data = bucket(emulator)
    remains.note(cdk, *STACKS)
    cdk.destroy()
    assert remains.left == remains.expected
    assert remains.types <= documented()
    reservations = [id for id in remains.retained if id.startswith("cr-")]
    assert len(reservations) == 2
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
