"""What fills the group of a queue when its Capacity Block starts."""

from __future__ import annotations

import json
from datetime import datetime

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from .._acknowledge import acknowledge
from .provider_acknowledgments import acknowledge_wildcards
from .rights import Right
from .slurm_acknowledgments import OF_SCHEDULE_ROLE

# EventBridge Scheduler user guide "Using universal targets", read 2026-11-29.
TARGET = "aws-sdk:autoscaling:setDesiredCapacity"
ONE_GROUP = "EC2 Auto Scaling gives a group a random id beside its name."


class BlockSchedule(Construct):
    """Raises a group once, when its block starts; launches before that would fail.

    The head node fills the group too once the block is active, so a schedule that comes late, or
    whose moment has passed when it is made, is not missed.

    Args:
        start: When the block starts, in UTC.
        group_name: The Auto Scaling group.
        nodes: Instances that it then has.
        queue: Name of the queue.
    """

    schedule: scheduler.CfnSchedule
    """The schedule."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        start: datetime,
        group_name: str,
        nodes: int,
        queue: str,
    ) -> None:
        super().__init__(scope, id)
        stack = Stack.of(self)
        role = iam.Role(
            self,
            "Role",
            description=f"Fills queue {queue} when its Capacity Block starts",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": stack.account}},
            ),
        )
        group = (
            f"arn:{stack.partition}:autoscaling:{stack.region}:{stack.account}:autoScalingGroup:*:"
            f"autoScalingGroupName/{group_name}"
        )
        fill = Right("Fill", ("autoscaling:SetDesiredCapacity",), (group,), ONE_GROUP)
        role.add_to_policy(iam.PolicyStatement.from_json(fill.statement))
        acknowledge(role, OF_SCHEDULE_ROLE)
        acknowledge_wildcards(role, [fill])
        request = {
            "AutoScalingGroupName": group_name,
            "DesiredCapacity": nodes,
            "HonorCooldown": False,
        }
        self.schedule = scheduler.CfnSchedule(
            self,
            "Resource",
            description=f"Fills queue {queue} when its Capacity Block starts",
            # A block that has started already: a time that is past is taken, and acted on at once
            # (aws-cdk, integration test of aws-scheduler-targets, at(new Date()), read 2026-11-30).
            schedule_expression=f"at({start:%Y-%m-%dT%H:%M:%S})",
            schedule_expression_timezone="UTC",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=f"arn:{stack.partition}:scheduler:::{TARGET}",
                role_arn=role.role_arn,
                input=json.dumps(request),
            ),
        )
        self.schedule.node.add_dependency(role)
