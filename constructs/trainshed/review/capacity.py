"""When each queue has its instances: the data of a timeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..config import CapacityBlock, Institution, Queue, TargetedReservation
from ..config.capacity import (
    DRAIN_MINUTES_BEFORE_END,
    DRAIN_MINUTES_BEFORE_END_ULTRASERVER,
)


@dataclass(frozen=True)
class CapacitySpan:
    """The capacity of one queue: from when to when, and when its nodes drain."""

    queue: str
    kind: str
    """How it is bought, in words."""
    nodes: int
    instance_type: str
    reservation: str = ""
    """Id of the reservation or block; empty where there is none, or it is made here."""
    start: datetime | None = None
    """None: it has started, or starts with the deployment."""
    drain: datetime | None = None
    """When nodes stop taking jobs; None: never."""
    end: datetime | None = None
    """None: it has no end."""


def spans(institution: Institution) -> tuple[CapacitySpan, ...]:
    """Return the capacity of every queue, in the order of the file."""
    queues = institution.fleet.queues.items()
    return tuple(_span(name, queue, institution) for name, queue in queues)


def _span(name: str, queue: Queue, institution: Institution) -> CapacitySpan:
    capacity = queue.capacity
    what = (name, KINDS[capacity.kind], queue.max_nodes, queue.instance_type)
    match capacity:
        case CapacityBlock():
            known = institution.known_types.get(queue.instance_type)
            minutes = (
                DRAIN_MINUTES_BEFORE_END_ULTRASERVER
                if known and known.ultraserver
                else DRAIN_MINUTES_BEFORE_END
            )
            drain = capacity.end - timedelta(minutes=minutes)
            return CapacitySpan(*what, capacity.reservation_id, capacity.start, drain, capacity.end)
        case TargetedReservation(create=request) if request is not None:
            return CapacitySpan(*what, end=request.end)
        case TargetedReservation():
            source = capacity.reservation_id or capacity.resource_group_arn or ""
            return CapacitySpan(*what, source.rpartition("/")[2])
        case _:
            return CapacitySpan(*what)


KINDS = {
    "capacity_block": "Capacity Block",
    "targeted_reservation": "reservation",
    "open_reservation": "open reservation",
    "on_demand": "On-Demand",
    "spot": "Spot",
}
