"""Rules about the fleet: instance types, capacity, addresses and names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .. import facts
from ..launch import addresses_per_node
from ..subnets import check_addresses, check_new_vpc
from .backend_rules import backend_faults
from .capacity import CapacityBlock
from .faults import Fault
from .fleet import Fleet, Queue
from .image_rules import root_disk_faults
from .mount_rules import nvme_dir_faults
from .network import ExistingVpc, Network, NewVpc
from .reservation_rules import Types, reservation_faults


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
        *(fault.below("fleet") for fault in backend_faults(fleet)),
        *_unknown_types(fleet, types),
        *_foreign_architectures(fleet, types),
        *_queues_above_their_types(fleet, types),
        *_misplaced_scratch(fleet),
        *_wrong_node_counts(fleet),
        *reservation_faults(fleet, zone=zone, types=types),
        *root_disk_faults(fleet),
    ]


def fleet_is_consistent(
    fleet: Fleet, network: Network, instance_types: Mapping[str, Any]
) -> Iterator[Fault]:
    """The fleet agrees with itself, its instance types and its zone."""
    yield from fleet_faults(fleet, zone=network.place, types=known(instance_types))


def descriptions_are_new(instance_types: Mapping[str, Any]) -> Iterator[Fault]:
    """No description says something else than the table does."""
    for name, described in instance_types.items():
        listed = facts.INSTANCE_TYPES.get(name)
        own = described.fact(name)
        if listed is None or own == listed:
            continue
        key = next(k for k in own.__slots__ if getattr(own, k) != getattr(listed, k))
        yield Fault.at(
            "instance_types",
            name,
            reason=f"trainshed's own table has {name} with {key} {getattr(listed, key)}, not "
            f"{getattr(own, key)}; leave the description out",
        )


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


def _misplaced_scratch(fleet: Fleet) -> Iterator[Fault]:
    for name, queue in fleet.queues.items():
        if queue.nvme_dir:
            for fault in nvme_dir_faults(queue.nvme_dir):
                yield fault.below("fleet", "queues", name)


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
                " for as a whole, so every node of it always runs: leave min_nodes out",
            )


def nodes_have_addresses(
    fleet: Fleet, network: Network, instance_types: Mapping[str, Any]
) -> Iterator[Fault]:
    """The compute subnet holds an address for every interface that takes one."""
    needed = addresses_needed(fleet, known(instance_types))
    fix = "fewer nodes, or efa_interface: efa-only"
    try:
        match network.source:
            case ExistingVpc(compute_subnet_cidr=str() as cidr):
                at = "existing", "compute_subnet_cidr"
                check_addresses(cidr, needed, fix=f"take a larger subnet, {fix}")
            case NewVpc(cidr=cidr, internet=internet):
                at = "vpc", "cidr"
                check_new_vpc(cidr, internet=internet, addresses=needed, fix=fix)
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


FLEET_RULES = (fleet_is_consistent, descriptions_are_new, nodes_have_addresses)
