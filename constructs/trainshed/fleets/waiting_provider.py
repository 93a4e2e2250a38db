"""A custom resource provider of two functions: one starts the work, one looks for its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct

from .._acknowledge import acknowledge
from .._assets import asset
from .._stacks import stack_facts
from .provider_acknowledgments import (
    OF_LOG,
    acknowledge_framework,
    acknowledge_wildcards,
)
from .rights import Right

# CloudFormation user guide "AWS::CloudFormation::CustomResource", read 2026-11-29: ServiceTimeout
# is 1 to 3,600 seconds, whatever the provider would take.
MOST_SECONDS = 3600

# Made once: each is a call to the CDK's Node process.
_HOUR = Duration.seconds(MOST_SECONDS)
_LAMBDA = iam.ServicePrincipal("lambda.amazonaws.com")


class WaitingProvider(Construct):
    """What the providers of fleets have in common; each adds its functions and their rights.

    The functions are ``on_event`` and ``is_complete`` of ``assets/functions/FOLDER/handler.py``.

    Args:
        folder: The folder.
        what: What it is, in the descriptions of the functions.
        does: What the functions do, after "the functions that", in descriptions of their rights.
        runtime: Python of the functions.
        architecture: Processor of the functions.
        reasons: Why the functions are as they are where cdk-nag would have it otherwise.
        timeout: How long a creation or an update may take, 1 second to an hour. Default: an hour.
        log_retention_days: How long the functions' logs are kept.

    Raises:
        ValueError: The timeout is above what CloudFormation waits.
    """

    service_token: str
    """What custom resources name."""
    on_event: lambda_.IFunction
    """Starts the work."""
    is_complete: lambda_.IFunction
    """Looks whether it is done."""
    log_group: logs.ILogGroup
    """Log of the functions. What resources are given is not in it."""
    timeout: Duration
    """How long a creation or an update may take."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        folder: str,
        what: str,
        does: str,
        runtime: lambda_.Runtime,
        architecture: lambda_.Architecture,
        reasons: Mapping[str, str],
        timeout: Duration | None = None,
        log_retention_days: int,
    ) -> None:
        super().__init__(scope, id)
        stack_facts(self, scope)
        self._what, self._does, self._reasons = what, does, reasons
        self._code = lambda_.Code.from_asset(asset("functions", folder), exclude=["__pycache__"])
        self._runtime, self._architecture = runtime, architecture
        self._rights: list[Right] = []
        self.timeout = timeout or _HOUR
        if timeout:
            _check_timeout(timeout)
        self.log_group = self._log(log_retention_days)
        self._write_log = self._policy(
            "LogPolicy",
            [
                Right(
                    "Log",
                    ("logs:CreateLogStream", "logs:PutLogEvents"),
                    (self.log_group.log_group_arn,),
                )
            ],
        )

    def _wait(self, query_seconds: int) -> None:
        """Make the framework that calls the functions, and say what is wide in their rights."""
        framework = cr.Provider(
            self,
            "Framework",
            on_event_handler=self.on_event,
            is_complete_handler=self.is_complete,
            query_interval=_seconds(query_seconds),
            total_timeout=self.timeout,
            log_group=self.log_group,
            # Below FATAL the framework logs each event, and so the whole configuration.
            framework_lambda_logging_level=lambda_.ApplicationLogLevel.FATAL,
        )
        # By name: asking for all children makes Python objects of them, and loads their modules.
        node = framework.node
        own = (
            cast(lambda_.IFunction, node.find_child(f"framework-{name}"))
            for name in ("onEvent", "isComplete", "onTimeout")
        )
        acknowledge_framework(framework, (self.on_event, self.is_complete, *own))
        acknowledge_wildcards(self, self._rights)
        self.service_token = framework.service_token

    def _log(self, retention_days: int) -> logs.ILogGroup:
        log_group = logs.LogGroup(self, "Log", removal_policy=RemovalPolicy.RETAIN)
        cast(logs.CfnLogGroup, log_group.node.default_child).retention_in_days = retention_days
        acknowledge(log_group, OF_LOG)
        return log_group

    def _policy(self, id: str, rights: Sequence[Right]) -> iam.ManagedPolicy:
        self._rights += rights
        return iam.ManagedPolicy(
            self,
            id,
            description=f"For the functions that {self._does}",
            document=iam.PolicyDocument.from_json(
                {"Version": "2012-10-17", "Statement": [right.statement for right in rights]}
            ),
        )

    def _role(self, id: str, description: str, *policies: iam.ManagedPolicy) -> iam.IRole:
        return iam.Role(
            self,
            id,
            description=description,
            assumed_by=_LAMBDA,
            managed_policies=list(policies),
        )

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
            description=f"{self._what}, {id}",
            runtime=self._runtime,
            architecture=self._architecture,
            handler="handler.on_event" if id == "OnEvent" else "handler.is_complete",
            code=self._code,
            role=role,
            layers=list(layers),
            timeout=_seconds(60 * timeout_minutes),
            memory_size=memory_mib,
            log_group=self.log_group,
        )
        acknowledge(function, self._reasons)
        return function


@cache
def _seconds(number: int) -> Duration:
    return Duration.seconds(number)


def _check_timeout(timeout: Duration) -> None:
    seconds = timeout.to_seconds()
    if not 1 <= seconds <= MOST_SECONDS:
        raise ValueError(
            f"timeout is {seconds:g} seconds; CloudFormation waits {MOST_SECONDS} for a custom "
            f"resource: use 1 to {MOST_SECONDS}, and let slow work go on after the head node is up"
        )
