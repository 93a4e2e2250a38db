"""What is allowed of a capacity and often goes wrong. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config.capacity import Capacity

# ParallelCluster's user guide, "Placement groups and instance launch issues", read 2026-11-29,
# names no number of nodes from which launches tend to fail; eight is ours.
MOST_NODES_PLACED_TOGETHER = 8


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
