"""The custom resource provider that makes ParallelCluster clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct

from .._acknowledge import acknowledge
from .._assets import asset
from ..facts.parallelcluster import VERSION
from .provider_acknowledgments import (
    OF_LOG,
    OF_OWN_FUNCTION,
    acknowledge_framework,
    acknowledge_wildcards,
)
from .provider_permissions import ONE_CLUSTER, RIGHTS, Right, Scope

# CloudFormation user guide "AWS::CloudFormation::CustomResource", read 2026-11-29: ServiceTimeout
# is 1 to 3,600 seconds, whatever the provider would take.
MOST_SECONDS = 3600
LAYER_KEY = f"parallelcluster/{VERSION}/layers/aws-parallelcluster/lambda-layer.zip"
# ParallelCluster guide "AWS Lambda for the AWS ParallelCluster Python library", read 2026-11-29:
# the layer is for x86_64 and Python 3.12; 3.16.2 is the first version on another Python.
RUNTIME = lambda_.Runtime.PYTHON_3_12


class ParallelClusterProvider(Construct):
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

    service_token: str
    """What custom resources name."""
    on_event: lambda_.IFunction
    """Starts the work."""
    is_complete: lambda_.IFunction
    """Looks whether it is done."""
    role: iam.IRole
    """Role of ``on_event``; everything in the cluster is made with it."""
    log_group: logs.ILogGroup
    """Log of the functions. Configurations are not in it."""
    timeout: Duration
    """How long a creation or an update may take."""

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
        super().__init__(scope, id)
        self._rights: list[Right] = []
        self.timeout = timeout or Duration.seconds(MOST_SECONDS)
        _check_timeout(self.timeout)
        self.log_group = self._log(log_retention_days)
        stack = Stack.of(self)
        rights = Scope(
            stack=stack,
            cluster_name=cluster_name,
            attachable_policy_arns=attachable_policy_arns,
            script_bucket_arns=script_bucket_arns,
            script_arns=script_arns,
            secret_arns=secret_arns,
            permissions_boundary_arn=permissions_boundary_arn,
            managed_dns=managed_dns,
        )
        log = self.log_group.log_group_arn
        write_log = self._policy(
            "LogPolicy", [Right("Log", ("logs:CreateLogStream", "logs:PutLogEvents"), (log,))]
        )
        self.role = self._on_event_role(rights, write_log)
        layer = self._layer(layer_bucket or f"{stack.region}-aws-parallelcluster", layer_key)
        self.on_event = self._function(
            "OnEvent", self.role, layers=[layer], timeout_minutes=10, memory_mib=3008
        )
        self.is_complete = self._function(
            "IsComplete", self._is_complete_role(rights, write_log), timeout_minutes=1
        )
        framework = cr.Provider(
            self,
            "Framework",
            on_event_handler=self.on_event,
            is_complete_handler=self.is_complete,
            query_interval=Duration.seconds(60),
            total_timeout=self.timeout,
            log_group=self.log_group,
            # Below FATAL the framework logs each event, and so the whole configuration.
            framework_lambda_logging_level=lambda_.ApplicationLogLevel.FATAL,
        )
        self._acknowledge(framework)
        self.service_token = framework.service_token

    def _log(self, retention_days: int) -> logs.ILogGroup:
        log_group = logs.LogGroup(self, "Log", removal_policy=RemovalPolicy.RETAIN)
        cast(logs.CfnLogGroup, log_group.node.default_child).retention_in_days = retention_days
        acknowledge(log_group, OF_LOG)
        return log_group

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

    def _policy(self, id: str, rights: Sequence[Right]) -> iam.ManagedPolicy:
        self._rights += rights
        return iam.ManagedPolicy(
            self,
            id,
            description="For the functions that make ParallelCluster clusters",
            document=iam.PolicyDocument.from_json(
                {"Version": "2012-10-17", "Statement": [right.statement for right in rights]}
            ),
        )

    def _acknowledge(self, framework: cr.Provider) -> None:
        # By name: asking for all children makes Python objects of them, and loads their modules.
        own = (
            cast(lambda_.IFunction, framework.node.find_child(f"framework-{name}"))
            for name in ("onEvent", "isComplete", "onTimeout")
        )
        acknowledge_framework(framework, (self.on_event, self.is_complete, *own))
        acknowledge_wildcards(self, self._rights)

    def _role(self, id: str, description: str, *policies: iam.ManagedPolicy) -> iam.IRole:
        return iam.Role(
            self,
            id,
            description=description,
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            managed_policies=list(policies),
        )

    def _layer(self, bucket: str, key: str | None) -> lambda_.ILayerVersion:
        layer = lambda_.CfnLayerVersion(
            self,
            "Layer",
            description=f"aws-parallelcluster {VERSION}",
            compatible_architectures=["x86_64"],
            compatible_runtimes=[RUNTIME.name],
            content=lambda_.CfnLayerVersion.ContentProperty(
                s3_bucket=bucket, s3_key=key or LAYER_KEY
            ),
        )
        return lambda_.LayerVersion.from_layer_version_arn(self, "LayerReference", layer.ref)

    def _function(
        self,
        id: str,
        role: iam.IRole,
        *,
        timeout_minutes: int,
        memory_mib: int = 256,
        layers: Sequence[lambda_.ILayerVersion] = (),
    ) -> lambda_.IFunction:
        function = lambda_.Function(
            self,
            id,
            description=f"ParallelCluster provider, {id}",
            runtime=RUNTIME,
            architecture=lambda_.Architecture.X86_64,
            handler="handler.on_event" if id == "OnEvent" else "handler.is_complete",
            code=lambda_.Code.from_asset(
                asset("functions", "parallelcluster"), exclude=["__pycache__"]
            ),
            role=role,
            layers=list(layers),
            timeout=Duration.minutes(timeout_minutes),
            memory_size=memory_mib,
            log_group=self.log_group,
        )
        acknowledge(function, OF_OWN_FUNCTION)
        return function


def _check_timeout(timeout: Duration) -> None:
    seconds = timeout.to_seconds()
    if not 1 <= seconds <= MOST_SECONDS:
        raise ValueError(
            f"timeout is {seconds:g} seconds; CloudFormation waits {MOST_SECONDS} for a custom "
            f"resource: use 1 to {MOST_SECONDS}, and let slow work go on after the head node is up"
        )
