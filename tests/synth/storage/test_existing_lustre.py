"""A file system that is there already: connected, mounted, linked, granted, measured."""

from __future__ import annotations

from typing import Any, cast

import aws_cdk as cdk
import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from trainshed.config.storage import S3Link
from trainshed.storage import LustreStorage

ID = "fs-0123456789abcdef0"
DNS = f"{ID}.fsx.us-east-1.amazonaws.com"


class Imported:
    """A stack in which everything is imported."""

    def __init__(self) -> None:
        self.stack = cdk.Stack(cdk.App(), "Foreign")
        self.servers = ec2.SecurityGroup.from_security_group_id(
            self.stack, "Servers", "sg-0123456789abcdef0"
        )
        self.nodes = ec2.SecurityGroup.from_security_group_id(
            self.stack, "Nodes", "sg-0123456789abcdef1"
        )
        self.bucket = s3.Bucket.from_bucket_name(self.stack, "Data", "lab-data")

    def storage(
        self, *, links: dict[str, S3Link] | None = None, efa: bool = False, **more: Any
    ) -> LustreStorage:
        given: dict[str, Any] = {
            "file_system_id": ID,
            "dns_name": DNS,
            "mount_name": "abcdef01",
            "security_group": self.servers,
            "efa": efa,
            "capacity_gib": 2400,
            "bucket": self.bucket,
            "links": links or {},
            **more,
        }
        return LustreStorage.from_attributes(self.stack, "Storage", **given)

    def template(self) -> Template:
        return Template.from_stack(self.stack)


@pytest.fixture
def imported() -> Imported:
    return Imported()


def test_it_makes_nothing_by_itself(imported: Imported) -> None:
    imported.storage()
    assert "Resources" not in imported.template().to_json()


def test_nodes_can_mount_it(imported: Imported) -> None:
    storage = imported.storage()
    assert storage.mount_source == f"{DNS}@tcp:/abcdef01"
    assert (storage.mount_dir, storage.capacity_gib, storage.log_group) == ("/fsx", 2400, None)


@pytest.mark.parametrize(("efa", "count"), [(False, 4), (True, 2)], ids=["tcp", "efa"])
def test_nodes_can_be_let_in(imported: Imported, efa: bool, count: int) -> None:
    imported.storage(efa=efa).add_client("Node", imported.nodes)
    imported.template().resource_count_is("AWS::EC2::SecurityGroupIngress", count)
    imported.template().resource_count_is("AWS::EC2::SecurityGroupEgress", count)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param({}, "Delete", id="by default"),
        pytest.param(
            {"removal_policy": cdk.RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE},
            "RetainExceptOnCreate",
            id="kept",
        ),
    ],
)
def test_rules_for_nodes_are_kept_only_when_asked_for(
    imported: Imported, given: dict[str, Any], expected: str
) -> None:
    imported.storage(**given).add_client("Node", imported.nodes)
    resources = imported.template().to_json()["Resources"].values()
    assert {resource["DeletionPolicy"] for resource in resources} == {expected}


def test_it_can_be_connected(imported: Imported) -> None:
    storage = imported.storage()
    imported.nodes.connections.allow_to_default_port(storage)
    imported.template().has_resource_properties(
        "AWS::EC2::SecurityGroupIngress",
        {"GroupId": "sg-0123456789abcdef0", "FromPort": 988, "ToPort": 1023},
    )


def test_it_can_be_linked_to_the_bucket_and_to_others(imported: Imported) -> None:
    storage = imported.storage(
        links={
            "Own": S3Link(path="/own", prefix="own/", direction="both"),
            "Other": S3Link(path="/o", prefix="", direction="import", bucket="other-data"),
        }
    )
    assert set(storage.associations) == {"Own", "Other"}
    for path, bucket in (("/own", "s3://lab-data/own/"), ("/o", "s3://other-data/")):
        imported.template().has_resource_properties(
            "AWS::FSx::DataRepositoryAssociation",
            {"FileSystemId": ID, "FileSystemPath": path, "DataRepositoryPath": bucket},
        )
    imported.template().resource_count_is("AWS::FSx::FileSystem", 0)


def test_its_bucket_can_be_granted(imported: Imported) -> None:
    role = iam.Role(imported.stack, "Role", assumed_by=iam.ServicePrincipal("ec2.amazonaws.com"))
    imported.storage().grant_read(role)
    imported.template().resource_count_is("AWS::IAM::Policy", 1)


def test_it_is_measured(imported: Imported) -> None:
    metric = imported.storage().metric_free_data_storage()
    assert metric.namespace == "AWS/FSx"
    assert metric.dimensions == {"FileSystemId": ID}


def test_what_is_not_told_of_it_is_named(imported: Imported) -> None:
    with pytest.raises(ValueError) as refused:
        imported.storage(dns_name=None, security_group=None)
    assert str(refused.value) == (
        "dns_name and security_group are None, and none is made in their place; pass them"
    )
    with pytest.raises(ValueError, match=r"^security_group is None, and none is made in its place"):
        imported.storage().add_client("Node", cast(Any, None))


def test_faults_are_told_at_once(imported: Imported) -> None:
    with pytest.raises(ValueError) as refused:
        LustreStorage.from_attributes(
            imported.stack,
            "Storage",
            file_system_id=ID,
            dns_name=DNS,
            mount_name="abcdef01",
            security_group=imported.servers,
            mount_dir="/usr",
            links={
                "In": S3Link(path="/in", prefix="in/", direction="import", export_deletions=True)
            },
        )
    assert str(refused.value).splitlines() == [
        "mount_dir: /usr belongs to the system; use another, such as /fsx",
        "links.In.export_deletions: is for links that export, and direction is import; "
        "leave it out",
    ]
