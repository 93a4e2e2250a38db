"""Where a queue's instances come from, one record for each way of buying them.

The same-looking ``cr-`` id needs different launch options, so each way is a class of its own and
an invalid combination cannot be written. The constructs are in ``trainshed.capacity``.
"""

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, AwareDatetime, Field, model_validator

from ..records import OnChange, Record
from .faults import Fault, refuse
from .texts import (
    CapacityReservationId,
    PlacementGroupName,
    QueueName,
    ResourceGroupArn,
    ZoneText,
)

# EC2 starts terminating the instances of a block 30 minutes before its end, those of an
# UltraServer block 60 minutes before (EC2 user guide "Capacity Blocks for ML"); ten more minutes
# let jobs write a checkpoint.
DRAIN_MINUTES_BEFORE_END = 40
DRAIN_MINUTES_BEFORE_END_ULTRASERVER = 70


def _moment(value: datetime) -> datetime:
    # EC2 has reserved capacity since 2018, and sells it for some years ahead.
    if not 2018 <= value.year < 2100:
        raise ValueError(
            f"{iso(value)} is in the year {value.year}; use one from 2018 to 2099, as in "
            "2027-03-01T11:30:00Z"
        )
    return value


Moment = Annotated[AwareDatetime, AfterValidator(_moment)]


class CapacityBlock(Record):
    """A Capacity Block for ML: bought outside CloudFormation, with a fixed start and end."""

    kind: Annotated[Literal["capacity_block"], OnChange.DRAINS_NODES] = "capacity_block"
    """A Capacity Block for ML."""
    reservation_id: Annotated[CapacityReservationId, OnChange.DRAINS_NODES]
    """Id of the block, ``cr-`` and 8 to 17 hexadecimal digits."""
    end: Annotated[Moment, OnChange.LIVE]
    """When the block ends, with a time zone: ``2027-03-01T11:30:00Z``.

    EC2 ends its instances from 30 minutes before (UltraServers: 60). Drain the nodes before that.
    """
    start: Annotated[Moment | None, OnChange.LIVE] = None
    """When the block starts. Default: it has started, instances are launched at once."""
    nodes: Annotated[int | None, Field(ge=1), OnChange.LIVE] = None
    """Instances in the block. Default: not known, and not compared with the queue."""
    instance_type: Annotated[str | None, OnChange.LIVE] = None
    """Instance type of the block. Default: not known, and not compared with the queue."""
    zone: Annotated[ZoneText | None, OnChange.LIVE] = None
    """Availability Zone name or id of the block. Default: not known, and not compared."""
    next_queue: Annotated[QueueName | None, OnChange.LIVE] = None
    """Queue in which jobs go on once this block is left. Default: they wait for the next block."""

    @model_validator(mode="after")
    def _ends_after_start(self) -> Self:
        if self.start and self.start >= self.end:
            raise ValueError(
                f"end is {iso(self.end)}, not after start, {iso(self.start)}; "
                "copy both from the Capacity Block's page"
            )
        return self


class ReservationRequest(Record):
    """An On-Demand Capacity Reservation that the stack makes, and retains when it is deleted."""

    nodes: Annotated[int, Field(ge=1, le=1000), OnChange.LIVE]
    """Instances to reserve. They are billed from the moment of creation, used or not."""
    end: Annotated[Moment | None, OnChange.LIVE] = None
    """When the reservation ends by itself; its instances go on as On-Demand. Default: never."""


class TargetedReservation(Record):
    """An On-Demand Capacity Reservation that only launches naming it can use.

    Exactly one of ``reservation_id``, ``resource_group_arn`` and ``create``.
    """

    kind: Annotated[Literal["targeted_reservation"], OnChange.DRAINS_NODES] = "targeted_reservation"
    """A targeted On-Demand Capacity Reservation (ODCR)."""
    reservation_id: Annotated[CapacityReservationId | None, OnChange.DRAINS_NODES] = None
    """Id of an existing reservation, ``cr-`` and 8 to 17 hexadecimal digits."""
    resource_group_arn: Annotated[ResourceGroupArn | None, OnChange.DRAINS_NODES] = None
    """ARN of a resource group of the kind ``AWS::EC2::CapacityReservationPool``."""
    create: Annotated[ReservationRequest | None, OnChange.DRAINS_NODES] = None
    """Make a reservation with the stack."""
    nodes: Annotated[int | None, Field(ge=1), OnChange.LIVE] = None
    """Instances in an existing reservation. Default: not known, and not compared."""
    instance_type: Annotated[str | None, OnChange.LIVE] = None
    """Instance type of an existing reservation. Default: not known, and not compared."""
    zone: Annotated[ZoneText | None, OnChange.LIVE] = None
    """Availability Zone name or id of an existing reservation. Default: not compared."""
    placement_group: Annotated[PlacementGroupName | None, OnChange.REPLACES_NODES] = None
    """Cluster placement group that the reservation was made in. Default: none."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [
            key
            for key in ("reservation_id", "resource_group_arn", "create")
            if getattr(self, key) is not None
        ]
        if len(given) != 1:
            raise ValueError(
                "needs exactly one of reservation_id, resource_group_arn and create, "
                f"got {' and '.join(given) or 'none'}"
            )
        if self.create is not None:
            refuse(
                Fault.at(
                    key,
                    reason="is for an existing reservation, and create makes one of the queue's "
                    "type in the network's zone, with its own nodes; leave it out",
                )
                for key in ("nodes", "instance_type", "zone", "placement_group")
                if getattr(self, key) is not None
            )
        return self


class OpenReservation(Record):
    """Open Capacity Reservations: any matching launch in the account uses them up too."""

    kind: Annotated[Literal["open_reservation"], OnChange.DRAINS_NODES] = "open_reservation"
    """Open reservations that match by instance type and zone."""


class OnDemand(Record):
    """On-Demand instances without a reservation."""

    kind: Annotated[Literal["on_demand"], OnChange.DRAINS_NODES] = "on_demand"
    """On-Demand instances; launches fail when the zone has none left."""
    placement_group: Annotated[bool, OnChange.REPLACES_NODES] = False
    """Put the nodes into one cluster placement group: nearer to each other, harder to get."""


class Spot(Record):
    """Spot instances: EC2 takes them back with two minutes' notice."""

    kind: Annotated[Literal["spot"], OnChange.DRAINS_NODES] = "spot"
    """Spot instances; only for jobs that are requeued without harm."""
    max_price_usd_per_hour: Annotated[
        float | None, Field(gt=0, allow_inf_nan=False), OnChange.DRAINS_NODES
    ] = None
    """Most to pay for an instance an hour. Default: the On-Demand price."""


Capacity = Annotated[
    CapacityBlock | TargetedReservation | OpenReservation | OnDemand | Spot,
    Field(discriminator="kind"),
]
"""Any of the ways to get instances."""


def drain_minutes(*, ultraserver: bool) -> int:
    """Return how long before the end of a Capacity Block its nodes begin to drain, in minutes."""
    return DRAIN_MINUTES_BEFORE_END_ULTRASERVER if ultraserver else DRAIN_MINUTES_BEFORE_END


def reserved_nodes(capacity: Capacity) -> int | None:
    """Return how many instances the reservation holds; None where that is not known here."""
    match capacity:
        case TargetedReservation(create=ReservationRequest(nodes=nodes)):
            return nodes
        case CapacityBlock(nodes=nodes) | TargetedReservation(nodes=nodes):
            return nodes
        case _:
            return None


def is_static(capacity: Capacity) -> bool:
    """Tell whether nodes are paid for in any case, so that scaling down saves nothing."""
    return isinstance(capacity, CapacityBlock | TargetedReservation)


def iso(moment: datetime) -> str:
    """Return a time as the file writes it."""
    return moment.isoformat().replace("+00:00", "Z")
