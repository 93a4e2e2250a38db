"""``trainshed report``: what a person wants to know of a synthesised assembly."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .._assembly import AssemblyError, artifacts_of, metadata_of, read_object, reading
from .check import StackTemplate, stack_templates

# The resources that a person looks for, in the words that they use.
MAIN_RESOURCES = {
    "AWS::EC2::VPC": "VPC",
    "AWS::EC2::NatGateway": "NAT gateway",
    "AWS::EC2::VPCEndpoint": "VPC endpoint",
    "AWS::EC2::SecurityGroup": "security group",
    "AWS::EC2::CapacityReservation": "capacity reservation",
    "AWS::FSx::FileSystem": "FSx for Lustre file system",
    "AWS::FSx::DataRepositoryAssociation": "S3 link",
    "AWS::S3::Bucket": "S3 bucket",
    "Custom::TrainshedParallelCluster": "ParallelCluster cluster",
    "AWS::Lambda::Function": "function",
    "AWS::CloudWatch::Alarm": "alarm",
    "AWS::SNS::Topic": "topic",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("assembly", type=Path, metavar="DIR", help="such as cdk.out")


def run(options: argparse.Namespace) -> int:
    """Print stacks, main resources, warnings and the places of rendered files.

    Return 1 for what is no assembly, else 0.
    """
    try:
        lines = list(report(options.assembly))
    except AssemblyError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n".join(lines))
    return 0


def report(assembly: Path) -> Iterator[str]:
    """Yield the lines of the report.

    Raises:
        AssemblyError: The folder is no whole assembly.
    """
    templates = list(stack_templates(assembly))
    width = max((len(template.name) for template in templates), default=0)
    yield ""
    yield "Stacks"
    for template in templates:
        yield f"  {template.name:<{width}}  {_place(template)}  {_resources(template)}"
    warnings = list(_warnings(assembly))
    yield ""
    yield "Warnings" if warnings else "No warnings"
    yield from (f"  {warning}" for warning in warnings)
    rendered = sorted((assembly / "rendered").glob("*/[!.]*"))
    if rendered:
        yield ""
        yield "Rendered files"
        yield from (f"  {path}" for path in rendered)
    yield ""
    yield f"Deploy with: cdk deploy --app {assembly} --all"


def _place(template: StackTemplate) -> str:
    return f"{template.account or 'any account'} {template.region or 'any Region'}"


def _resources(template: StackTemplate) -> str:
    found = read_object(template.path)
    with reading(template.path):
        counts = Counter(resource["Type"] for resource in found["Resources"].values())
    main = [
        f"{counts[kind]} {word}{'s' if counts[kind] > 1 else ''}"
        for kind, word in MAIN_RESOURCES.items()
        if counts[kind]
    ]
    others = sum(counts.values()) - sum(counts[kind] for kind in MAIN_RESOURCES)
    return ", ".join([*main, f"{others} others"])


def _warnings(assembly: Path) -> Iterator[str]:
    for folder, artifact in artifacts_of(assembly):
        for path, kinds in metadata_of(folder, artifact).items():
            for warning in kinds.get("aws:cdk:warning", []):
                words = "a warning of no words" if warning is None else warning
                yield f"{path.lstrip('/')}: {words}"
