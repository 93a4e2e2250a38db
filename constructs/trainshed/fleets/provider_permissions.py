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
from functools import cached_property
from typing import Any

from aws_cdk import Stack

from .._stacks import stack_facts
from . import provider_actions as actions
from .rights import Right

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
        permissions_boundary_arn: Boundary that every role of the cluster has; one with a wildcard
            stands for any that it matches. None: no boundary.
        managed_dns: Whether ParallelCluster keeps host names in a zone of Route 53.
    """

    stack: Stack
    cluster_name: str
    attachable_policy_arns: Sequence[str]
    script_bucket_arns: Sequence[str]
    script_arns: Sequence[str]
    secret_arns: Sequence[str] = ()
    permissions_boundary_arn: str | None = None
    managed_dns: bool = True

    @property
    def region(self) -> str:
        """Region of the cluster."""
        return self._place[1]

    def stacks(self) -> list[str]:
        """Return the cluster's stack and its nested ones, by their logical ids.

        ``kait-*`` would take in kait-foundation.
        """
        name = self.cluster_name
        return [
            self.arn("cloudformation", f"stack/{stack}/*")
            for stack in (name, f"{name}-ComputeFleet*", f"{name}-LoginNodes*")
        ]

    def log_groups(self) -> list[str]:
        """Return the cluster's log group and its streams; its name ends in twelve digits.

        ``full-*`` would take in those of a cluster full-h200.
        """
        name = f"/aws/parallelcluster/{self.cluster_name}-{'?' * 12}"
        return [self.arn("logs", f"log-group:{name}{end}") for end in ("", ":*")]

    def arn(self, service: str, resource: str, *, region: bool = True, account: bool = True) -> str:
        """Return an ARN in the provider's partition, Region and account."""
        partition, place, owner = self._place
        return (
            f"arn:{partition}:{service}:{place if region else ''}:{owner if account else ''}"
            f":{resource}"
        )

    def in_region(self) -> dict[str, Any]:
        """Return the condition of actions that take no resource."""
        return {"StringEquals": {"aws:RequestedRegion": self._place[1]}}

    @cached_property
    def _place(self) -> tuple[str, str, str]:
        facts = stack_facts(self.stack)
        return facts.partition, facts.region, facts.account


NO_RESOURCE = "EC2 lets these actions name no resource; the condition keeps them in the Region."
EC2_NAMES = (
    "EC2 gives the ids of what pcluster and CloudFormation make; the kinds, the account and the "
    "Region are fixed."
)
ONE_CLUSTER = "ParallelCluster and CloudFormation add random letters to the name of the cluster."
EACH_OWNER = "CloudFormation gives each stack of the name a random id."
A_LIST = "The call reads a list; it changes nothing."
CLEANUP_LOG = "/aws/lambda/pcluster-Cleanup"
# How CloudFormation cuts the name of a stack in the name of a role is not documented; this much is
# taken to stay.
UNCUT = 20
LINKED_SERVICES = ["autoscaling.amazonaws.com", "elasticloadbalancing.amazonaws.com"]


def ec2_rights(scope: Scope) -> list[Right]:
    """Network interfaces, security groups, launch templates and the head node."""
    kinds = [scope.arn("ec2", f"{kind}/*") for kind in actions.EC2_RESOURCES]
    image, group = scope.arn("ec2", "image/*", account=False), _reservation_groups(scope)
    tagged = {"StringEquals": {f"aws:ResourceTag/{CLUSTER_TAG}": scope.cluster_name}}
    instances = [scope.arn("ec2", "instance/*")]
    return [
        Right("Ec2Read", actions.EC2_READ, ["*"], NO_RESOURCE, scope.in_region()),
        Right("Ec2Write", actions.EC2_WRITE, [*kinds, image, group], EC2_NAMES),
        Right("Ec2Terminate", ["ec2:TerminateInstances"], instances, EC2_NAMES, tagged),
    ]


def stack_rights(scope: Scope) -> list[Right]:
    """The cluster's stack, its nested stacks, and what pcluster keeps in S3 and DynamoDB."""
    name = scope.cluster_name
    stacks = scope.stacks()
    # Whether a former owner of the cluster is gone, which was a stack of the same name.
    outer = [scope.arn("cloudformation", f"stack/{scope.stack.stack_name}/*")]
    tables = [
        scope.arn("dynamodb", f"table/parallelcluster-{table}") for table in (name, f"slurm-{name}")
    ]
    bucket = scope.arn("s3", "parallelcluster-*-v1-do-not-delete", region=False, account=False)
    hashed = "pcluster makes one bucket an account and Region; a hash of the two is in its name."
    tagged = {"ForAnyValue:StringEquals": {"aws:TagKeys": [CLUSTER_TAG]}}
    return [
        Right("StackWrite", actions.STACK_WRITE, stacks, ONE_CLUSTER, tagged),
        Right("StackReadAndDelete", actions.STACK_READ_AND_DELETE, stacks, ONE_CLUSTER),
        Right("OwnersRead", ["cloudformation:DescribeStacks"], outer, EACH_OWNER),
        Right("Tables", actions.DYNAMODB, tables),
        Right("ArtifactBucket", actions.S3_BUCKET, [bucket], hashed),
        Right("Artifacts", actions.S3_OBJECT, [f"{bucket}/*"], hashed),
        # pcluster makes sure that each script and its bucket are there.
        Right("Scripts", ["s3:GetObject"], scope.script_arns),
        Right("ScriptBuckets", ["s3:ListBucket"], scope.script_bucket_arns),
    ]


def iam_rights(scope: Scope) -> list[Right]:
    """The roles of nodes and of the cluster's own functions, and nobody else's."""
    name, boundary = scope.cluster_name, scope.permissions_boundary_arn
    roles = [
        scope.arn("iam", f"role/parallelcluster/{end}", region=False)
        for end in (f"{name}/*", *_function_roles(name))
    ]
    profiles = [scope.arn("iam", f"instance-profile/parallelcluster/{name}/*", region=False)]
    likeness = "StringLike" if boundary and "*" in boundary else "StringEquals"
    bounded = {likeness: {"iam:PermissionsBoundary": boundary}} if boundary else {}
    write = (*actions.ROLE_WRITE, *(["iam:PutRolePermissionsBoundary"] if boundary else []))
    read = [*scope.attachable_policy_arns, *([boundary] if boundary else [])]
    attachable = {"ArnEquals": {"iam:PolicyARN": list(scope.attachable_policy_arns)}, **bounded}
    passed = {"iam:PassedToService": ["ec2.amazonaws.com", "lambda.amazonaws.com"]}
    linked = {"iam:AWSServiceName": LINKED_SERVICES}
    return [
        Right("RoleWrite", write, roles, ONE_CLUSTER, bounded),
        Right("RoleKeep", actions.ROLE_KEEP, roles, ONE_CLUSTER),
        Right("RoleAttach", ["iam:AttachRolePolicy"], roles, ONE_CLUSTER, attachable),
        # Also of a policy that has left the list.
        Right("RoleDetach", ["iam:DetachRolePolicy"], roles, ONE_CLUSTER),
        Right("RolePass", ["iam:PassRole"], roles, ONE_CLUSTER, {"StringEqualsIfExists": passed}),
        Right("PolicyRead", ["iam:GetPolicy"], read, ONE_CLUSTER if "*" in str(boundary) else ""),
        Right("Profiles", actions.INSTANCE_PROFILE, profiles, ONE_CLUSTER),
        Right(
            "LoginServiceRoles",
            ["iam:CreateServiceLinkedRole"],
            [scope.arn("iam", "role/aws-service-role/*", region=False)],
            "AWS names the role; the condition names the two services.",
            {"StringEquals": linked},
        ),
    ]


def service_rights(scope: Scope) -> list[Right]:
    """Logs, alarms, dashboard, host names and functions."""
    name = scope.cluster_name
    logs = [*scope.log_groups(), scope.arn("logs", f"log-group:{CLEANUP_LOG}*")]
    watched = [
        scope.arn("cloudwatch", f"alarm:{name}-HeadNode"),
        scope.arn("cloudwatch", f"alarm:{name}-HeadNode-*"),
        scope.arn("cloudwatch", f"dashboard/{name}-{scope.region}", region=False),
    ]
    alarms = [scope.arn("cloudwatch", "alarm:*")]
    functions = [scope.arn("lambda", "function:pcluster-Cleanup*")]
    return [
        Right("Logs", actions.LOGS, logs, ONE_CLUSTER),
        Right("LogGroups", ["logs:DescribeLogGroups"], [scope.arn("logs", "log-group:*")], A_LIST),
        Right("Watch", actions.CLOUDWATCH, watched, ONE_CLUSTER),
        Right("Alarms", ["cloudwatch:DescribeAlarms"], alarms, A_LIST),
        Right("Functions", actions.LAMBDA, functions, "The id of the stack ends the name."),
        Right(
            "FileSystems", ["fsx:DescribeFileSystems"], [scope.arn("fsx", "file-system/*")], A_LIST
        ),
        Right("ReservationGroups", actions.RESOURCE_GROUPS, [_reservation_groups(scope)], A_LIST),
        *_zone_rights(scope),
        *_secret_rights(scope),
    ]


def login_node_rights(scope: Scope) -> list[Right]:
    """Login nodes: an Auto Scaling group behind a network load balancer."""
    name = scope.cluster_name
    groups = [
        scope.arn(
            "autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{name}-*-AutoScalingGroup"
        )
    ]
    balancers = [
        scope.arn("elasticloadbalancing", f"{kind}/*")
        for kind in ("loadbalancer/net", "listener/net", "targetgroup")
    ]
    cut = "CloudFormation names the load balancer after the nested stack, cut short."
    read = (*actions.AUTOSCALING_READ, *actions.BALANCER_READ)
    return [
        Right("LoginGroups", actions.AUTOSCALING, groups, ONE_CLUSTER),
        Right("LoginBalancers", actions.BALANCER, balancers, cut),
        Right("LoginRead", read, ["*"], A_LIST, scope.in_region()),
    ]


RIGHTS: Mapping[str, Callable[[Scope], list[Right]]] = {
    "Ec2Policy": ec2_rights,
    "StackPolicy": stack_rights,
    "IamPolicy": iam_rights,
    "ServicePolicy": service_rights,
    "LoginNodePolicy": login_node_rights,
}
"""The function's managed policies, by construct id; IAM takes 6,144 characters in each."""


def _function_roles(cluster_name: str) -> list[str]:
    """Return the roles of the cluster's own functions, which are not in a path of their own.

    CloudFormation cuts a name to the 64 characters that IAM takes, of a long stack name too.
    """
    start = cluster_name if len(cluster_name) <= UNCUT else f"{cluster_name[:UNCUT]}*"
    return [f"{start}-{function}*" for function in ("CleanupResources", "CleanupRoute53")]


def _zone_rights(scope: Scope) -> list[Right]:
    """The cluster's zone, not its records, which its own functions write."""
    if not scope.managed_dns:
        return []
    zones = [
        scope.arn("route53", f"{kind}/*", region=False, account=False)
        for kind in ("hostedzone", "change")
    ]
    why = "Route 53 gives zones and changes their ids, and deletes no zone that has records."
    return [
        Right("ZoneCreate", ["route53:CreateHostedZone"], ["*"], "The action names no resource."),
        Right("Zones", actions.ROUTE53, zones, why),
    ]


def _secret_rights(scope: Scope) -> list[Right]:
    describe = ["secretsmanager:DescribeSecret"]
    return [Right("Secrets", describe, scope.secret_arns)] if scope.secret_arns else []


def _reservation_groups(scope: Scope) -> str:
    return scope.arn("resource-groups", "group/*")
