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
_P6 = "AWS awsome-distributed-ai, architectures/aws-pcs/tests/compute-test.md, {}, 2026-06-19"
_B200, _B300 = _P6.format("4 p6-b200"), _P6.format("2 p6-b300")
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
    *(
        MeasuredBandwidth(
            on=("p6-b200.48xlarge",),
            nodes=(4, 4),
            size_bytes=size,
            bus_gb_s=speed,
            source=_B200,
        )
        for size, speed in ((128 * MIB, 295.0), (GIB, 367.0), (4 * GIB, 375.0), (16 * GIB, 377.0))
    ),
    *(
        MeasuredBandwidth(
            on=(),
            also=("p6-b200.48xlarge",),
            nodes=nodes,
            size_bytes=16 * GIB,
            bus_gb_s=377.0,
            source=_B200,
        )
        for nodes in ((2, 3), (5, 0))
    ),
    MeasuredBandwidth(
        # 751 at 64 GiB, which the gate does not run.
        on=("p6-b300.48xlarge",),
        nodes=(2, 2),
        size_bytes=16 * GIB,
        bus_gb_s=654.0,
        source=_B300,
    ),
    MeasuredBandwidth(
        on=(),
        also=("p6-b300.48xlarge",),
        nodes=(3, 0),
        size_bytes=16 * GIB,
        bus_gb_s=654.0,
        source=_B300,
    ),
)
"""The measurements; docs/health.md says what has none, and what then."""


def is_measured(instance_type: str, nodes: int, gpus_per_node: int) -> bool:
    """Tell whether a row of the table is for an all-reduce over so many nodes and GPUs."""
    return any(
        row["nodes_from"] <= nodes <= (row["nodes_to"] or nodes)
        and row["gpus_per_node"] == gpus_per_node
        for row in bandwidth_rows(instance_type)
    )


def largest_message(gpu_memory_mib: int) -> int:
    """Return the largest message that the gate sends between GPUs of so much memory, in bytes.

    nccl-tests holds three copies of it beside 2 GiB for the rest (``maxMem`` in its common.cu, read
    2026-11-30) and lowers what it is told to; the gate goes up in powers of two, to 16 GiB.
    """
    size = 16 * GIB
    while size > 128 * MIB and 3 * size > gpu_memory_mib * MIB * 0.92 - 2 * GIB:
        size //= 2
    return size


def own_row(
    gpus_per_node: int, least_bus_gb_s: float, size_bytes: int = 16 * GIB
) -> dict[str, Any]:
    """Return the row of a threshold that an institution has set itself, for any number of nodes.

    Args:
        gpus_per_node: GPUs of a node.
        least_bus_gb_s: Least bus bandwidth, in GB/s.
        size_bytes: Size of the message that it is for.
    """
    return {
        "nodes_from": 1,
        "nodes_to": 0,
        "gpus_per_node": gpus_per_node,
        "size_bytes": size_bytes,
        "measured_gb_s": least_bus_gb_s,
        "least_gb_s": least_bus_gb_s,
        "source": "fleet.slurm.gate.least_bus_gb_s",
    }


def bandwidth_rows(instance_type: str, tolerance: float | None = None) -> list[dict[str, Any]]:
    """Return the rows of the table for an instance type, as the program on the nodes reads them.

    Args:
        instance_type: Name of the type. Empty list: nobody has measured it.
        tolerance: Share of what was measured that is enough. Default: that of each row.
    """
    return [
        {
            "nodes_from": row.nodes[0],
            "nodes_to": row.nodes[1],
            "gpus_per_node": row.gpus_per_node,
            "size_bytes": row.size_bytes,
            "measured_gb_s": row.bus_gb_s,
            "least_gb_s": round(row.bus_gb_s * (tolerance or _tolerance(row, instance_type)), 1),
            "source": row.source,
        }
        for row in MEASURED
        if instance_type in row.on or instance_type in row.also
    ]


def _tolerance(row: MeasuredBandwidth, instance_type: str) -> float:
    return SAME if instance_type in row.on else BORROWED


def unmeasured(instance_type: str, nodes: int, gpus_per_node: int) -> str:
    """Return that nobody has measured an all-reduce; empty where somebody has."""
    if is_measured(instance_type, nodes, gpus_per_node):
        return ""
    return (
        f"nobody has measured an all-reduce over {nodes} x {gpus_per_node} GPUs of {instance_type}"
    )


def tolerance_of_nothing(tolerance: float | None, least_bus_gb_s: float | None) -> str:
    """Return what is wrong with a tolerance beside a bandwidth that is given; empty if nothing."""
    if tolerance is None or least_bus_gb_s is None:
        return ""
    return (
        f"is {tolerance:g} beside least_bus_gb_s, which no measurement is behind; "
        "leave one of them out"
    )
