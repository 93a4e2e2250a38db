"""Cards of machines: head node, login nodes, queues."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .facts_shown import TIMES, QueueFacts
from .svg import box, element, fitted, group, width_of, words

PAD = 20
STATS_HEIGHT = 62
WIDE = 400
"""Room from which on a card says more."""
DETAIL_STEP = 20


@dataclass(frozen=True, slots=True)
class Tiles:
    """The size of the small boxes that stand for nodes.

    Args:
        width: Width of one.
        height: Height of one.
        gap: Space between two.
        nodes: Nodes that one stands for.
    """

    width: float
    height: float
    gap: float
    nodes: int = 1

    def columns(self, nodes: int, room: float) -> int:
        """Return how many stand side by side, in rows of about the same length."""
        most = max(1, int((room + self.gap) // (self.width + self.gap)))
        return math.ceil(self.count(nodes) / self.rows(nodes, most))

    def rows(self, nodes: int, columns: int) -> int:
        """Return how many rows there are."""
        return math.ceil(self.count(nodes) / columns)

    def count(self, nodes: int) -> int:
        """Return how many boxes stand for so many nodes."""
        return math.ceil(nodes / self.nodes)

    def height_of(self, nodes: int, room: float) -> float:
        """Return the height of all of them."""
        rows = self.rows(nodes, self.columns(nodes, room))
        return rows * (self.height + self.gap) - self.gap


def tiles_for(nodes: int, room: float) -> Tiles:
    """Choose boxes so that all nodes fit into a few rows."""
    if nodes <= 6 and room > WIDE:
        return Tiles(88, 56, 12)
    for tiles, most in ((Tiles(60, 36, 9), 3), (Tiles(46, 30, 7), 4), (Tiles(22, 16, 5), 5)):
        if tiles.rows(nodes, tiles.columns(nodes, room)) <= most:
            return tiles
    return Tiles(22, 16, 5, nodes=math.ceil(nodes / (5 * int((room + 5) // 27))))


def queue_height(queue: QueueFacts, width: float) -> float:
    """Return how high the card of a queue has to be."""
    room = width - 2 * PAD
    tiles = tiles_for(queue.nodes, room).height_of(queue.nodes, room)
    return 78 + tiles + 18 + STATS_HEIGHT + DETAIL_STEP * len(queue.details)


def queue_card(queue: QueueFacts, x: float, y: float, width: float, height: float) -> str:
    """Draw the card of a queue."""
    room = width - 2 * PAD
    tiles = tiles_for(queue.nodes, room)
    pill_width = width_of(queue.capacity, 12.5) + 30
    below = DETAIL_STEP * len(queue.details)
    label = f"Queue {queue.name}: {queue.count} nodes, {queue.gpus} GPUs, {queue.capacity}"
    parts = [
        box(x, y, width, height, "card"),
        element("path", d=_left_edge(x, y, height), class_="compute"),
        words(
            x + PAD, y + 33, fitted(f"Queue {queue.name}", room - pill_width - 8, 18), "title ink"
        ),
        _pill(x + width - PAD - pill_width, y + 15, pill_width, queue.capacity),
        words(
            x + PAD,
            y + 57,
            fitted(f"{queue.count} {TIMES} {queue.instance_type.name}", room, 15),
            "body quiet",
        ),
        *_nodes(queue, tiles, x + PAD, y + 78, room),
        *_stats(queue, x + PAD, y + height - STATS_HEIGHT - below, room),
        *(
            words(
                x + PAD,
                y + height - below + 4 + DETAIL_STEP * index,
                fitted(text, room, 13),
                "small quiet",
            )
            for index, text in enumerate(queue.details)
        ),
    ]
    if tiles.nodes > 1:
        each = f"a box is {tiles.nodes} nodes"
        parts.append(words(x + width - PAD, y + 57, each, "small quiet", anchor="end"))
    return group(parts, label=label)


def _left_edge(x: float, y: float, height: float) -> str:
    end = y + height
    return (
        f"M{x + 10:g} {y:g}h-1a9 9 0 0 0-9 9V{end - 9:g}a9 9 0 0 0 9 9h1"
        f"a5 5 0 0 1-5-5V{y + 5:g}a5 5 0 0 1 5-5z"
    )


def _pill(x: float, y: float, width: float, text: str) -> str:
    return box(x, y, width, 25, "compute-ground", 12.5) + words(
        x + width / 2, y + 17, text, "pill-text compute", anchor="middle"
    )


def _nodes(queue: QueueFacts, tiles: Tiles, x: float, y: float, room: float) -> Iterator[str]:
    columns = tiles.columns(queue.nodes, room)
    for number in range(tiles.count(queue.nodes)):
        left = x + number % columns * (tiles.width + tiles.gap)
        top = y + number // columns * (tiles.height + tiles.gap)
        runs = number * tiles.nodes < queue.always
        yield node_tile(left, top, tiles, queue.instance_type.gpus, runs=runs)


def node_tile(x: float, y: float, tiles: Tiles, gpus: int, *, runs: bool) -> str:
    """Draw one node with a dot for each GPU; dashed where it comes with jobs."""
    ground = "compute-ground" if runs else "compute-open fine-dashed"
    parts = [box(x, y, tiles.width, tiles.height, ground, 6)]
    if tiles.height > 20 and gpus:
        columns = min(gpus, 4)
        rows = math.ceil(gpus / columns)
        step = min(tiles.width / (columns + 0.6), tiles.height / (rows + 0.6), tiles.height / 3)
        left = x + tiles.width / 2 - step * (columns - 1) / 2
        top = y + tiles.height / 2 - step * (rows - 1) / 2
        dot = "compute" if runs else "compute-open"
        parts += [
            element(
                "circle",
                cx=left + index % columns * step,
                cy=top + index // columns * step,
                r=step * 0.31,
                class_=dot,
            )
            for index in range(gpus)
        ]
    return "".join(parts)


def _stats(queue: QueueFacts, x: float, y: float, room: float) -> Iterator[str]:
    kind = queue.instance_type
    wide = room > WIDE
    shown = []
    if queue.gpus:
        memory = f", {kind.gpu_memory_mib / 1024:.0f} GiB each" if wide else ""
        plural = "" if queue.gpus == 1 else "s"
        shown.append((f"{queue.gpus:,}", f"{queue.accelerator} GPU{plural}{memory}"))
    else:
        shown.append((f"{queue.nodes * kind.vcpus:,}", f"vCPUs, {kind.architecture}"))
    if queue.efa:
        interfaces = "EFA interface" if queue.efa == 1 else "EFA interfaces"
        shown.append((str(queue.efa), f"{interfaces if wide else 'EFA'} a node"))
    if queue.scratch:
        terabytes = kind.nvme_disks * kind.nvme_disk_gb / 1000
        label = f"NVMe, {queue.scratch}" if wide else "NVMe a node"
        shown.append((f"{terabytes:.3g} TB", label))
    yield from stat_row(shown, x, y, room)


def stat_row(
    stats: Sequence[tuple[str, str]], x: float, y: float, room: float, colour: str = "ink"
) -> Iterator[str]:
    """Draw numbers with a label below each, side by side."""
    step = room / max(len(stats), 1)
    style, size = ("big", 23.0) if step > 120 else ("middle", 20.0)
    for index, (number, label) in enumerate(stats):
        left = x + index * step
        yield words(left, y + 22, fitted(number, step - 8, size), f"{style} {colour}")
        yield words(left, y + 42, fitted(label, step - 8, 13), "small quiet")


def machine_card(
    x: float, y: float, width: float, height: float, title: str, lines: Sequence[str], label: str
) -> str:
    """Draw the card of a head node or of login nodes."""
    room = width - 2 * PAD
    rows = [
        words(x + PAD, y + 58 + 21 * index, fitted(text, room, 14.5), "body quiet")
        for index, text in enumerate(lines)
    ]
    return group(
        [
            box(x, y, width, height, "card"),
            words(x + PAD, y + 33, fitted(title, room, 18), "title ink"),
            *rows,
        ],
        label=label,
    )
