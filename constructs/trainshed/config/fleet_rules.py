"""Rules about the fleet: instance types, capacity, addresses and names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from .. import facts
from ..launch import addresses_per_node
from ..records import is_token
from ..subnets import check_addresses, subnet_plan
from .capacity import CapacityBlock, TargetedReservation, reserved_nodes
from .faults import Fault
from .fleet import Fleet, Queue
from .network import ExistingVpc, Network, NewVpc

Types = Mapping[str, facts.InstanceType]


def known(instance_types: Mapping[str, Any]) -> Types:
    """Return the table of instance types with the institution's own beside it."""
    own = {name: described.fact(name) for name, described in instance_types.items()}
    return {**facts.INSTANCE_TYPES, **own}


def fleet_faults(fleet: Fleet, *, zone: facts.Zone, types: Types) -> list[Fault]:
    """Return what is wrong with a fleet wherever it runs; key paths begin at ``fleet``.

    Args:
        fleet: The fleet.
        zone: Availability Zone of its nodes.
        types: Facts of instance types by name.
    """
    return [
        *_unknown_types(fleet, types),
        *_foreign_architectures(fleet, types),
        *_queues_above_their_types(fleet, types),
        *_wrong_node_counts(fleet),
        *_reservations_of_two_kinds(fleet),
        *_foreign_reservations(fleet, zone),
    ]


def fleet_is_consistent(
    fleet: Fleet, network: Network, instance_types: Mapping[str, Any]
) -> Iterator[Fault]:
    """The fleet agrees with itself, its instance types and its zone."""
    yield from fleet_faults(fleet, zone=network.place, types=known(instance_types))


def _unknown_types(fleet: Fleet, table: Types) -> Iterator[Fault]:
    for key_path, name in _types_named(fleet):
        if name not in table:
            near = facts.nearest(name)
            hint = f"did you mean {' or '.join(repr(n) for n in near)}? " if near else ""
            yield Fault(
                key_path,
                f"{name!r} is not in the table of instance types; {hint}"
                "a new type can be described under instance_types",
            )


def _foreign_architectures(fleet: Fleet, table: Types) -> Iterator[Fault]:
    # All nodes run one image and one Slurm.
    head = table.get(fleet.head_node.instance_type)
    if head is None:
        return
    for key_path, name in _types_named(fleet):
        other = table.get(name)
        if other and other.architecture != head.architecture:
            yield Fault(
                key_path,
                f"{name} is {other.architecture} and the head node, {head.name}, is "
                f"{head.architecture}; take a head node of the same architecture",
            )


def _queues_above_their_types(fleet: Fleet, table: Types) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        kind = table.get(queue.instance_type)
        if kind is not None:
            for fault in _queue_faults(queue, kind, table):
                yield fault.below("fleet", "queues", name)


def _queue_faults(queue: Queue, kind: facts.InstanceType, table: Types) -> Iterator[Fault]:
    if queue.efa and not kind.has_efa:
        near = sorted(t.name for t in table.values() if t.family == kind.family and t.has_efa)
        instead = f"take {' or '.join(near)}, or write efa: false" if near else "write efa: false"
        yield Fault.at("efa", reason=f"{kind.name} has no Elastic Fabric Adapter; {instead}")
    if "nvme_dir" in queue.model_fields_set and queue.nvme_dir and not kind.nvme_disks:
        yield Fault.at(
            "nvme_dir",
            reason=f"{kind.name} has no local NVMe disks, so {queue.nvme_dir} would silently be "
            "the root disk; leave the key out",
        )
    if isinstance(queue.capacity, CapacityBlock) and not kind.capacity_block:
        yield Fault.at(
            "capacity",
            "kind",
            reason=f"{kind.name} is not sold as Capacity Blocks; "
            "take targeted_reservation, on_demand or spot",
        )


def _wrong_node_counts(fleet: Fleet) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        at = ("fleet", "queues", name)
        if queue.min_nodes is not None and queue.min_nodes > queue.max_nodes:
            yield Fault(
                (*at, "min_nodes"), f"{queue.min_nodes} is above max_nodes, {queue.max_nodes}"
            )
        elif isinstance(queue.capacity, CapacityBlock) and queue.least_nodes != queue.max_nodes:
            yield Fault(
                (*at, "min_nodes"),
                f"{queue.least_nodes} is not max_nodes, {queue.max_nodes}; a Capacity Block is paid"
                " for as a whole and ParallelCluster takes only equal numbers: leave min_nodes out",
            )
    yield from _reservations_suffice(fleet.queues)


def _reservations_suffice(queues: Mapping[str, Queue]) -> Iterator[Fault]:
    """The queues on one reservation ask together for no more than it holds."""
    users: dict[str, list[str]] = defaultdict(list)
    for name, queue in queues.items():
        capacity = queue.capacity
        if isinstance(capacity, CapacityBlock | TargetedReservation):
            users[capacity.reservation_id or f"made for {name}"].append(name)
    for reservation, names in users.items():
        asked = sum(queues[name].max_nodes for name in names)
        held = [reserved_nodes(queues[name].capacity) for name in names]
        known_sizes = [size for size in held if size is not None]
        if known_sizes and asked > min(known_sizes):
            yield Fault(
                ("fleet", "queues", names[-1], "max_nodes"),
                f"{asked} nodes of {', '.join(names)} are above the {min(known_sizes)} of the "
                f"reservation {reservation}; lower max_nodes, or reserve more",
            )


def _reservations_of_two_kinds(fleet: Fleet) -> Iterator[Fault]:
    """Yield the ids that are used as a block and as a reservation: they launch differently."""
    kinds: dict[str, tuple[str, str]] = {}
    for name, queue in fleet.queues.items():
        capacity = queue.capacity
        if isinstance(capacity, CapacityBlock | TargetedReservation) and capacity.reservation_id:
            first, kind = kinds.setdefault(capacity.reservation_id, (name, capacity.kind))
            if kind != capacity.kind:
                yield Fault(
                    ("fleet", "queues", name, "capacity", "kind"),
                    f"{capacity.reservation_id} is a {capacity.kind} here and a {kind} in {first}; "
                    "it is one of them: its page in the EC2 console says which",
                )


def _foreign_reservations(fleet: Fleet, zone: facts.Zone) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        capacity = queue.capacity
        if not isinstance(capacity, CapacityBlock | TargetedReservation):
            continue
        at = ("fleet", "queues", name, "capacity")
        if capacity.instance_type not in (None, queue.instance_type):
            yield Fault(
                (*at, "instance_type"),
                f"the reservation is for {capacity.instance_type} and the queue for "
                f"{queue.instance_type}; they have to be the same",
            )
        if capacity.zone and _contradicts(capacity.zone, zone):
            yield Fault(
                (*at, "zone"),
                f"the reservation is in {capacity.zone} and the network in {zone.value}; "
                "a cluster stands in the zone of its capacity",
            )


def _contradicts(one: str, zone: facts.Zone) -> bool:
    # Names and ids of zones cannot be compared, nor what is known only at deploy time.
    same_form = ("-az" in one) == isinstance(zone, facts.ZoneId)
    return same_form and one != zone.value and not (is_token(one) or is_token(zone.value))


def nodes_have_addresses(
    fleet: Fleet, network: Network, instance_types: Mapping[str, Any]
) -> Iterator[Fault]:
    """The compute subnet holds an address for every interface that takes one."""
    match network.source:
        case ExistingVpc(compute_subnet_cidr=str() as cidr):
            at, subnet, fix = ("existing", "compute_subnet_cidr"), cidr, "take a larger subnet"
        case NewVpc(cidr=cidr):
            at, subnet, fix = ("vpc", "cidr"), str(subnet_plan(cidr).compute), "take a larger cidr"
        case _:
            return
    needed = addresses_needed(fleet, known(instance_types))
    try:
        check_addresses(subnet, needed, fix=f"{fix}, fewer nodes, or efa_interface: efa-only")
    except ValueError as error:
        yield Fault.at("network", *at, reason=str(error))


def addresses_needed(fleet: Fleet, types: Types) -> int:
    """Return how many IP addresses the nodes of a fleet take at most."""
    nodes = 1 + sum(pool.count for pool in fleet.login_nodes.values())
    for queue in fleet.queues.values():
        kind = types.get(queue.instance_type)
        each = (
            addresses_per_node(kind, style=queue.efa_interface)
            if kind and queue.uses_efa(kind)
            else 1
        )
        nodes += queue.max_nodes * each
    return nodes


def _types_named(fleet: Fleet) -> Iterator[tuple[tuple[str, ...], str]]:
    yield ("fleet", "head_node", "instance_type"), fleet.head_node.instance_type
    for name, pool in fleet.login_nodes.items():
        yield ("fleet", "login_nodes", name, "instance_type"), pool.instance_type
    for name, queue in fleet.queues.items():
        yield ("fleet", "queues", name, "instance_type"), queue.instance_type


FLEET_RULES = (fleet_is_consistent, nodes_have_addresses)
