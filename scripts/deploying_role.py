#!/usr/bin/env python3
"""Print the policies of the role that CloudFormation deploys with, from the examples' templates.

Usage: deploying_role.py. The actions are those that AWS's own schema of each resource type says its
handlers call, as cfn-lint ships them. Each policy fits the 6,144 characters of a managed policy.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = ROOT / "tests" / "golden" / "templates"
MOST_CHARACTERS = 6144
_KINDS = ("create", "read", "update", "delete")
_REGION = "us-east-1"
# A type of the old kind, whose schema names no actions. Written from memory, to be checked against
# the Service Authorization Reference, "Amazon FSx", and by the first deployment with these rights.
BY_HAND: dict[str, tuple[str, ...]] = {
    "AWS::FSx::FileSystem": (
        "fsx:CreateFileSystem",
        "fsx:DeleteFileSystem",
        "fsx:DescribeFileSystems",
        "fsx:ListTagsForResource",
        "fsx:TagResource",
        "fsx:UntagResource",
        "fsx:UpdateFileSystem",
        "iam:CreateServiceLinkedRole",
        "kms:CreateGrant",
        "kms:DescribeKey",
        "logs:CreateLogStream",
        "logs:DescribeLogGroups",
        "logs:PutLogEvents",
    ),
}
# The schema of the type says only "Describe*" of other services.
BY_HAND["AWS::AutoScaling::AutoScalingGroup"] = (
    "autoscaling:CreateAutoScalingGroup",
    "autoscaling:CreateOrUpdateTags",
    "autoscaling:DeleteAutoScalingGroup",
    "autoscaling:DeleteTags",
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:UpdateAutoScalingGroup",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeSubnets",
    "ec2:RunInstances",
    "iam:CreateServiceLinkedRole",
    "iam:PassRole",
)
# Services that handlers call for properties that none of our templates has.
NOT_USED = {
    "elasticfilesystem",
    "firehose",
    "kinesis",
    "managed-fleets",
    "s3files",
    "s3tables",
    "vpc-lattice",
    "vpce",
}
# What CloudFormation does besides the handlers: custom resources, parameters and assets of the CDK.
ALWAYS = (
    "lambda:InvokeFunction",
    "s3:GetObject",
    "s3:GetObjectVersion",
    "ssm:GetParameters",
)
# Roles, profiles and policies are only those of our stacks, and pcluster's policies.
_OWN = ("*-foundation-*", "*-cluster-*", "parallelcluster/*")
_ROLE_KINDS = ("role", "policy", "instance-profile")


def resource_types(templates: Iterable[Mapping[str, Any]]) -> set[str]:
    """Return AWS's types that templates use."""
    found = {each["Type"] for template in templates for each in template["Resources"].values()}
    return {type for type in found if type.startswith("AWS::")}


def actions_of(type: str) -> set[str]:
    """Return the actions that a type's handlers call.

    Raises:
        ValueError: Its schema names none, and neither does this file.
    """
    if type in BY_HAND:
        return set(BY_HAND[type])
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(_REGION, type).schema
    handlers = schema.get("handlers")
    if not handlers:
        raise ValueError(f"the schema of {type} names no actions: add them to BY_HAND")
    return {
        action
        for kind in _KINDS
        for action in handlers.get(kind, {}).get("permissions", [])
        if ":" in action and "*" not in action and action.partition(":")[0] not in NOT_USED
    }


def statements(actions: Iterable[str]) -> list[dict[str, Any]]:
    """Return the statements for actions; those of IAM and of passing roles are bounded."""
    known = sorted(set(actions))
    bounded = [each for each in known if each.startswith("iam:") and "ServiceLinked" not in each]
    linked = [each for each in known if "ServiceLinked" in each]
    others = [each for each in known if not each.startswith("iam:")]
    own = [f"arn:aws:iam::*:{kind}/{name}" for kind in _ROLE_KINDS for name in _OWN]
    services = sorted({each.partition(":")[0] for each in others})
    return [
        {"Sid": "OwnRoles", "Effect": "Allow", "Action": bounded, "Resource": own},
        {
            "Sid": "ServiceRoles",
            "Effect": "Allow",
            "Action": linked,
            "Resource": "arn:aws:iam::*:role/aws-service-role/*",
        },
        *(
            {
                "Sid": service.title().replace("-", ""),
                "Effect": "Allow",
                "Action": [each for each in others if each.startswith(f"{service}:")],
                "Resource": "*",
            }
            for service in services
        ),
    ]


def policies(found: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield policies that hold statements in their order and are each short enough."""
    room: list[Mapping[str, Any]] = []
    for statement in found:
        if room and _size([*room, statement]) > MOST_CHARACTERS:
            yield {"Version": "2012-10-17", "Statement": room}
            room = []
        room = [*room, statement]
    yield {"Version": "2012-10-17", "Statement": room}


def _size(found: list[Mapping[str, Any]]) -> int:
    # IAM counts no blanks between the parts.
    text = json.dumps({"Version": "2012-10-17", "Statement": found}, separators=(",", ":"))
    return len(text)


def document() -> str:
    """Return the policies of the examples as one JSON text."""
    templates = [json.loads(path.read_text()) for path in sorted(TEMPLATES.glob("*.json"))]
    actions = {each for type in resource_types(templates) for each in actions_of(type)}
    return json.dumps(list(policies(statements(actions | set(ALWAYS)))), indent=1) + "\n"


if __name__ == "__main__":
    sys.stdout.write(document())
