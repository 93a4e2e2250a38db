"""What the function that creates, updates and deletes a ParallelCluster cluster may do.

AWS publishes what ``pcluster`` needs: aws/aws-parallelcluster,
``cloudformation/policies/parallelcluster-policies.yaml`` (ParallelClusterClusterPolicy1 and 2,
DefaultParallelClusterIamAdminPolicy), read 2026-11-29. This is that, without what the clusters
made here never have (AWS Batch, EFS, EBS volumes, Elastic IPs, file systems of ParallelCluster's
own, image building), with every action written out and scoped to one cluster by name where the
names are known: those that ParallelCluster 3.16.1 gives, seen in the templates it renders.

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

# What pcluster and CloudFormation read of EC2. None of these takes a resource.


EC2_RESOURCES = [
    "capacity-reservation",
    "instance",
    "key-pair",
    "launch-template",
    "network-interface",
    "placement-group",
    "security-group",
    "subnet",
    "volume",
    "vpc",
]

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

    def iam(self, resource: str) -> list[str]:
        """Return the ARNs of the cluster's roles or instance profiles."""
        name = self.cluster_name
        kinds = (f"{resource}/parallelcluster/{name}/*", f"{resource}/parallelcluster/{name}-*")
        return [self.arn("iam", kind, region=False) for kind in kinds]


def ec2_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """Network interfaces, security groups, launch templates and the head node."""
    here = {"StringEquals": {"aws:RequestedRegion": scope.stack.region}}
    resources = [scope.arn("ec2", f"{kind}/*") for kind in EC2_RESOURCES]
    return [
        _allow("Ec2Read", actions.EC2_READ, ["*"], here),
        _allow(
            "Ec2Write",
            actions.EC2_WRITE,
            [
                *resources,
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
    # A wider pattern would take in the stack of the provider itself: kait-*.
    nested = ("ComputeFleet", "LoginNodes")
    stacks = [scope.arn("cloudformation", f"stack/{name}/*")]
    stacks += [scope.arn("cloudformation", f"stack/{name}-{part}*/*") for part in nested]
    tables = [
        scope.arn("dynamodb", f"table/{table}")
        for table in (f"parallelcluster-{name}", f"parallelcluster-slurm-{name}")
    ]
    bucket = scope.arn("s3", "parallelcluster-*-v1-do-not-delete", region=False, account=False)
    read = "DescribeStacks DescribeStackEvents DescribeStackResource DescribeStackResources"
    return [
        _allow(
            "StackWrite",
            ["cloudformation:CreateStack", "cloudformation:UpdateStack"],
            stacks,
            {"ForAnyValue:StringEquals": {"aws:TagKeys": [CLUSTER_TAG]}},
        ),
        _allow(
            "StackReadAndDelete",
            _actions("cloudformation", [*read.split(), "GetTemplate", "DeleteStack"]),
            stacks,
        ),
        _allow("Tables", actions.DYNAMODB, tables),
        _allow("ArtifactBucket", actions.S3_BUCKET, [bucket]),
        _allow("Artifacts", actions.S3_OBJECT, [f"{bucket}/*"]),
        # pcluster makes sure that each script and its bucket are there.
        _allow("Scripts", ["s3:GetObject"], scope.script_arns),
        _allow("ScriptBuckets", ["s3:ListBucket"], scope.script_bucket_arns),
    ]


def iam_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """The roles of nodes and of the cluster's own functions, and nobody else's."""
    roles, profiles = scope.iam("role"), scope.iam("instance-profile")
    boundary = scope.permissions_boundary_arn
    bounded = {"StringEquals": {"iam:PermissionsBoundary": boundary}} if boundary else {}
    write = "CreateRole PutRolePolicy DeleteRolePolicy"
    if boundary:
        write += " PutRolePermissionsBoundary"
    passed_to = {"iam:PassedToService": ["ec2.amazonaws.com", "lambda.amazonaws.com"]}
    linked = ["autoscaling.amazonaws.com", "elasticloadbalancing.amazonaws.com"]
    services = scope.arn("iam", "role/aws-service-role/*", region=False)
    return [
        _allow("RolesWrite", _actions("iam", write.split()), roles, bounded),
        _allow(
            "RolesKeep",
            _actions("iam", ["DeleteRole", "GetRole", "GetRolePolicy", "TagRole", "UntagRole"]),
            roles,
        ),
        _allow(
            "RolesAttach",
            ["iam:AttachRolePolicy"],
            roles,
            {"ArnEquals": {"iam:PolicyARN": list(scope.attachable_policy_arns)}, **bounded},
        ),
        # Of a policy that is no longer on the list, too.
        _allow("RolesDetach", ["iam:DetachRolePolicy"], roles),
        _allow("PoliciesRead", ["iam:GetPolicy"], scope.attachable_policy_arns),
        _allow("RolesPass", ["iam:PassRole"], roles, {"StringEqualsIfExists": passed_to}),
        _allow("Profiles", actions.INSTANCE_PROFILE, profiles),
        _allow(
            "LoginNodeServiceRoles",
            ["iam:CreateServiceLinkedRole"],
            [services],
            {"StringEquals": {"iam:AWSServiceName": linked}},
        ),
    ]


def service_statements(scope: Scope) -> list[iam.PolicyStatement]:
    """Logs, alarms, dashboard, names, functions and login nodes."""
    name = scope.cluster_name
    logs = [
        scope.arn("logs", f"log-group:{group}*")
        for group in (f"/aws/parallelcluster/{name}-", "/aws/lambda/pcluster-Cleanup")
    ]
    watched = [
        scope.arn("cloudwatch", f"alarm:{name}-*"),
        scope.arn("cloudwatch", f"dashboard/{name}-*", region=False),
    ]
    zones = [f"arn:{scope.stack.partition}:route53:::{kind}/*" for kind in ("hostedzone", "change")]
    functions = scope.arn("lambda", "function:pcluster-Cleanup*")
    groups = scope.arn("resource-groups", "group/*")
    file_systems = scope.arn("fsx", "file-system/*")
    statements = [
        _allow("Logs", actions.LOGS, logs),
        _allow("LogGroups", ["logs:DescribeLogGroups"], [scope.arn("logs", "log-group:*")]),
        _allow("Watch", actions.CLOUDWATCH, watched),
        _allow("Alarms", ["cloudwatch:DescribeAlarms"], [scope.arn("cloudwatch", "alarm:*")]),
        _allow("ZoneCreate", ["route53:CreateHostedZone"], ["*"]),
        _allow("Zones", actions.ROUTE53, zones),
        _allow("Functions", actions.LAMBDA, [functions]),
        _allow("FileSystems", ["fsx:DescribeFileSystems"], [file_systems]),
        _allow("ReservationGroups", actions.RESOURCE_GROUPS, [groups]),
        *_login_node_statements(scope),
    ]
    if scope.secret_arns:
        secret = _allow("Secrets", ["secretsmanager:DescribeSecret"], scope.secret_arns)
        statements.append(secret)
    return statements


def _login_node_statements(scope: Scope) -> list[iam.PolicyStatement]:
    name = scope.cluster_name
    groups = scope.arn("autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{name}-*")
    # CloudFormation names the load balancer after the nested stack, cut short.
    balancers = [
        scope.arn("elasticloadbalancing", f"{kind}/*")
        for kind in ("loadbalancer/net", "listener/net", "targetgroup")
    ]
    return [
        _allow("LoginGroups", actions.AUTOSCALING, [groups]),
        _allow("LoginBalancers", actions.BALANCER, balancers),
        _allow(
            "LoginRead",
            [
                *actions.AUTOSCALING_READ,
                *actions.BALANCER_READ,
            ],
            ["*"],
            {"StringEquals": {"aws:RequestedRegion": scope.stack.region}},
        ),
    ]


POLICIES: Mapping[str, Callable[[Scope], list[iam.PolicyStatement]]] = {
    "Ec2Policy": ec2_statements,
    "StackPolicy": stack_statements,
    "IamPolicy": iam_statements,
    "ServicePolicy": service_statements,
}
"""The managed policies of the function, by construct id: one would be above IAM's 6,144 letters."""


def _actions(service: str, names: Sequence[str], verb: str = "") -> list[str]:
    return [f"{service}:{verb}{name}" for name in names]


def _allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Mapping[str, Any] | None = None,
) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        sid=sid,
        actions=list(actions),
        resources=list(resources),
        conditions=dict(conditions) if conditions else None,
    )
