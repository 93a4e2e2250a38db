"""The most that any role of a ParallelCluster cluster may ever do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jsii
from aws_cdk import IStableAnyProducer, Lazy, RemovalPolicy
from aws_cdk import aws_iam as iam
from constructs import Construct

from .._stacks import stack_facts
from .node_policies import LISTED_AT_BUCKETS, NodePolicies, policy_path
from .provider_acknowledgments import acknowledge_wildcards
from .provider_permissions import A_LIST, CLEANUP_LOG, CLUSTER_TAG, ONE_CLUSTER, Scope
from .rights import Right

NO_BOUNDARY = (
    "the roles of the cluster have no permissions boundary, as the fleet names policies of its own "
    "and what they allow is not known here: whoever controls the provider's function can give a "
    "node any right; name parallelcluster.permissions_boundary_arn"
)

# What aws-parallelcluster 3.16.1 renders into the roles of nodes and of its own functions, which
# tests/golden/pcluster/role_statements.json lists, and what is in AmazonSSMManagedInstanceCore and
# CloudWatchAgentServerPolicy but X-Ray, which no node uses. Read 2026-11-29.
ANYWHERE = (
    "cloudwatch:PutMetricData",
    "ec2:DescribeCapacityReservations",
    "ec2:DescribeInstanceAttribute",
    "ec2:DescribeInstanceStatus",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeTags",
    "ec2:DescribeVolumes",
    "ec2messages:AcknowledgeMessage",
    "ec2messages:DeleteMessage",
    "ec2messages:FailMessage",
    "ec2messages:GetEndpoint",
    "ec2messages:GetMessages",
    "ec2messages:SendReply",
    "logs:DescribeLogGroups",
    "ssm:DescribeAssociation",
    "ssm:DescribeDocument",
    "ssm:GetDeployablePatchSnapshotForInstance",
    "ssm:GetDocument",
    "ssm:GetManifest",
    "ssm:GetParameter",
    "ssm:GetParameters",
    "ssm:ListAssociations",
    "ssm:ListInstanceAssociations",
    "ssm:PutComplianceItems",
    "ssm:PutConfigurePackageResult",
    "ssm:PutInventory",
    "ssm:UpdateAssociationStatus",
    "ssm:UpdateInstanceAssociationStatus",
    "ssm:UpdateInstanceInformation",
    "ssmmessages:CreateControlChannel",
    "ssmmessages:CreateDataChannel",
    "ssmmessages:OpenControlChannel",
    "ssmmessages:OpenDataChannel",
)
EC2 = (
    "ec2:AttachVolume",
    "ec2:CreateFleet",
    "ec2:CreateTags",
    "ec2:DetachVolume",
    "ec2:RunInstances",
)
EC2_OF_THE_CLUSTER = ("ec2:GetConsoleOutput", "ec2:TerminateInstances")
TABLES = (
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem",
)
LOGS = (
    "logs:CreateLogGroup",
    "logs:CreateLogStream",
    "logs:DescribeLogStreams",
    "logs:PutLogEvents",
    "logs:PutRetentionPolicy",
)
STACKS = (
    "cloudformation:DescribeStackResource",
    "cloudformation:DescribeStacks",
    "cloudformation:SignalResource",
)
READ_BUCKET = ("s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketVersions")
READ = ("s3:GetObject", "s3:GetObjectVersion")
CLEAN_UP = ("s3:DeleteObject", "s3:DeleteObjectVersion")
RECORDS = ("route53:ChangeResourceRecordSets", "route53:ListResourceRecordSets")


def boundary_rights(scope: Scope) -> list[Right]:
    """Return what roles of a cluster need. It grants nothing: it limits what policies grant."""
    name = scope.cluster_name
    tables = [
        scope.arn("dynamodb", f"table/parallelcluster-{table}")
        for table in (name, f"slurm-{name}", f"slurm-{name}/index/*")
    ]
    of_cluster = {"StringEquals": {f"ec2:ResourceTag/{CLUSTER_TAG}": name}}
    pcluster = scope.arn("s3", "parallelcluster-*-v1-do-not-delete", region=False, account=False)
    official = [
        scope.arn("s3", f"{bucket}/*", region=False, account=False)
        for bucket in (f"{scope.region}-aws-parallelcluster", f"dcv-license.{scope.region}")
    ]
    scripts = [f"{bucket}/*" for bucket in scope.script_bucket_arns]
    groups = [*scope.log_groups(), scope.arn("logs", f"log-group:{CLEANUP_LOG}*")]
    balanced = [
        scope.arn(
            "autoscaling", f"autoScalingGroup:*:autoScalingGroupName/{name}-*-AutoScalingGroup"
        )
    ]
    launched = [
        scope.arn("ec2", "*"),
        scope.arn("ec2", "image/*", account=False),
        scope.arn("resource-groups", "group/*"),
    ]
    zones = [scope.arn("route53", "hostedzone/*", region=False, account=False)]
    roles = [scope.arn("iam", f"role/parallelcluster/{name}/*", region=False)]
    limit = "It is a boundary, which grants nothing; policies of the roles name what is theirs."
    rights = [
        Right("Anywhere", ANYWHERE, ["*"], limit),
        Right("Ec2", EC2, launched, limit),
        Right("Ec2OfTheCluster", EC2_OF_THE_CLUSTER, ["*"], limit, of_cluster),
        Right("RolePass", ["iam:PassRole"], roles, ONE_CLUSTER),
        Right("Tables", TABLES, tables, ONE_CLUSTER),
        Right("Stacks", STACKS, scope.stacks(), ONE_CLUSTER),
        Right("Logs", LOGS, groups, ONE_CLUSTER),
        Right("ReadBucket", READ_BUCKET, [pcluster, f"{pcluster}/*"], limit),
        Right("Read", READ, [pcluster, f"{pcluster}/*", *official, *scripts], limit),
        Right("CleanUp", CLEAN_UP, [pcluster, f"{pcluster}/*/clusters/{name}-*"], limit),
        Right("LoginNodes", ["autoscaling:CompleteLifecycleAction"], balanced, ONE_CLUSTER),
        Right("ReservationGroups", ["resource-groups:ListGroupResources"], launched[2:], A_LIST),
    ]
    if scope.managed_dns:
        rights.append(Right("Records", RECORDS, zones, limit))
    if scope.secret_arns:
        secrets = ["secretsmanager:GetSecretValue"]
        rights.append(Right("Secrets", secrets, scope.secret_arns))
    return rights


def own_boundaries(scope: Construct, cluster_name: str) -> str:
    """Return a pattern of the boundaries that are made here for a cluster, former ones too."""
    stack = stack_facts(scope)
    return f"arn:{stack.partition}:iam::{stack.account}:policy{policy_path(cluster_name)}*"


class NodeBoundary(Construct):
    """The permissions boundary of every role of a cluster, and so of the provider's power.

    Whoever has the rights of the provider may write policies of the cluster's roles. With this
    boundary upon the roles that gives no more than nodes have anyway. What is granted to the
    fleet's principals is within it.

    Args:
        cluster_name: Name of the cluster.
        script_bucket_arns: Buckets of node scripts.
        secret_arns: Secrets that the head node reads.
        policies: Policies of the nodes; what is granted to them later counts too.
        managed_dns: Whether the cluster has a zone in Route 53.
        removal_policy: What becomes of it when its construct goes.
    """

    arn: str
    """ARN of the policy."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        script_bucket_arns: Sequence[str],
        secret_arns: Sequence[str],
        policies: NodePolicies,
        managed_dns: bool,
        removal_policy: RemovalPolicy,
    ) -> None:
        super().__init__(scope, id)
        cluster = Scope(
            stack=stack_facts(self, scope).stack,
            cluster_name=cluster_name,
            attachable_policy_arns=(),
            script_bucket_arns=script_bucket_arns,
            script_arns=(),
            secret_arns=secret_arns,
            managed_dns=managed_dns,
        )
        rights = boundary_rights(cluster)
        policy = iam.CfnManagedPolicy(
            self,
            "Resource",
            path=policy_path(cluster_name),
            description="The most that roles of a ParallelCluster cluster may do",
            policy_document=Lazy.any(_Document(rights, policies)),
        )
        policy.apply_removal_policy(removal_policy)
        acknowledge_wildcards(self, rights)
        self.arn = policy.ref


@jsii.implements(IStableAnyProducer)
class _Document:
    """The statements of a boundary, once all grants are made."""

    def __init__(self, rights: Sequence[Right], policies: NodePolicies) -> None:
        self._rights, self._policies = rights, policies

    @jsii.member(jsii_name="produce")
    def produce(self) -> Mapping[str, Any]:
        """Return the document."""
        statements = [right.statement for right in self._rights]
        for policy in (self._policies.head, self._policies.compute, self._policies.login):
            statements += [
                {key: value for key, value in statement.items() if key != "Sid"}
                for statement in policy.document.to_json()["Statement"]
                # Those are in Read and Anywhere: each script would take its share of the limit.
                if statement.get("Sid") not in LISTED_AT_BUCKETS
            ]
        unique = [each for i, each in enumerate(statements) if each not in statements[:i]]
        return {"Version": "2012-10-17", "Statement": unique}
