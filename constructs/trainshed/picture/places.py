"""Where everything stands in the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..config import Institution
from .cards import queue_height
from .facts_shown import QueueFacts
from .outside import bucket_height, notes

WIDTH = 1600
LEAST_HEIGHT = 900

HEADER = 132
REGION_LEFT, REGION_RIGHT = 206, 1560
VPC_LEFT, VPC_RIGHT = 226, 1216
RAIL_LEFT, RAIL_WIDTH = 1300, 240
INNER_LEFT, INNER_RIGHT = 274, 1168
SIDE_WIDTH = 212
MACHINE_HEIGHT = 118
GAP, LEAST_GAP = 18, 10
CABLE = 58
"""Room between the queues and the file system."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where things stand, from top to bottom.

    Args:
        way_out: Top of the strip with the NAT gateway or the endpoints.
        subnet: Top of the compute subnet.
        cards: Top of the cards in it.
        lustre: Top of the file system.
        lustre_height: Its height.
        end: Lower edge of the compute subnet.
        rows: Height of each row of queues.
        rail_gap: Between the cards beside the VPC, which end above S3's.
    """

    way_out: float
    subnet: float
    cards: float
    lustre: float
    lustre_height: float
    end: float
    rows: tuple[float, ...]
    rail_gap: float

    @property
    def height(self) -> float:
        """Height of the picture."""
        return self.end + 16 + 18 + 18 + 66


def columns_of(queues: Sequence[QueueFacts]) -> int:
    """Return how many queues stand side by side."""
    return min(len(queues), 2)


def queue_width(queues: Sequence[QueueFacts]) -> float:
    """Return how wide the card of a queue is."""
    columns = columns_of(queues)
    room = INNER_RIGHT - INNER_LEFT - SIDE_WIDTH - GAP
    return (room - GAP * (columns - 1)) / columns


def places_of(institution: Institution, queues: Sequence[QueueFacts]) -> Places:
    """Give everything its place; a small cluster fills the page as well."""
    columns, width = columns_of(queues), queue_width(queues)
    heights = [queue_height(queue, width) for queue in queues]
    rows = [max(heights[at : at + columns]) for at in range(0, len(heights), columns)]
    machines = MACHINE_HEIGHT + (MACHINE_HEIGHT + GAP) * len(institution.fleet.login_nodes)
    lustre_height = max(bucket_height(len(institution.storage.links)), 132)
    way_out = HEADER + 74
    subnet = way_out + 66
    cards = subnet + 42
    free = LEAST_HEIGHT - (cards + CABLE + lustre_height + 20 + 118)
    beside = [note.height for note in notes(institution)]
    rail = sum(beside) + LEAST_GAP * len(beside) - CABLE
    needed = max(sum(rows) + GAP * (len(rows) - 1), machines, rail)
    if needed < free:
        rows = [row + (free - needed) / len(rows) for row in rows]
        needed = free
    lustre = cards + max(needed, sum(rows) + GAP * (len(rows) - 1)) + CABLE
    return Places(
        way_out,
        subnet,
        cards,
        lustre,
        lustre_height,
        lustre + lustre_height + 20,
        tuple(rows),
        min(GAP, (lustre - cards - sum(beside)) // len(beside)),
    )
