"""EC2's warnings that a Capacity Block is taken away, brought to where the head node looks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_ssm as ssm
from constructs import Construct

from .._acknowledge import acknowledge
from .._assets import asset
from .._given import check_all_present, check_present, check_record
from .._stacks import stack_facts
from ..config.capacity import CapacityBlock
from ..config.fleet import Fleet
from ..facts.capacity_blocks import EXPIRATION_TYPES, INTERRUPTION_TYPES
from ..slurm_fleet.names import block_parameter
from .provider_acknowledgments import OF_LOG, acknowledge_wildcards
from .rights import Right

_SECONDS = 30
_OF_FUNCTION = {
    "NIST.800.53.R5-LambdaConcurrency": "Two of it at a time note the same.",
    "NIST.800.53.R5-LambdaDLQ": "A queue calls it, and keeps what it does not take.",
    "NIST.800.53.R5-LambdaInsideVPC": "It calls AWS's APIs and nothing in the VPC.",
}

_OF_QUEUE = {
    "AwsSolutions-SQS3": (
        "A warning is of no use after an hour; without it the head node goes by the block's end."
    ),
}


class BlockEvents(Construct):
    """A parameter for each block, and a function that puts the time of EC2's first warning there.

    Args:
        cluster_name: Name of the cluster.
        block_ids: Ids of its Capacity Blocks.
        head: Who reads the parameters.
        log_retention_days: How long the function's log is kept.
    """

    parameters: Mapping[str, ssm.IStringParameter]
    """The parameters by block."""
    function: lambda_.IFunction
    """The function."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        cluster_name: str,
        block_ids: Sequence[str],
        head: iam.IGrantable,
        log_retention_days: int,
    ) -> None:
        super().__init__(scope, id)
        check_present(head=head)
        check_all_present(block_ids=block_ids)
        stack_facts(self, scope)
        self.parameters = {
            block: ssm.StringParameter(
                self,
                f"Block{block}",
                parameter_name=block_parameter(cluster_name, block),
                description="When EC2 first warned that it takes the block away",
                string_value="none",
            )
            for block in block_ids
        }
        arns = [parameter.parameter_arn for parameter in self.parameters.values()]
        iam.Grant.add_to_principal(grantee=head, actions=["ssm:GetParameters"], resource_arns=arns)
        queue = sqs.Queue(
            self,
            "Queue",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.hours(1),
            # Six times the function's, as Lambda's developer guide has it ("Using Lambda with
            # Amazon SQS", read 2026-11-30).
            visibility_timeout=Duration.seconds(6 * _SECONDS),
        )
        acknowledge(queue, _OF_QUEUE)
        self.function = self._function(cluster_name, arns, queue, log_retention_days)
        blocks = {"capacity-reservation-id": list(block_ids)}
        for name, types, detail in (
            ("Expirations", EXPIRATION_TYPES, blocks),
            # These name an instance and no block: the function looks it up.
            ("Interruptions", INTERRUPTION_TYPES, None),
        ):
            events.Rule(
                self,
                name,
                description=f"{', '.join(types)} to the head node of {cluster_name}",
                event_pattern=events.EventPattern(
                    source=["aws.ec2"], detail_type=list(types), detail=detail
                ),
                targets=[targets.SqsQueue(queue)],
            )

    def _function(
        self, cluster_name: str, arns: Sequence[str], queue: sqs.IQueue, log_retention_days: int
    ) -> lambda_.IFunction:
        log = logs.LogGroup(self, "Log", removal_policy=RemovalPolicy.DESTROY)
        cast(logs.CfnLogGroup, log.node.default_child).retention_in_days = log_retention_days
        rights = [
            Right("Log", ("logs:CreateLogStream", "logs:PutLogEvents"), (log.log_group_arn,)),
            Right("Note", ("ssm:GetParameter", "ssm:PutParameter"), tuple(arns)),
            Right("LookUp", ("ec2:DescribeInstances",), ("*",), "A list has no resources."),
            Right(
                "Receive",
                ("sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"),
                (queue.queue_arn,),
            ),
        ]
        policy = iam.ManagedPolicy(
            self,
            "Policy",
            description="For the function that notes the ends of Capacity Blocks",
            document=iam.PolicyDocument.from_json(
                {"Version": "2012-10-17", "Statement": [right.statement for right in rights]}
            ),
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            managed_policies=[policy],
        )
        named = {block: parameter.parameter_name for block, parameter in self.parameters.items()}
        function = lambda_.Function(
            self,
            "Function",
            description=f"Notes the ends of Capacity Blocks of {cluster_name}",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            handler="handler.handler",
            code=lambda_.Code.from_asset(
                asset("functions", "block_events"), exclude=["__pycache__"]
            ),
            role=role,
            timeout=Duration.seconds(_SECONDS),
            log_group=log,
            environment={"PARAMETERS": json.dumps(named)},
        )
        # Its rights are in the policy: the L2 would write them into the role once more.
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Mapping",
            event_source_arn=queue.queue_arn,
            function_name=function.function_name,
            batch_size=1,
        )
        mapping.node.add_dependency(policy)
        acknowledge(log, OF_LOG)
        acknowledge(function, _OF_FUNCTION)
        acknowledge_wildcards(self, rights)
        return function


def block_events_of(
    scope: Construct, id: str, fleet: Fleet, *, cluster_name: str, head: iam.IGrantable
) -> BlockEvents | None:
    """Bring the warnings of a fleet's Capacity Blocks to its head node; None without a block.

    Args:
        scope: Where it belongs.
        id: Its id there.
        fleet: The fleet's record.
        cluster_name: Name of the cluster.
        head: Policy of its head node.
    """
    check_record("fleet", fleet, Fleet)
    check_present(head=head)
    capacities = (queue.capacity for queue in fleet.queues.values())
    ids = {each.reservation_id for each in capacities if isinstance(each, CapacityBlock)}
    if not ids:
        return None
    return BlockEvents(
        scope,
        id,
        cluster_name=cluster_name,
        block_ids=sorted(ids),
        head=head,
        log_retention_days=fleet.monitoring.log_retention_days,
    )
