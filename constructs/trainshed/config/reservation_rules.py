"""Rules about where the instances of queues come from. Key paths begin at ``fleet``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import combinations

from .. import facts
from ..facts.grid import either
from ..facts.parallelcluster import ULTRASERVER_BLOCK_SIZES
from ..records import is_token
from .capacity import CapacityBlock, TargetedReservation, iso, reserved_nodes
from .faults import Fault
from .fleet import Fleet, Queue

Types = Mapping[str, facts.InstanceType]
Reserved = CapacityBlock | TargetedReservation


def reservation_faults(fleet: Fleet, *, zone: facts.Zone, types: Types) -> Iterator[Fault]:
    """Yield what is wrong with the reservations and blocks of a fleet.

    Args:
        fleet: The fleet.
        zone: Availability Zone of its nodes.
        types: Facts of instance types by name.
    """
    for name, queue in fleet.queues.items():
        if isinstance(queue.capacity, Reserved):
            for fault in _own_faults(queue, queue.capacity, zone):
                yield fault.below("fleet", "queues", name)
    for target, names in _queues_by_target(fleet).items():
        yield from _not_enough(target, names, fleet.queues)
        for first, second in combinations(names, 2):
            yield from _contradictions(target, first, second, fleet.queues)
    yield from _ultraserver_faults(fleet, types)
    yield from _names_alike(fleet)
    for name, queue in fleet.queues.items():
        if isinstance(queue.capacity, CapacityBlock) and queue.capacity.next_queue is not None:
            for reason in _next_faults(fleet, name, queue.capacity.next_queue):
                yield Fault(("fleet", "queues", name, "capacity", "next_queue"), reason)


def _own_faults(queue: Queue, capacity: Reserved, zone: facts.Zone) -> Iterator[Fault]:
    """Yield where a reservation does not fit its own queue and zone."""
    if capacity.instance_type not in (None, queue.instance_type):
        yield Fault.at(
            "capacity",
            "instance_type",
            reason=f"the reservation is for {capacity.instance_type} and the queue for "
            f"{queue.instance_type}; they have to be the same",
        )
    if capacity.zone and _contradicts(capacity.zone, zone):
        yield Fault.at(
            "capacity",
            "zone",
            reason=f"the reservation is in {capacity.zone} and the network in {zone.value}; "
            "a cluster stands in the zone of its capacity",
        )


def _next_faults(fleet: Fleet, name: str, then: str) -> Iterator[str]:
    """Yield why jobs of a queue could not go on in the one that it names."""
    others = [other for other in fleet.queues if other != name]
    if then not in others:
        yield (
            f"is {then!r}; use another queue of the fleet: {', '.join(others)}"
            if others
            else f"is {then!r}, and the fleet has no other queue; leave it out"
        )
        return
    partitions = fleet.policy.partitions if fleet.policy else {}
    for partition_name, partition in partitions.items():
        if name in partition.queues and then not in partition.queues:
            yield (
                f"is {then}, and partition {partition_name} has {name} without it, so its jobs "
                f"would wait; add {then} to the queues of the partition, or leave this out"
            )


def _contradicts(text: str, zone: facts.Zone) -> bool:
    if is_token(text) or is_token(zone.value):
        return False
    other = facts.ZoneId(text) if "-az" in text else facts.ZoneName(text)
    if type(other) is type(zone):
        return other != zone
    # A name and an id cannot be compared but for the Region.
    regions = {facts.region_of(other), facts.region_of(zone)} - {None}
    return len(regions) > 1


def _queues_by_target(fleet: Fleet) -> Mapping[str, list[str]]:
    """Return the queues that launch into each reservation or resource group."""
    users: dict[str, list[str]] = defaultdict(list)
    for name, queue in fleet.queues.items():
        if isinstance(queue.capacity, Reserved):
            users[_target(name, queue.capacity)].append(name)
    return users


def _target(queue_name: str, capacity: Reserved) -> str:
    group = capacity.resource_group_arn if isinstance(capacity, TargetedReservation) else None
    return capacity.reservation_id or group or f"made for {queue_name}"


def _not_enough(target: str, names: list[str], queues: Mapping[str, Queue]) -> Iterator[Fault]:
    """The queues on one reservation ask together for no more than it holds."""
    asked = sum(queues[name].max_nodes for name in names)
    held = [reserved_nodes(queues[name].capacity) for name in names]
    known_sizes = [size for size in held if size is not None]
    if known_sizes and asked > min(known_sizes):
        yield Fault(
            ("fleet", "queues", names[-1], "max_nodes"),
            f"{asked} nodes of {', '.join(names)} are above the {min(known_sizes)} of the "
            f"reservation {target}; lower max_nodes, or reserve more",
        )


def _contradictions(
    target: str, first: str, second: str, queues: Mapping[str, Queue]
) -> Iterator[Fault]:
    """Two queues say the same of the reservation that they share."""
    one, other = queues[first], queues[second]
    at = ("fleet", "queues", second)
    if one.capacity.kind != other.capacity.kind:
        yield Fault(
            (*at, "capacity", "kind"),
            f"{target} is a {other.capacity.kind} here and a {one.capacity.kind} in {first}; "
            "it is one of them: its page in the EC2 console says which",
        )
        return
    # A resource group may hold reservations of several types; a reservation has one.
    if not target.startswith("arn:") and one.instance_type != other.instance_type:
        yield Fault(
            (*at, "instance_type"),
            f"{other.instance_type} and, in queue {first}, {one.instance_type} are to run in "
            f"{target}; a reservation has one instance type: take another reservation",
        )
    for key in ("nodes", "instance_type", "zone", "start", "end", "placement_group"):
        here, there = getattr(other.capacity, key, None), getattr(one.capacity, key, None)
        known = None not in (here, there) and not (is_token(here) or is_token(there))
        if known and here != there:
            yield Fault(
                (*at, "capacity", key),
                f"{_shown(here)} here and {_shown(there)} in queue {first}, of one reservation, "
                f"{target}; write the same in both, or in one of them alone",
            )


def _shown(value: object) -> str:
    return iso(value) if isinstance(value, datetime) else str(value)


def _ultraserver_faults(fleet: Fleet, types: Types) -> Iterator[Fault]:
    """UltraServers are sold whole, as Capacity Blocks of certain sizes."""
    for name, queue in fleet.queues.items():
        kind, capacity = types.get(queue.instance_type), queue.capacity
        if kind is None or not kind.ultraserver:
            continue
        # A reservation that AWS made for the account by contract has an id, and is let through.
        by_contract = isinstance(capacity, TargetedReservation) and capacity.create is None
        if not isinstance(capacity, CapacityBlock) and not by_contract:
            yield Fault(
                ("fleet", "queues", name, "capacity", "kind"),
                f"{kind.name} is sold only as part of an UltraServer, in Capacity Blocks; "
                "take capacity_block",
            )
    for target, names in _queues_by_target(fleet).items():
        queue = fleet.queues[names[-1]]
        family = queue.instance_type.partition(".")[0]
        sizes = ULTRASERVER_BLOCK_SIZES.get(family)
        if sizes is None or not isinstance(queue.capacity, CapacityBlock):
            continue
        asked = sum(fleet.queues[name].max_nodes for name in names)
        for key_path, nodes in (
            (("max_nodes",), asked),
            (("capacity", "nodes"), queue.capacity.nodes),
        ):
            if nodes is not None and nodes not in sizes:
                yield Fault(
                    ("fleet", "queues", names[-1], *key_path),
                    f"{nodes} nodes of {target}, an UltraServer's Capacity Block, which has "
                    f"{either(sizes)} of {family} and is used as a whole; use {either(sizes)}",
                )


def _names_alike(fleet: Fleet) -> Iterator[Fault]:
    """Names of queues become construct ids of their reservations and alarms, without hyphens."""
    ids: dict[str, str] = {}
    for name, queue in fleet.queues.items():
        if isinstance(queue.capacity, Reserved):
            first = ids.setdefault("".join(w.capitalize() for w in name.split("-")), name)
            if first != name:
                yield Fault(
                    ("fleet", "queues", name),
                    f"differs from queue {first} in its hyphens alone, and both have a "
                    "reservation, which is named after its queue; take another name",
                )
