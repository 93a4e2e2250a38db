"""What :class:`SlackAlerts` can watch, each as one call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Literal, Protocol

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from .._given import check_all_present, check_present
from ..facts.capacity_blocks import INTERRUPTION_TYPES
from . import capacity_alarms, file_system_alarms, fleet_alarms, recovery_alarms
from ._given import check_here
from .agent import NodeAgent, NodeRole
from .alarms import ABOVE, AT_LEAST, FINE, AlarmContext, AlarmSpec
from .file_system_alarms import ProvisionedLimits, WatchedFileSystem
from .fleet_alarms import WatchedFleet

_FIVE_MINUTES = cdk.Duration.minutes(5)


class WatchedCapacity(Protocol):
    """Reserved capacity: a ``CapacityBlock`` with its ``end``, or a reservation."""

    @property
    def reservation_id(self) -> str | None:
        """Its id."""


class Watches(Construct):
    """Alarms and events of file systems, fleets, capacity and functions, sent to one topic."""

    topic: sns.ITopic
    key: kms.IKey | None
    undelivered: sqs.IQueue
    """Dead-letter queue of what could not be published to the topic."""
    context: AlarmContext

    def add_alarm(self, spec: AlarmSpec, *, prefix: str = "") -> cloudwatch.Alarm:
        """Make one alarm that reaches the topic."""
        raise NotImplementedError

    def add_events(
        self, id: str, *, source: Sequence[str], detail_type: Sequence[str], **detail: Any
    ) -> events.Rule:
        """Send EventBridge events to the topic."""
        raise NotImplementedError

    def watch_file_system(
        self,
        storage: WatchedFileSystem,
        *,
        directions: Sequence[Literal["import", "export"]] = (),
        limits: ProvisionedLimits | None = None,
        space: bool = True,
        prefix: str = "",
    ) -> None:
        """Watch a Lustre file system: free space, saturation, links to S3.

        Args:
            storage: A ``LustreStorage``, made or imported.
            directions: Ways in which it is linked to S3.
            limits: What it is provisioned for. None: no alarms on saturation.
            space: Watch what share of it is free, for which its size must be known.
            prefix: Begins the construct ids where several file systems are watched.

        Raises:
            ValueError: Its space is to be watched, and its size is not known; or it is in a stack
                of another Region.
        """
        check_present(storage=storage)
        check_all_present(directions=directions)
        check_here(self, "storage", storage)
        for spec in file_system_alarms.of(storage, directions, limits, space=space):
            self.add_alarm(spec, prefix=prefix)

    def watch_fleet(
        self,
        fleet: WatchedFleet,
        *,
        agents: Sequence[NodeAgent] = (),
        head_metrics: Collection[str] = (),
        prefix: str = "",
    ) -> None:
        """Watch a fleet: its head node and, where nodes run the agent, what they report.

        Args:
            fleet: Any fleet.
            agents: The agents whose ``configuration()`` the nodes run, one a role. Nodes of a role
                that is left out are not watched from within.
            head_metrics: Metrics that a head node without an agent sends to CloudWatch itself.
            prefix: Begins the construct ids where several fleets are watched.

        Raises:
            ValueError: No alarm reads one of ``head_metrics``; or the fleet is in a stack of
                another Region.
        """
        check_present(fleet=fleet)
        check_all_present(agents=agents, head_metrics=head_metrics)
        check_here(self, "fleet", fleet)
        specs = [
            *fleet_alarms.of_head_node(fleet),
            *recovery_alarms.of_sent(fleet.cluster_name, head_metrics),
        ]
        for agent in agents:
            specs += fleet_alarms.of_role(agent)
            if agent.role is NodeRole.HEAD:
                specs += fleet_alarms.of_scheduler(agent)
                specs += recovery_alarms.of_recovery(agent)
            if agent.role is NodeRole.COMPUTE:
                specs += [*fleet_alarms.of_gpus(agent), *capacity_alarms.of_idle_gpus(agent)]
        for spec in specs:
            self.add_alarm(spec, prefix=prefix)
        self.add_events(
            f"{prefix}HeadNodeStops",
            source=["aws.ec2"],
            detail_type=["EC2 Instance State-change Notification"],
            **{
                "instance-id": [fleet.head_node_instance_id],
                "state": ["stopping", "stopped", "shutting-down", "terminated"],
            },
        )

    def watch_capacity(
        self,
        capacity: WatchedCapacity,
        *,
        ultraserver: bool = False,
        drains: bool = False,
        prefix: str = "",
    ) -> None:
        """Watch reserved capacity: is it used, and when does it end.

        Args:
            capacity: A ``CapacityBlock``, whose ``end`` gives notices 7 days, 24 hours and 2 hours
                before, and when to drain it; or a reservation.
            ultraserver: A block is of UltraServers, whose instances EC2 ends half an hour earlier.
            drains: The fleet drains a block before its end by itself; else people have to.
            prefix: Begins the construct ids where several are watched.

        Raises:
            ValueError: The capacity has no reservation id.
        """
        check_present(capacity=capacity)
        reservation_id = capacity.reservation_id
        if not reservation_id:
            raise ValueError("capacity has no reservation_id; pass what was made for it")
        for spec in capacity_alarms.of_reservation(reservation_id):
            self.add_alarm(spec, prefix=prefix)
        end = getattr(capacity, "end", None)
        if isinstance(end, datetime):
            start = getattr(capacity, "start", None)
            self._watch_end(reservation_id, start, end, ultraserver, drains, prefix)

    def watch_account(self) -> None:
        """Watch what AWS announces in this account and Region: retirements, issues, ended nodes.

        Once an account: each institution of an account would hear the same.
        """
        self.add_events(
            "Health",
            source=["aws.health"],
            detail_type=["AWS Health Event"],
            service=["EC2", "FSX", "LAMBDA", "DIRECTCONNECT"],
            eventTypeCategory=["issue", "scheduledChange"],
        )
        self.add_events(
            "Interruptions",
            source=["aws.ec2"],
            detail_type=[
                *INTERRUPTION_TYPES,
                "EC2 Spot Instance Interruption Warning",
            ],
        )

    def watch_login_pool(self, group_name: str, *, prefix: str = "") -> None:
        """Watch the login nodes of an Auto Scaling group: their status checks, failed launches.

        Args:
            group_name: Name of the group.
            prefix: Begins the construct ids where several pools are watched.
        """
        check_present(group_name=group_name)
        self.add_alarm(fleet_alarms.of_login_pool(group_name), prefix=prefix)
        # Not "Group": the queue x-login has XLoginGroup.
        self.watch_group(f"{prefix}LoginNodes", group_name)

    def watch_group(self, id: str, group_name: str) -> None:
        """Tell of instances that an Auto Scaling group could not launch or end."""
        check_present(group_name=group_name)
        self.add_events(
            id,
            source=["aws.autoscaling"],
            detail_type=["EC2 Instance Launch Unsuccessful", "EC2 Instance Terminate Unsuccessful"],
            AutoScalingGroupName=[group_name],
        )

    def watch_stack(self, id: str, stack_id: str) -> None:
        """Tell when a CloudFormation stack fails or rolls back."""
        check_present(stack_id=stack_id)
        self.add_events(
            id,
            source=["aws.cloudformation"],
            detail_type=["CloudFormation Stack Status Change"],
            **{
                "stack-id": [stack_id],
                "status-details": {"status": [{"suffix": "_FAILED"}, {"wildcard": "*ROLLBACK*"}]},
            },
        )

    def watch_function(self, function: lambda_.IFunction, *, prefix: str) -> None:
        """Watch a Lambda function, such as one behind a custom resource: does it fail."""
        check_present(function=function)
        self.add_alarm(
            AlarmSpec(
                name="FunctionErrors",
                metric=function.metric_errors(statistic="Sum", period=_FIVE_MINUTES),
                threshold=1,
                comparison=AT_LEAST,
                periods=1,
                missing=FINE,
                severity="warning",
                summary=f"The function {function.function_name} fails",
                do="Read its log; a failed custom resource also shows in the stack's events.",
            ),
            prefix=prefix,
        )

    def watch_nat_gateway(self, nat_gateway_id: str, *, prefix: str = "") -> None:
        """Watch a NAT gateway: does it run out of ports."""
        check_present(nat_gateway_id=nat_gateway_id)
        self.add_alarm(
            AlarmSpec(
                name="NatPortsExhausted",
                metric=cloudwatch.Metric(
                    namespace="AWS/NATGateway",
                    metric_name="ErrorPortAllocation",
                    statistic="Sum",
                    period=_FIVE_MINUTES,
                    dimensions_map={"NatGatewayId": nat_gateway_id},
                ),
                threshold=0,
                comparison=ABOVE,
                periods=2,
                missing=FINE,
                severity="warning",
                summary=f"NAT gateway {nat_gateway_id} has no ports left for new connections",
                do="Which host opens so many to one address? Add a gateway or an endpoint.",
            ),
            prefix=prefix,
        )

    def _watch_end(
        self,
        reservation_id: str,
        start: datetime | None,
        end: datetime,
        ultraserver: bool,
        drains: bool,
        prefix: str,
    ) -> None:
        capacity_alarms.CapacityBlockNotices(
            self,
            f"{prefix}BlockNotices",
            reservation_id=reservation_id,
            start=start,
            end=end,
            ultraserver=ultraserver,
            drains=drains,
            topic_arn=self.topic.topic_arn,
            key_arn=self.key.key_arn if self.key else "",
            dead_letter_queue_arn=self.undelivered.queue_arn,
            context=self.context,
        )
        self.add_events(
            f"{prefix}BlockEvents",
            source=["aws.ec2"],
            detail_type=list(capacity_alarms.EVENT_TYPES),
            **{"capacity-reservation-id": [reservation_id]},
        )
