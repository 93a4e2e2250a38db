"""What the function that creates, updates and deletes a ParallelCluster cluster may do.

The policies that AWS publishes for ``pcluster`` (see ``provider_actions``), without what clusters
made here never have: AWS Batch, EFS, EBS volumes, Elastic IPs, file systems of ParallelCluster's
own, image building. Each action is scoped to one cluster wherever the names are known: those that
ParallelCluster 3.16.1 gives, seen in the templates that it renders.

pcluster hands CloudFormation no role, so what CloudFormation does is done with these rights too.
Nothing here follows from whether the fleet has login nodes and the like: the update that takes
them away needs their rights as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from . import provider_actions as actions

CLUSTER_TAG = "parallelcluster:cluster-name"


@dataclass(frozen=True)
class Scope:
    """The cluster that permissions are for.

    Args:
        stack: Stack of the provider; the cluster is made in its account and Region.
        cluster_name: Name of the cluster, and of the stack that ParallelCluster makes.
        attachable_policy_arns: Managed policies that its nodes may have.
        script_bucket_arns: Buckets of node scripts.
        script_arns: Node scripts, which pcluster looks for.
        secret_arns: Secrets of the configuration, which pcluster looks for.
        permissions_boundary_arn: Boundary that every role of the cluster has. None: no boundary.
    """

    stack: Stack
    cluster_name: str
    attachable_policy_arns: Sequence[str]
    script_bucket_arns: Sequence[str]
    script_arns: Sequence[str]
    secret_arns: Sequence[str] = ()
    permissions_boundary_arn: str | None = None

    def arn(self, service: str, resource: str, *, region: bool = True, account: bool = True) -> str:
        """Return an ARN in the provider's partition, Region and account."""
        place = self.stack.region if region else ""
        owner = self.stack.account if account else ""
        return f"arn:{self.stack.partition}:{service}:{place}:{owner}:{resource}"

    def in_region(self) -> dict[str, Any]:
        """Return the condition of actions that take no resource."""
        return {"StringEquals": {"aws:RequestedRegion": self.stack.region}}


def ec2_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """Network interfaces, security groups, launch templates and the head node."""
    kinds = [scope.arn("ec2", f"{kind}/*") for kind in actions.EC2_RESOURCES]
    return [
        _allow("Ec2Read", actions.EC2_READ, ["*"], scope.in_region()),
        _allow(
            "Ec2Write",
            actions.EC2_WRITE,
            [
                *kinds,
                scope.arn("ec2", "image/*", account=False),
                scope.arn("resource-groups", "group/*"),
            ],
        ),
        _allow(
            "Ec2Terminate",
            ["ec2:TerminateInstances"],
            [scope.arn("ec2", "instance/*")],
            {"StringEquals": {f"aws:ResourceTag/{CLUSTER_TAG}": scope.cluster_name}},
        ),
    ]


def stack_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """The cluster's stack, its nested stacks, and what pcluster keeps in S3 and DynamoDB."""
    name = scope.cluster_name
    # Nested stacks by their logical ids: kait-* would take in kait-foundation.
    stacks = [
        scope.arn("cloudformation", f"stack/{stack}/*")
        for stack in (name, f"{name}-ComputeFleet*", f"{name}-LoginNodes*")
    ]
    tables = [
        scope.arn("dynamodb", f"table/parallelcluster-{table}") for table in (name, f"slurm-{name}")
    ]
    # The hash in the middle is of the account and the Region.
    bucket = scope.arn("s3", "parallelcluster-*-v1-do-not-delete", region=False, account=False)
    return [
        _allow(
            "StackWrite",
            actions.STACK_WRITE,
            stacks,
            {"ForAnyValue:StringEquals": {"aws:TagKeys": [CLUSTER_TAG]}},
        ),
        _allow("StackReadAndDelete", actions.STACK_READ_AND_DELETE, stacks),
        _allow("Tables", actions.DYNAMODB, tables),
        _allow("ArtifactBucket", actions.S3_BUCKET, [bucket]),
        _allow("Artifacts", actions.S3_OBJECT, [f"{bucket}/*"]),
        # pcluster makes sure that each script and its bucket are there.
        _allow("Scripts", ["s3:GetObject"], scope.script_arns),
        _allow("ScriptBuckets", ["s3:ListBucket"], scope.script_bucket_arns),
    ]


def iam_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """The roles of nodes and of the cluster's own functions, and nobody else's."""
    name, boundary = scope.cluster_name, scope.permissions_boundary_arn
    roles = [
        scope.arn("iam", f"role/parallelcluster/{name}{end}", region=False) for end in ("/*", "-*")
    ]
    profiles = [scope.arn("iam", f"instance-profile/parallelcluster/{name}/*", region=False)]
    bounded = {"StringEquals": {"iam:PermissionsBoundary": boundary}} if boundary else {}
    write = (*actions.ROLE_WRITE, *(["iam:PutRolePermissionsBoundary"] if boundary else []))
    passed_to = {"iam:PassedToService": ["ec2.amazonaws.com", "lambda.amazonaws.com"]}
    linked = ["autoscaling.amazonaws.com", "elasticloadbalancing.amazonaws.com"]
    attachable = list(scope.attachable_policy_arns)
    return [
        _allow("RoleWrite", write, roles, bounded),
        _allow("RoleKeep", actions.ROLE_KEEP, roles),
        _allow(
            "RoleAttach",
            ["iam:AttachRolePolicy"],
            roles,
            {"ArnEquals": {"iam:PolicyARN": attachable}, **bounded},
        ),
        # Also of a policy that has left the list.
        _allow("RoleDetach", ["iam:DetachRolePolicy"], roles),
        _allow("RolePass", ["iam:PassRole"], roles, {"StringEqualsIfExists": passed_to}),
        _allow("PolicyRead", ["iam:GetPolicy"], attachable),
        _allow("Profiles", actions.INSTANCE_PROFILE, profiles),
        _allow(
            "LoginServiceRoles",
            ["iam:CreateServiceLinkedRole"],
            [scope.arn("iam", "role/aws-service-role/*", region=False)],
            {"StringEquals": {"iam:AWSServiceName": linked}},
        ),
    ]


def service_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """Logs, alarms, dashboard, host names and functions."""
    name = scope.cluster_name
    log_groups = [
        scope.arn("logs", f"log-group:{group}*")
        for group in (f"/aws/parallelcluster/{name}-", "/aws/lambda/pcluster-Cleanup")
    ]
    watched = [
        scope.arn("cloudwatch", f"alarm:{name}-*"),
        scope.arn("cloudwatch", f"dashboard/{name}-*", region=False),
    ]
    zones = [
        scope.arn("route53", f"{kind}/*", region=False, account=False)
        for kind in ("hostedzone", "change")
    ]
    functions = scope.arn("lambda", "function:pcluster-Cleanup*")
    groups = scope.arn("resource-groups", "group/*")
    statements = [
        _allow("Logs", actions.LOGS, log_groups),
        _allow("LogGroups", ["logs:DescribeLogGroups"], [scope.arn("logs", "log-group:*")]),
        _allow("Watch", actions.CLOUDWATCH, watched),
        _allow("Alarms", ["cloudwatch:DescribeAlarms"], [scope.arn("cloudwatch", "alarm:*")]),
        _allow("ZoneCreate", ["route53:CreateHostedZone"], ["*"]),
        _allow("Zones", actions.ROUTE53, zones),
        _allow("Functions", actions.LAMBDA, [functions]),
        _allow("FileSystems", ["fsx:DescribeFileSystems"], [scope.arn("fsx", "file-system/*")]),
        _allow("ReservationGroups", actions.RESOURCE_GROUPS, [groups]),
    ]
    if scope.secret_arns:
        statements.append(
            _allow("Secrets", ["secretsmanager:DescribeSecret"], list(scope.secret_arns))
        )
    return statements


def login_node_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """Login nodes: an Auto Scaling group behind a network load balancer."""
    name = scope.cluster_name
    groups = scope.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{name}-*")
    # CloudFormation names the load balancer after the nested stack, cut short.
    balancers = [
        scope.arn("elasticloadbalancing", f"{kind}/*")
        for kind in ("loadbalancer/net", "listener/net", "targetgroup")
    ]
    read = (*actions.AUTOSCALING_READ, *actions.BALANCER_READ)
    return [
        _allow("LoginGroups", actions.AUTOSCALING, [groups]),
        _allow("LoginBalancers", actions.BALANCER, balancers),
        _allow("LoginRead", read, ["*"], scope.in_region()),
    ]


POLICIES: Mapping[str, Callable[[Scope], list[iam.PolicyStatement]]] = {
    "Ec2Policy": ec2_statements,
    "StackPolicy": stack_statements,
    "IamPolicy": iam_statements,
    "ServicePolicy": service_statements,
    "LoginNodePolicy": login_node_statements,
}
"""The function's managed policies, by construct id; IAM takes 6,144 characters in each."""


def _allow(
    sid: str,
    names: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, Any] | None = None,
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        actions=list(names),
        resources=list(resources),
        conditions=dict(conditions) if conditions else None,
    )
