"""The custom resource provider that makes ParallelCluster clusters."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .._given import check_all_present
from .._stacks import stack_facts
from ..facts.parallelcluster import VERSION
from .provider_acknowledgments import OF_OWN_FUNCTION
from .provider_permissions import ONE_CLUSTER, RIGHTS, Scope
from .rights import Right
from .waiting_provider import WaitingProvider

LAYER_KEY = f"parallelcluster/{VERSION}/layers/aws-parallelcluster/lambda-layer.zip"
# ParallelCluster guide "AWS Lambda for the AWS ParallelCluster Python library", read 2026-11-29:
# the layer is for x86_64 and Python 3.12; 3.16.2 is the first version on another Python.
RUNTIME = lambda_.Runtime.PYTHON_3_12
# Read once: each time is a call to the CDK's Node process.
_RUNTIME_NAME = RUNTIME.name
_X86_64 = lambda_.Architecture.X86_64


class ParallelClusterProvider(WaitingProvider):
    """Creates, updates, watches and deletes one ParallelCluster cluster for CloudFormation.

    Two functions of ``assets/functions/parallelcluster``: ``on_event`` starts the work with AWS's
    layer that carries ``pcluster``; ``is_complete`` looks each minute and may only describe stacks.

    Args:
        cluster_name: Name of the cluster; the rights end at it.
        attachable_policy_arns: Managed policies that nodes of the cluster may have.
        script_bucket_arns: Buckets of node scripts.
        script_arns: Node scripts.
        secret_arns: Secrets of the configuration. They are looked for, not read.
        permissions_boundary_arn: Boundary that every role of the cluster must have, with a wildcard
            for any that it matches. Without one, whoever controls the function can give a node any
            right. Default: none.
        managed_dns: Whether the cluster has a zone in Route 53.
        layer_bucket: Bucket of a mirror of AWS's layer. Default: AWS's own, in the Region.
        layer_key: Key of the layer there. Default: AWS's key for the version.
        timeout: How long a creation or an update may take, 1 second to an hour. Default: an hour.
        log_retention_days: How long the functions' logs are kept. Default: 180.

    Raises:
        ValueError: The timeout is above what CloudFormation waits.
    """

    role: iam.IRole
    """Role of ``on_event``; everything in the cluster is made with it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        attachable_policy_arns: Sequence[str],
        script_bucket_arns: Sequence[str],
        script_arns: Sequence[str],
        secret_arns: Sequence[str] = (),
        permissions_boundary_arn: str | None = None,
        managed_dns: bool = True,
        layer_bucket: str | None = None,
        layer_key: str | None = None,
        timeout: Duration | None = None,
        log_retention_days: int = 180,
    ) -> None:
        super().__init__(
            scope,
            id,
            folder="parallelcluster",
            what="ParallelCluster provider",
            does="make ParallelCluster clusters",
            runtime=RUNTIME,
            architecture=_X86_64,
            reasons=OF_OWN_FUNCTION,
            timeout=timeout,
            log_retention_days=log_retention_days,
        )
        check_all_present(
            attachable_policy_arns=attachable_policy_arns,
            script_bucket_arns=script_bucket_arns,
            script_arns=script_arns,
            secret_arns=secret_arns,
        )
        here = stack_facts(self)
        rights = Scope(
            stack=here.stack,
            cluster_name=cluster_name,
            attachable_policy_arns=attachable_policy_arns,
            script_bucket_arns=script_bucket_arns,
            script_arns=script_arns,
            secret_arns=secret_arns,
            permissions_boundary_arn=permissions_boundary_arn,
            managed_dns=managed_dns,
        )
        self.role = self._on_event_role(rights, self._write_log)
        layer = self._layer(layer_bucket or f"{here.region}-aws-parallelcluster", layer_key)
        self.on_event = self._function(
            "OnEvent", self.role, layers=[layer], timeout_minutes=10, memory_mib=3008
        )
        self.is_complete = self._function(
            "IsComplete", self._is_complete_role(rights, self._write_log), timeout_minutes=1
        )
        self._wait(query_seconds=60)

    def _on_event_role(self, rights: Scope, *further: iam.ManagedPolicy) -> iam.IRole:
        policies = [self._policy(id, made(rights)) for id, made in RIGHTS.items()]
        return self._role(
            "OnEventRole", "Makes, changes and deletes a cluster", *policies, *further
        )

    def _is_complete_role(self, rights: Scope, *further: iam.ManagedPolicy) -> iam.IRole:
        look = Right(
            "Look",
            ("cloudformation:DescribeStacks", "cloudformation:DescribeStackEvents"),
            (rights.arn("cloudformation", f"stack/{rights.cluster_name}/*"),),
            ONE_CLUSTER,
        )
        policy = self._policy("LookPolicy", [look])
        return self._role("IsCompleteRole", "Describes the stack of a cluster", policy, *further)

    def _layer(self, bucket: str, key: str | None) -> lambda_.ILayerVersion:
        layer = lambda_.CfnLayerVersion(
            self,
            "Layer",
            description=f"aws-parallelcluster {VERSION}",
            compatible_architectures=["x86_64"],
            compatible_runtimes=[_RUNTIME_NAME],
            content=lambda_.CfnLayerVersion.ContentProperty(
                s3_bucket=bucket, s3_key=key or LAYER_KEY
            ),
        )
        return lambda_.LayerVersion.from_layer_version_arn(self, "LayerReference", layer.ref)
