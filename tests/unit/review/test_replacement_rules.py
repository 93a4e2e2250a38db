"""Which properties make a new resource: our rules beside those of others."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.session
import pytest

from tests.unit.review.assemblies import ROOT, TEMPLATES
from trainshed.review.replacement import DOCUMENTED, STATEFUL, replacing_paths

# Where the resource schema (which CloudFormation itself works by) and the older documentation of
# the resource differ, and why the schema is right.
SCHEMA_KNOWS_BETTER = {
    (
        "AWS::EC2::CapacityReservation",
        "InstanceMatchCriteria",
    ): "EC2 can modify it",
    ("AWS::EC2::CapacityReservation", "TagSpecifications"): "the schema says tagUpdatable",
    ("AWS::EC2::EIP", "Domain"): "there is one domain, vpc",
    ("AWS::RDS::DBInstance", "Port"): "RDS can modify it",
    ("AWS::S3::Bucket", "ObjectLockEnabled"): "S3 turns it on for buckets that exist",
}


def types() -> set[str]:
    """What the example institutions have of what holds data, and of the network under it."""
    found = {
        resource["Type"]
        for path in TEMPLATES.glob("*.json")
        for resource in json.loads(path.read_text())["Resources"].values()
    }
    return {each for each in found if each in STATEFUL or each.startswith("AWS::EC2::")}


def documented() -> Iterator[tuple[str, str]]:
    """Yield type and property of what the CDK command line takes for a replacement."""
    path = ROOT / "node_modules" / "aws-cdk" / "db.json.gz"
    schema = json.loads(gzip.decompress(path.read_bytes()))["schema"]
    definitions = {each["$id"]: each for each in schema["typeDefinition"]["entities"]}
    wanted = types()
    for resource in schema["resource"]["entities"]:
        if resource["cloudFormationType"] in wanted:
            for name in _replacing(resource["properties"], definitions, "", frozenset()):
                yield resource["cloudFormationType"], name


def _replacing(
    properties: Mapping[str, Any], definitions: Mapping[str, Any], path: str, seen: frozenset[str]
) -> Iterator[str]:
    for name, each in properties.items():
        if each.get("causesReplacement") == "yes":
            yield path + name
            continue
        for id in set(_references(each)) - seen:
            inner = definitions[id]["properties"]
            yield from _replacing(inner, definitions, f"{path}{name}.", seen | {id})


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if node.get("type") == "ref":
            yield str(node["reference"]["$ref"])
        for child in node.values():
            yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


@pytest.mark.slow
def test_we_know_every_replacement_that_the_cdk_command_line_knows() -> None:
    unknown = []
    for resource_type, name in documented():
        ours = {".".join(path) for path, _ in replacing_paths(resource_type, "us-east-1")}
        above = {name, *(name[:at] for at, letter in enumerate(name) if letter == ".")}
        other_file_system = name.startswith(("Ontap", "OpenZFS", "Windows"))
        if not above & ours and not other_file_system:
            unknown.append((resource_type, name))
    assert set(unknown) == set(SCHEMA_KNOWS_BETTER)


def test_what_fsx_cannot_update_is_replaced() -> None:
    service: Any = botocore.session.get_session().get_service_model("fsx")
    shapes = [
        service.operation_model(name).input_shape.members["LustreConfiguration"].members
        for name in ("CreateFileSystem", "UpdateFileSystem")
    ]
    only_at_creation = set(shapes[0]) - set(shapes[1])
    ours = {path[1] for path in DOCUMENTED["AWS::FSx::FileSystem"] if len(path) == 2}
    assert only_at_creation <= ours


def test_a_place_without_a_schema_of_its_own_has_that_of_virginia() -> None:
    assert (("BucketName",), False) in replacing_paths("AWS::S3::Bucket", "xx-nowhere-1")


def test_a_type_that_nobody_knows_replaces_nothing() -> None:
    assert replacing_paths("Vendor::Own::Thing", "us-east-1") == ()
