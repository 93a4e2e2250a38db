"""Which properties CloudFormation cannot change in place, and which resources hold something.

The first comes from AWS's own resource schemas, as cfn-lint ships them. A resource of the old kind
has no complete schema: what its documentation says stands here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from .values import Path, at

# CloudFormation's documentation of the resource ("Update requires: Replacement"), as the CDK's
# database of it has them (aws-cdk 2.1148.1), and beside them what FSx's UpdateFileSystem does not
# take (botocore 1.44.8); both read 2026-11-29. tests/peers compares.
DOCUMENTED: dict[str, tuple[Path, ...]] = {
    "AWS::FSx::FileSystem": (
        ("FileSystemTypeVersion",),
        ("StorageType",),
        ("LustreConfiguration", "CopyTagsToBackups"),
        ("LustreConfiguration", "DeploymentType"),
        ("LustreConfiguration", "DriveCacheType"),
        ("LustreConfiguration", "EfaEnabled"),
        ("LustreConfiguration", "ExportPath"),
        ("LustreConfiguration", "ImportPath"),
        ("LustreConfiguration", "ImportedFileChunkSize"),
        ("LustreConfiguration", "PerUnitStorageThroughput"),
    ),
    # Newer than the schemas of cfn-lint 1.58.
    "AWS::RDS::DBCluster": (("WithExpressConfiguration",),),
}

# What holds data that jobs and people work with.
DATA = {
    "AWS::FSx::FileSystem": "file system",
    "AWS::FSx::Volume": "file system volume",
    "AWS::EFS::FileSystem": "file system",
    "AWS::S3::Bucket": "bucket",
    "AWS::EC2::Volume": "volume",
    "AWS::RDS::DBInstance": "database",
    "AWS::RDS::DBCluster": "database",
    "AWS::RDS::GlobalCluster": "database",
    "AWS::DocDB::DBCluster": "database",
    "AWS::Neptune::DBCluster": "database",
    "AWS::DynamoDB::Table": "table",
    "AWS::DynamoDB::GlobalTable": "table",
    "AWS::S3Express::DirectoryBucket": "bucket",
    "AWS::ECR::Repository": "image repository",
    "AWS::FSx::StorageVirtualMachine": "file server",
    "AWS::Backup::BackupVault": "backup vault",
}
# What cannot be had again either, but is missed less.
KEPT = {
    "AWS::EC2::CapacityReservation": "capacity reservation",
    "AWS::KMS::Key": "key",
    "AWS::Logs::LogGroup": "log group",
    "AWS::SecretsManager::Secret": "secret",
}
STATEFUL = DATA | KEPT
# What stores nothing under a key, or writes nothing to a log, that is worth more than itself.
_GRANTS = {
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::KMS::Alias",
    "AWS::Lambda::Permission",
}
PASSING = {
    "AWS::KMS::Key": (
        {"AWS::SNS::Topic", "AWS::SQS::Queue"},
        "The key goes. Only messages on their way were encrypted with it, nothing that is stored.",
    ),
    "AWS::Logs::LogGroup": (
        {"AWS::Lambda::Function"},
        "The log of a function is deleted.",
    ),
}
"""Whose keys and logs are missed by nobody, and what is said of them."""
RETAINING = ("Retain", "RetainExceptOnCreate", "Snapshot")


def is_retaining(policy: Any) -> bool:
    """Tell whether a deletion policy keeps the resource, or what it holds."""
    return policy in RETAINING


def data_in(resource: Mapping[str, Any]) -> str | None:
    """Return what holds data in a resource, as a noun; None where it holds none, or it expires."""
    return None if _holds_nothing(resource) else DATA.get(resource["Type"])


def state_in(resource: Mapping[str, Any]) -> str | None:
    """Return what cannot be had again in a resource, as a noun; None where all of it can."""
    return None if _holds_nothing(resource) else STATEFUL.get(resource["Type"])


def passing(resource_type: str, users: Collection[str]) -> str | None:
    """Return what to say of a key or log that serves nothing lasting; None where it may.

    Args:
        resource_type: Type of the key or log.
        users: Types of what points to it.
    """
    if resource_type not in PASSING:
        return None
    of, words = PASSING[resource_type]
    served = set(users) - _GRANTS
    return words if served and served <= of else None


def _holds_nothing(resource: Mapping[str, Any]) -> bool:
    """Tell whether it is of a kind with data, but holds what expires, or others hold it."""
    properties = resource.get("Properties", {})
    expires = at(properties, ("TimeToLiveSpecification", "Enabled"))
    # Aurora's data is in the cluster.
    return bool(expires or properties.get("DBClusterIdentifier"))


class MissingSchemasError(Exception):
    """cfn-lint is not there; without its schemas nobody knows what a change replaces."""


@cache
def replacing_paths(resource_type: str, region: str) -> tuple[tuple[Path, bool], ...]:
    """Return the properties whose change makes a new resource, and whether it only may.

    Raises:
        MissingSchemasError: cfn-lint is not installed.
    """
    schema = _schema(resource_type, region)
    found = [(_path(pointer), False) for pointer in schema.get("createOnlyProperties", [])]
    maybe = schema.get("conditionalCreateOnlyProperties", [])
    found += [(_path(pointer), True) for pointer in maybe]
    found += [(path, False) for path in DOCUMENTED.get(resource_type, ())]
    return tuple(found)


def _schema(resource_type: str, region: str) -> dict[str, Any]:
    try:
        from cfnlint.schema import ResourceNotFoundError
        from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER as SCHEMAS
    except ImportError as error:
        raise MissingSchemasError(
            "cfn-lint is not installed, and it has AWS's resource schemas: "
            "pip install 'trainshed[review]'"
        ) from error
    for place in (region, "us-east-1"):
        try:
            found: dict[str, Any] = SCHEMAS.get_resource_schema(place, resource_type).schema
            return found
        except (KeyError, ResourceNotFoundError):
            # A Region newer than this cfn-lint, or a type that the Region does not have.
            continue
    return {}


def _path(pointer: str) -> Path:
    """Return the keys of ``/properties/A/B``; what is inside a list counts as the list."""
    keys = [key for key in pointer.strip("/").split("/") if key != "properties"]
    return tuple(keys[: keys.index("*")] if "*" in keys else keys)
