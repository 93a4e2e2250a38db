"""All-reduce bandwidths that were measured, and the least that a run has to reach.

A threshold is a measurement times a tolerance, never a figure of a datasheet: the tables that go
round ask for 800 GB/s where 289 was measured, so they only warn. Whoever has better data adds a
row with its source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SAME, BORROWED = 0.85, 0.7
"""Tolerances: for what was measured on the same hardware, and on hardware like it.

Runs of one cluster differ by a few percent; a lost NVLink or EFA interface costs more than 15.
A borrowed row is for the same NVLink generation and the same network speed, but other counts of
nodes or interfaces.
"""

MIB, GIB = 2**20, 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBandwidth:
    """Bus bandwidth of an all-reduce as somebody measured it.

    Args:
        on: Instance types that it was measured on.
        also: Instance types with hardware like it, which borrow the row.
        nodes: Fewest and most nodes that the row is for; 0 as the most: any number.
        gpus_per_node: GPUs that took part on each node.
        size_bytes: Size of the message.
        bus_gb_s: Bus bandwidth, in GB/s (10**9 bytes).
        source: Who measured it where, and the date of the source.
    """

    on: tuple[str, ...]
    also: tuple[str, ...] = ()
    nodes: tuple[int, int]
    gpus_per_node: int = 8
    size_bytes: int
    bus_gb_s: float
    source: str


_OURS = "2 H200 of one server, NVLink only, NVLS off, nccl-tests 2.19.6, NCCL 2.28.9, 2026-11-29"
_H200 = "NVIDIA/nccl-tests#272, 8 H200 of one server, 2024-11-27"
_P4D = "NVIDIA/nccl#527, 2022-07-25"
_P4DE = "AWS awsome-distributed-ai, micro-benchmarks/nccl-tests, 2 p4de, read 2026-11-29"
_P5 = "AWS awsome-distributed-ai, micro-benchmarks/nccl-tests, 2 p5, read 2026-11-29"
_P5EN = "AWS awsome-distributed-ai, topology-aware-nccl-tests, p5en, read 2026-11-29"
_H200_TYPES = ("p5e.48xlarge", "p5en.48xlarge")

MEASURED: Sequence[MeasuredBandwidth] = (
    *(
        MeasuredBandwidth(
            on=_H200_TYPES,
            also=("p5.48xlarge",),
            nodes=(1, 1),
            gpus_per_node=2,
            size_bytes=size,
            bus_gb_s=speed,
            source=_OURS,
        )
        for size, speed in ((GIB, 327.3), (4 * GIB, 345.53), (16 * GIB, 345.19))
    ),
    MeasuredBandwidth(
        # On other servers than AWS's, with NVLink SHARP: without it 370 (NVIDIA/nccl#2140).
        on=(),
        also=(*_H200_TYPES, "p5.48xlarge"),
        nodes=(1, 1),
        size_bytes=4 * GIB,
        bus_gb_s=475.0,
        source=_H200,
    ),
    MeasuredBandwidth(
        on=("p4d.24xlarge",),
        also=("p4de.24xlarge",),
        nodes=(1, 1),
        size_bytes=GIB,
        bus_gb_s=230.8,
        source=_P4D,
    ),
    *(
        MeasuredBandwidth(
            on=("p4de.24xlarge",),
            also=("p4d.24xlarge",),
            nodes=(2, 2),
            size_bytes=size,
            bus_gb_s=speed,
            source=_P4DE,
        )
        for size, speed in ((GIB, 76.79), (2 * GIB, 78.33))
    ),
    *(
        MeasuredBandwidth(
            on=("p5.48xlarge",),
            also=("p5e.48xlarge",),
            nodes=(2, 2),
            size_bytes=size,
            bus_gb_s=speed,
            source=_P5,
        )
        for size, speed in (
            (128 * MIB, 289.16),
            (GIB, 436.95),
            (4 * GIB, 465.87),
            (16 * GIB, 487.09),
        )
    ),
    MeasuredBandwidth(
        # The source does not say how many nodes; its scripts run 8, 16 and 32.
        on=(),
        also=("p5en.48xlarge",),
        nodes=(2, 0),
        size_bytes=16 * GIB,
        bus_gb_s=369.86,
        source=_P5EN,
    ),
    MeasuredBandwidth(
        on=(),
        also=("p5.48xlarge", "p5e.48xlarge"),
        nodes=(3, 0),
        size_bytes=16 * GIB,
        bus_gb_s=369.86,
        source=_P5EN,
    ),
)
"""The measurements. No row for p6, g6e and others: nobody has published one that says how."""


def bandwidth_rows(instance_type: str) -> list[dict[str, Any]]:
    """Return the rows of the table for an instance type, as the program on the nodes reads them.

    Args:
        instance_type: Name of the type. Empty list: nobody has measured it.
    """
    return [
        {
            "nodes_from": row.nodes[0],
            "nodes_to": row.nodes[1],
            "gpus_per_node": row.gpus_per_node,
            "size_bytes": row.size_bytes,
            "measured_gb_s": row.bus_gb_s,
            "least_gb_s": round(row.bus_gb_s * (SAME if instance_type in row.on else BORROWED), 1),
            "source": row.source,
        }
        for row in MEASURED
        if instance_type in row.on or instance_type in row.also
    ]
