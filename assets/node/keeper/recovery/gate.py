"""Whether a queue is open to users, and what brings it there. Pure.

A queue is closed by a reservation for root over all its nodes, which Slurm keeps across restarts
and reconfigurations. It opens once an all-reduce over all of its nodes has passed, and stays open
as long as one of those nodes is there: a replacement is released by its own checks.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

PASSED, FAILED, OPENED = "passed", "failed", "opened by hand"
"""Verdicts; a person may open a queue whose gate cannot pass."""
UNMADE = "the all-reduce could not be made"
_UNMEASURED = "nobody has measured"


@dataclass(frozen=True)
class Record:
    """How a gate ended.

    Args:
        at: When.
        verdict: ``passed``, ``failed`` or ``opened by hand``.
        nodes: Nodes that took part.
        text: What was measured, or what failed.
        job: Its job.
        addresses: Where each node was, on a fleet whose names outlive their instances.
    """

    at: datetime
    verdict: str
    nodes: tuple[str, ...]
    text: str
    job: str = ""
    addresses: tuple[str, ...] = ()

    def among(self, addresses: Mapping[str, str]) -> Record:
        """Return the record as one of nodes that are there: another instance is another node.

        Args:
            addresses: Where each node is now.
        """
        if not self.addresses:
            return self
        named = tuple(
            node if addresses.get(node) == at else f"{node}@{at}"
            for node, at in zip(self.nodes, self.addresses, strict=True)
        )
        return replace(self, nodes=named)


@dataclass(frozen=True)
class QueueState:
    """A queue as the gate sees it.

    Args:
        name: Name of the queue.
        wanted: Nodes that it should have; 0 while its block is not there.
        gpus: GPUs of a node.
        alive: Nodes that Slurm has and does not call down.
        ready: Those of them that are released and idle.
        released: Those of the living that are released, busy or not.
        reserved: Nodes of the queue's reservation. None: there is none.
        record: How the last gate ended.
        job: Job of the gate that is under way.
        again: Whether a person asks for it.
    """

    name: str
    wanted: int
    gpus: int
    alive: tuple[str, ...]
    ready: tuple[str, ...]
    released: tuple[str, ...] = ()
    reserved: tuple[str, ...] | None = None
    record: Record | None = None
    job: str = ""
    again: bool = False


@dataclass(frozen=True)
class Reserve:
    """Close a queue: reserve its nodes for root."""

    queue: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Open:
    """Let users in: take the reservation away."""

    queue: str


@dataclass(frozen=True)
class Run:
    """Submit the all-reduce over all nodes of a queue."""

    queue: str
    nodes: tuple[str, ...]
    gpus: int


@dataclass(frozen=True)
class Adopt:
    """Leave a queue open that was in use before there was a gate."""

    queue: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Pair(Run):
    """Submit the all-reduce over a new node of an open queue, the first, and one that passed."""


Step = Reserve | Open | Run | Adopt


def reservation(queue: str) -> str:
    """Return the name of a queue's reservation."""
    return f"trainshed-gate-{queue}"


def is_open(queue: QueueState) -> bool:
    """Tell whether users may be in a queue."""
    if queue.gpus == 0:
        return True
    record = queue.record
    if record is None or record.verdict == FAILED:
        return False
    if not record.nodes or not queue.alive:
        return True  # opened before any gate, or nobody to keep out
    return bool(set(record.nodes) & set(queue.alive))


def steps(queue: QueueState) -> list[Step]:
    """Return what to do for a queue now."""
    found: list[Step] = []
    if is_open(queue):
        if queue.reserved is not None:
            found.append(Open(queue.name))
    elif queue.record is None and queue.reserved is None and queue.released:
        # Nodes are released only once they are reserved, so these were in use before.
        return [Adopt(queue.name, queue.released)]
    elif queue.alive and queue.alive != queue.reserved:
        return [Reserve(queue.name, queue.alive)]
    if queue.job or not queue.gpus:
        return found
    complete = 0 < queue.wanted <= len(queue.ready) and len(queue.ready) == len(queue.alive)
    if queue.again and queue.released:
        found.append(Run(queue.name, queue.released, queue.gpus))  # waits for their jobs to end
    elif complete and _due(queue):
        found.append(Run(queue.name, queue.ready, queue.gpus))
    return found


def pair(queue: QueueState, tried: Collection[str]) -> list[Step]:
    """Return the all-reduce that a new node of an open queue has not passed yet.

    Args:
        queue: The queue.
        tried: Nodes that had theirs.
    """
    record = queue.record
    if record is None or record.verdict != PASSED or not queue.gpus:
        return []
    if queue.job or queue.reserved is not None:
        return []
    new = [name for name in queue.ready if name not in record.nodes and name not in tried]
    others = [name for name in queue.ready if name in record.nodes]
    return [Pair(queue.name, (new[0], others[0]), queue.gpus)] if new and others else []


def _due(queue: QueueState) -> bool:
    """Tell whether a gate is due; one that failed is tried again with other nodes only."""
    if is_open(queue):
        return False
    return queue.record is None or set(queue.record.nodes) != set(queue.ready)


def feature(queue: QueueState, node: str) -> str:
    """Return the feature that says how a node's gate has ended; empty where it took no part."""
    record = queue.record
    if record is None or node not in record.nodes:
        return ""
    return f"gate_{record.verdict.partition(' ')[0]}"


def judge(code: int, line: str, nodes: tuple[str, ...], at: datetime, job: str) -> Record:
    """Return the record of a gate from its exit code and the line that nccl_gate wrote.

    Where nobody has measured nodes like these, values and transport decide, and the record says so;
    any other warning fails, as with ``nccl_gate.py --strict``.
    """
    try:
        said: Mapping[str, Any] = json.loads(line)
        verdict, evidence = str(said["verdict"]), str(said["evidence"])
    except (ValueError, KeyError, TypeError):
        text = f"{UNMADE} (code {code}): {line.strip()[-200:]}"
        return Record(at, FAILED, nodes, text, job)
    if verdict == "ok":
        return Record(at, PASSED, nodes, evidence, job)
    if verdict == "warn" and code == 0 and unmeasured_alone(evidence):
        text = f"bandwidth is not judged, no row of the table is like it: {evidence}"
        return Record(at, PASSED, nodes, text, job)
    return Record(at, FAILED, nodes, evidence, job)


def unmeasured_alone(evidence: str) -> bool:
    """Tell whether the only thing to warn of is that there is no row in the table."""
    return all(_UNMEASURED in part for part in evidence.split("; "))
