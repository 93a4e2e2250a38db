"""Alarms and notices of reserved capacity: reservations that idle, Capacity Blocks that end."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from .._acknowledge import acknowledge
from ..config.capacity import drain_minutes
from ..facts.capacity_blocks import DELIVERY_TYPES, EXPIRATION_TYPES
from .agent import NAMESPACE, NodeAgent
from .alarms import BELOW, UNKNOWN, AlarmContext, AlarmSpec

_HOUR = cdk.Duration.hours(1)
# EC2 user guide "Capacity Blocks for ML", read 2026-11-29: when EC2 begins to end the instances.
_MINUTES_WITHOUT_INSTANCES = 30
_MINUTES_WITHOUT_INSTANCES_ULTRASERVER = 60

_NOBODY = AlarmContext()
_DRAIN = (
    "Nothing drains by itself: save checkpoints and drain before EC2 ends the instances, 30 "
    "minutes before the end (UltraServers: 60). Longer runs need another block."
)
_DRAINED = (
    "The fleet drains the nodes ten minutes before EC2 ends them, which is 30 minutes before the "
    "end (UltraServers: 60): save checkpoints until then. Longer runs need another block."
)

EVENT_TYPES = (*DELIVERY_TYPES, *EXPIRATION_TYPES)
"""Detail types of Capacity Blocks."""


def of_reservation(reservation_id: str) -> tuple[AlarmSpec, ...]:
    """Return the alarm on a reservation that is paid for and not used.

    EC2 user guide, "Monitor Capacity Reservations usage with CloudWatch metrics", 2026-11-29.
    """
    return (
        AlarmSpec(
            name="ReservationUnused",
            metric=cloudwatch.Metric(
                namespace="AWS/EC2CapacityReservations",
                metric_name="InstanceUtilization",
                statistic="Maximum",
                period=_HOUR,
                dimensions_map={"CapacityReservationId": reservation_id},
            ),
            threshold=50,
            comparison=BELOW,
            periods=6,
            missing=UNKNOWN,
            severity="warning",
            summary=f"Less than half of reservation {reservation_id} was used for six hours",
            do="Is the fleet up, and does its queue name this reservation? Else give some back.",
        ),
    )


def of_idle_gpus(agent: NodeAgent) -> tuple[AlarmSpec, ...]:
    """Return the alarm on GPUs that nobody uses."""
    return (
        AlarmSpec(
            name="GpusIdle",
            metric=cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name="gpu_utilization",
                statistic="Average",
                period=_HOUR,
                dimensions_map=agent.dimensions,
            ),
            threshold=5,
            comparison=BELOW,
            periods=6,
            missing=UNKNOWN,
            severity="info",
            summary=f"The GPUs of {agent.cluster_name} have been idle for six hours",
            do="`squeue` and `sinfo -R`: no jobs, jobs that hang, or nodes that do not take them?",
        ),
    )


class CapacityBlockNotices(Construct):
    """Messages 7 days, 24 hours and 2 hours before a Capacity Block ends, and when to drain it.

    The last one comes ten minutes before EC2 begins to end the instances. Schedules and not alarms:
    the end is known. Those that lie in the past when the stack is made are sent at once, so that
    each names the end; those before the block starts, as seven days before the end of a block of
    three, are left out.

    Args:
        reservation_id: Id of the Capacity Block.
        end: When it ends, with a time zone.
        start: When it starts, with a time zone. None: it has started long ago.
        ultraserver: The block is of UltraServers, whose instances EC2 ends half an hour earlier.
        drains: The fleet drains its nodes by itself, as trainshed's do; else people have to.
        topic_arn: Topic to publish to.
        key_arn: Key of the topic; empty: it is not encrypted.
        dead_letter_queue_arn: Queue of notices that the topic does not take. Empty: they are lost.
        context: Whose it is, and where to read on.

    Raises:
        ValueError: The end has no time zone.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        reservation_id: str,
        end: datetime,
        start: datetime | None = None,
        topic_arn: str,
        key_arn: str = "",
        dead_letter_queue_arn: str = "",
        ultraserver: bool = False,
        drains: bool = False,
        context: AlarmContext = _NOBODY,
    ) -> None:
        super().__init__(scope, id)
        if end.tzinfo is None:
            raise ValueError(f"end is {end.isoformat()}, without a time zone; add one: +00:00")
        role = self._role(topic_arn, key_arn, dead_letter_queue_arn)
        target: dict[str, Any] = {"arn": topic_arn, "role_arn": role.role_arn}
        if dead_letter_queue_arn:
            target["dead_letter_config"] = {"arn": dead_letter_queue_arn}
        end = end.astimezone(UTC)
        minutes = (
            _MINUTES_WITHOUT_INSTANCES_ULTRASERVER if ultraserver else _MINUTES_WITHOUT_INSTANCES
        )
        last = f"loses its instances from {end - timedelta(minutes=minutes):%Y-%m-%d %H:%M} UTC on"
        drain = timedelta(minutes=drain_minutes(ultraserver=ultraserver))
        at = f"at {end:%Y-%m-%d %H:%M} UTC"
        notices = (
            ("SevenDays", timedelta(days=7), "info", f"ends within 7 days, {at}"),
            ("OneDay", timedelta(hours=24), "warning", f"ends within 24 hours, {at}"),
            ("TwoHours", timedelta(hours=2), "critical", f"ends within 2 hours, {at}"),
            (
                "Drain",
                drain,
                "critical",
                f"{last}: its nodes are drained now" if drains else f"{last}: drain now",
            ),
        )
        for name, before, severity, what in notices:
            detail = {
                "capacity-reservation-id": reservation_id,
                "end-date": end.isoformat(),
                "severity": severity,
                "notice": what,
                "do": _DRAINED if drains else _DRAIN,
                "institution": context.institution,
                "runbook": context.runbook("capacity-block-ends"),
                "dashboard": context.dashboard_url,
            }
            if start is None or end - before > start:
                self._schedule(name, end - before, detail, target)

    def _schedule(
        self, name: str, when: datetime, detail: dict[str, Any], target: dict[str, Any]
    ) -> None:
        event = {
            "source": "trainshed",
            "detail-type": "Capacity Block Notice",
            # EventBridge Scheduler user guide, "Adding context attributes", read 2026-11-29.
            "id": "<aws.scheduler.execution-id>",
            "time": "<aws.scheduler.scheduled-time>",
            "account": cdk.Stack.of(self).account,
            "region": cdk.Stack.of(self).region,
            "detail": detail,
        }
        scheduler.CfnSchedule(
            self,
            name,
            description=f"Capacity Block {detail['capacity-reservation-id']} {detail['notice']}",
            schedule_expression=f"at({when:%Y-%m-%dT%H:%M:%S})",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(**target, input=json.dumps(event)),
        )

    def _role(self, topic_arn: str, key_arn: str, dead_letter_queue_arn: str) -> iam.Role:
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Stack.of(self).account}},
            ),
        )
        role.add_to_policy(iam.PolicyStatement(actions=["sns:Publish"], resources=[topic_arn]))
        if key_arn:
            role.add_to_policy(
                iam.PolicyStatement(
                    actions=["kms:Decrypt", "kms:GenerateDataKey"], resources=[key_arn]
                )
            )
        if dead_letter_queue_arn:
            role.add_to_policy(
                iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[dead_letter_queue_arn])
            )
        acknowledge(
            role,
            {"NIST.800.53.R5-IAMNoInlinePolicy": "Its rights are of these schedules alone."},
        )
        return role
