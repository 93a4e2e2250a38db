"""On-Demand Capacity Reservations: made here, or made elsewhere and used here."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import jsii
from aws_cdk import ITaggable, RemovalPolicy, Stack, TagManager, TagType, Token
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from . import facts
from ._given import check_present
from .config.capacity import Capacity, CapacityBlock, TargetedReservation

Platform = Literal["Linux/UNIX", "Red Hat Enterprise Linux"]

# CreateCapacityReservation, EC2 API reference, read 2026-11-29: 1 to 1,000 instances.
MOST_INSTANCES = 1000


@jsii.implements(ITaggable)
class CapacityReservation(Construct):
    """A targeted On-Demand Capacity Reservation (ODCR): only launches that name it can use it.

    It is billed from its creation, used or not, and retained when it leaves the stack or is
    replaced, since scarce capacity that was given back may not come again: cancel it by hand. A
    creation of the stack that is rolled back gives it back: nothing ran on it yet, and the next try
    would pay for a second one beside it.
    Changing the type or the zone makes a second one beside it; changing ``nodes`` or ``end`` does
    not. CDK's tags reach it, as the cost of what is not used is found under them.

    Args:
        instance_type: Name of a type of the table, or the facts of another.
        nodes: Instances to reserve, 1 to 1,000.
        zone: Availability Zone of the cluster, by name or id.
        end: When the reservation ends by itself, with a time zone; EC2 does so within the hour
            after it, and its instances go on as On-Demand. Default: never.
        platform: Operating system that the instances are billed for.

    Raises:
        ValueError: The type is unknown, the number is out of range, the zone is not in the
            stack's Region or is a mere text, or ``end`` has no time zone.

    Example::

        reservation = CapacityReservation(
            stack, "Train", instance_type="p5.48xlarge", nodes=8, zone=facts.ZoneId("use1-az4")
        )
        queue = Queue(instance_type="p5.48xlarge", capacity=reservation.capacity, max_nodes=8)
    """

    reservation_id: str
    """Id of the reservation."""
    capacity: TargetedReservation
    """The reservation as a queue takes it."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        instance_type: str | facts.InstanceType,
        nodes: int,
        zone: facts.Zone,
        end: datetime | None = None,
        platform: Platform = "Linux/UNIX",
    ) -> None:
        super().__init__(scope, id)
        check_present(instance_type=instance_type, nodes=nodes)
        if isinstance(instance_type, str):
            instance_type = facts.instance_type(instance_type)
        if Token.is_unresolved(nodes):
            raise ValueError("nodes is known only at deploy time; write the number itself")
        if not 1 <= nodes <= MOST_INSTANCES:
            raise ValueError(f"nodes is {nodes}; a reservation takes 1 to {MOST_INSTANCES}")
        if not isinstance(zone, facts.ZoneName | facts.ZoneId):
            raise ValueError(f"zone is {zone!r}; use facts.ZoneName(...) or facts.ZoneId(...)")
        facts.check_zone(zone, Stack.of(self).region)
        self._tags = TagManager(TagType.KEY_VALUE, "AWS::EC2::CapacityReservation")
        self._tags.set_tag("Name", self.node.path, 0)
        by_name = isinstance(zone, facts.ZoneName)
        reservation = ec2.CfnCapacityReservation(
            self,
            "Resource",
            instance_type=instance_type.name,
            instance_count=nodes,
            instance_platform=platform,
            instance_match_criteria="targeted",
            availability_zone=zone.value if by_name else None,
            availability_zone_id=None if by_name else zone.value,
            end_date_type="limited" if end else "unlimited",
            end_date=_utc(end) if end else None,
        )
        # The property takes no value that is known only when tags have been gathered.
        reservation.add_property_override(
            "TagSpecifications",
            [{"ResourceType": "capacity-reservation", "Tags": self._tags.rendered_tags}],
        )
        reservation.apply_removal_policy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        self.reservation_id = reservation.ref
        self.capacity = TargetedReservation(
            reservation_id=reservation.ref,
            nodes=nodes,
            instance_type=instance_type.name,
            zone=zone.value,
        )

    @property
    @jsii.member(jsii_name="tags")
    def tags(self) -> TagManager:
        """Tags of the reservation."""
        return self._tags

    @staticmethod
    def from_capacity(
        scope: Construct,
        id: str,
        *,
        capacity: Capacity,
        instance_type: str | facts.InstanceType,
        zone: facts.Zone,
    ) -> CapacityReservation:
        """Make the reservation that a queue's capacity asks for with ``create``.

        Args:
            scope: Where it is made.
            id: Its construct id.
            capacity: A targeted reservation with ``create``.
            instance_type: Instance type of the queue.
            zone: Availability Zone of the cluster.

        Raises:
            ValueError: The capacity does not ask for a reservation.
        """
        check_present(capacity=capacity)
        if isinstance(capacity, CapacityBlock):
            raise ValueError(
                "a Capacity Block cannot be made by a stack: buy it in the EC2 console or with "
                "aws ec2 purchase-capacity-block, and give its reservation_id and end"
            )
        if not isinstance(capacity, TargetedReservation) or capacity.create is None:
            raise ValueError(
                f"capacity of kind {capacity.kind} does not ask for a reservation; "
                "use targeted_reservation with create"
            )
        return CapacityReservation(
            scope,
            id,
            instance_type=instance_type,
            nodes=capacity.create.nodes,
            zone=zone,
            end=capacity.create.end,
        )

    @staticmethod
    def from_reservation_id(
        scope: Construct,
        id: str,
        *,
        reservation_id: str,
        nodes: int | None = None,
        instance_type: str | None = None,
        zone: facts.Zone | None = None,
        placement_group: str | None = None,
    ) -> ImportedCapacityReservation:
        """Use a targeted reservation that is there already. It is never changed.

        Args:
            scope: Where it is used.
            id: Its construct id.
            reservation_id: ``cr-`` and 8 or 17 hexadecimal digits, or a token. A Capacity Block
                has an id of the same form and is a ``CapacityBlock`` instead.
            nodes: Instances in it. Default: not known, and not compared.
            instance_type: Its instance type. Default: not known, and not compared.
            zone: Its zone. Default: not known, and not compared.
            placement_group: Cluster placement group that it was made in. Default: none.
        """
        check_present(reservation_id=reservation_id)
        return ImportedCapacityReservation(
            scope,
            id,
            capacity=TargetedReservation(
                reservation_id=reservation_id,
                nodes=nodes,
                instance_type=instance_type,
                zone=zone.value if zone else None,
                placement_group=placement_group,
            ),
        )


class ImportedCapacityReservation(Construct):
    """A targeted reservation that was made elsewhere; it adds nothing to the template.

    Args:
        capacity: The reservation, by its id.
    """

    reservation_id: str
    """Id of the reservation."""
    capacity: TargetedReservation
    """The reservation as a queue takes it."""

    def __init__(self, scope: Construct, id: str, *, capacity: TargetedReservation) -> None:
        super().__init__(scope, id)
        if capacity.reservation_id is None:
            raise ValueError("capacity has no reservation_id; give the id of the reservation")
        self.reservation_id = capacity.reservation_id
        self.capacity = capacity


def _utc(end: datetime) -> str:
    if end.tzinfo is None:
        raise ValueError(
            f"end is {end.isoformat()} without a time zone; write {end.isoformat()}Z for UTC"
        )
    return end.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
