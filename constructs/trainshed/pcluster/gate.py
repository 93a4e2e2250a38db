"""What the gate of a ParallelCluster cluster has to judge by, and where it cannot pass. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..config.faults import Fault
from ..health import expected_hardware, tolerance_of_nothing, unmeasured

if TYPE_CHECKING:
    from ..config.fleet import Fleet, Queue
    from ..facts import InstanceType

AT = ("parallelcluster", "gate")


def gate_document(fleet: Fleet) -> dict[str, Any]:
    """Return what the head node's document says of the gate; nothing where there is none."""
    gate = fleet.parallelcluster.gate
    return {"gate": {"program": gate.all_reduce_perf, "strict": gate.strict}} if gate else {}


def gated_queue(
    fleet: Fleet, queue: Queue, kind: InstanceType, *, cluster_name: str
) -> dict[str, Any]:
    """Return what the head node's document says of a queue that the gate is for.

    Nodes that start for a job and stop after it are never there all at once, so that only nodes
    that always run take part.

    Args:
        fleet: The fleet.
        queue: The queue.
        kind: Facts of its instance type.
        cluster_name: Name of the cluster.
    """
    gate = fleet.parallelcluster.gate
    if gate is None or not kind.gpus or not queue.least_nodes:
        return {}
    expect = expected_hardware(
        kind,
        cluster_name=cluster_name,
        efa=queue.uses_efa(kind),
        tolerance=gate.tolerance,
        least_bus_gb_s=gate.least_bus_gb_s,
    )
    return {"gpus": kind.gpus, "static_nodes": queue.least_nodes, "expect": expect}


def head_metrics(fleet: Fleet) -> tuple[str, ...]:
    """Return the metrics that the head node sends to CloudWatch itself, for alarms."""
    gate = ["queues_closed"] if fleet.parallelcluster.gate else []
    # Without a database Slurm keeps no account of jobs that are over.
    goodput = ["goodput_percent"] if fleet.accounting else []
    return ("nodes_held", *gate, *goodput)


def gate_faults(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> Iterator[Fault]:
    """Yield where the gate cannot be passed, or has nothing to do.

    Args:
        fleet: The fleet.
        known_types: Facts of instance types by name.
    """
    gate = fleet.parallelcluster.gate
    if gate is None:
        return
    if reason := tolerance_of_nothing(gate.tolerance, gate.least_bus_gb_s):
        yield Fault((*AT, "tolerance"), reason)
    is_whole = all(queue.instance_type in known_types for queue in fleet.queues.values())
    if is_whole and not any(_gated(fleet, known_types)):
        yield Fault(AT, "has no queue with GPUs and min_nodes above 0 to run over; leave it out")
    if gate.strict:
        for name, what in _unmeasured(fleet, known_types):
            yield Fault(
                ("queues", name, "instance_type"),
                f"{what}, and parallelcluster.gate.strict lets in nothing that is not judged: give "
                "parallelcluster.gate.least_bus_gb_s, or leave strict out",
            )


def gate_warnings(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> list[str]:
    """Return what the gate does not judge, a line each, or that there is none."""
    gated = ", ".join(name for name, _, _ in _gated(fleet, known_types))
    if fleet.parallelcluster.gate is None and gated:
        return [
            "fleet.parallelcluster.gate names no all_reduce_perf: users get nodes of "
            f"{gated} after the checks of each, and no all-reduce over them"
        ]
    return [
        f"fleet.queues.{name}: {what}; its gate judges the rest, and says so"
        for name, what in _unmeasured(fleet, known_types)
    ]


def _gated(
    fleet: Fleet, known_types: Mapping[str, InstanceType]
) -> Iterator[tuple[str, int, InstanceType]]:
    """Yield the queues that a gate runs over, with their nodes."""
    for name, queue in fleet.queues.items():
        kind = known_types.get(queue.instance_type)
        if kind is not None and kind.gpus and queue.least_nodes:
            yield name, queue.least_nodes, kind


def _unmeasured(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> Iterator[tuple[str, str]]:
    """Yield the gated queues whose bandwidth nothing is known of, and why."""
    gate = fleet.parallelcluster.gate
    if gate is None or gate.least_bus_gb_s is not None:
        return
    for name, nodes, kind in _gated(fleet, known_types):
        if what := unmeasured(kind.name, nodes, kind.gpus):
            yield name, what
