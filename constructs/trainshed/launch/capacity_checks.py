"""Whether a queue and its capacity go together, for who writes them in Python. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .. import facts
from ..records import is_token

if TYPE_CHECKING:
    from ..config.capacity import Capacity, CapacityBlock, TargetedReservation

# ParallelCluster's user guide, "Placement groups and instance launch issues", read 2026-11-29,
# names no number of nodes from which launches tend to fail; eight is ours.
MOST_NODES_PLACED_TOGETHER = 8


def check_capacity(
    capacity: Capacity,
    *,
    instance_type: str,
    zone: facts.Zone,
    max_nodes: int,
    min_nodes: int | None = None,
) -> None:
    """Check that what a queue asks for is what its reservation or block holds.

    Args:
        capacity: Where the queue's instances come from.
        instance_type: Of the queue.
        zone: Of the compute subnet. A name and an id are not compared: only AWS knows which
            belong together in an account.
        max_nodes: Most nodes of the queue.
        min_nodes: Nodes that always run. Default: not compared.

    Raises:
        ValueError: A line for each fault.
    """
    if capacity.kind not in ("capacity_block", "targeted_reservation"):
        return
    faults = [
        *_reservation_faults(capacity, instance_type, zone, max_nodes),
        *(_block_faults(min_nodes, max_nodes) if capacity.kind == "capacity_block" else ()),
    ]
    if faults:
        raise ValueError("\n".join(faults))


def _reservation_faults(
    capacity: CapacityBlock | TargetedReservation,
    instance_type: str,
    zone: facts.Zone,
    max_nodes: int,
) -> Iterator[str]:
    if capacity.instance_type not in (None, instance_type):
        yield (
            f"the reservation is of {capacity.instance_type} and the queue of {instance_type}; "
            "they have to be the same"
        )
    if capacity.zone and _contradicts(capacity.zone, zone):
        yield (
            f"the reservation is in {capacity.zone} and the compute subnet in {zone.value}; "
            "a cluster stands in the zone of its capacity"
        )
    if capacity.nodes is not None and max_nodes > capacity.nodes:
        yield f"max_nodes is {max_nodes} and the reservation holds {capacity.nodes}"


def _contradicts(one: str, zone: facts.Zone) -> bool:
    # Names and ids of zones cannot be compared, nor what is known only at deploy time.
    same_form = ("-az" in one) == isinstance(zone, facts.ZoneId)
    return same_form and one != zone.value and not (is_token(one) or is_token(zone.value))


def _block_faults(min_nodes: int | None, max_nodes: int) -> Iterator[str]:
    if min_nodes is not None and min_nodes != max_nodes:
        yield (
            f"min_nodes is {min_nodes} and max_nodes {max_nodes}; a Capacity Block is paid for "
            "as a whole, so both are its number of instances"
        )


def check_kinds(capacities: Mapping[str, Capacity]) -> None:
    """Check that no id is used as two kinds of reservation: blocks launch in another market.

    Args:
        capacities: Each queue's capacity, by the queue's name.

    Raises:
        ValueError: A line for each id used in two ways.
    """
    users: dict[str, dict[str, str]] = {}
    for queue, capacity in capacities.items():
        if capacity.kind in ("capacity_block", "targeted_reservation") and capacity.reservation_id:
            users.setdefault(capacity.reservation_id, {}).setdefault(capacity.kind, queue)
    faults = [
        f"{reservation} is a {' and a '.join(f'{kind} in {q}' for kind, q in kinds.items())}; "
        "it is one of them: its page in the EC2 console says which"
        for reservation, kinds in users.items()
        if len(kinds) > 1
    ]
    if faults:
        raise ValueError("\n".join(faults))


def capacity_warnings(capacity: Capacity, *, max_nodes: int) -> list[str]:
    """Return what is allowed and often goes wrong, in words for a synth warning."""
    warnings = []
    if capacity.kind == "open_reservation":
        warnings.append(
            "open reservations are used up by any matching instance in the account, so nodes may "
            "find none left; prefer targeted_reservation"
        )
    if (
        capacity.kind == "on_demand"
        and capacity.placement_group
        and max_nodes > MOST_NODES_PLACED_TOGETHER
    ):
        warnings.append(
            f"{max_nodes} On-Demand nodes in one placement group without a reservation often end "
            "in InsufficientInstanceCapacity; reserve them, or leave the placement group out"
        )
    return warnings
