"""The fleet document: what the fleet should be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

GRACE = timedelta(minutes=10)
"""So long jobs go on in a block that is left, to save their work."""


@dataclass(frozen=True)
class Queue:
    """A queue and its Auto Scaling group.

    Args:
        name: Name of the queue, a feature of its nodes.
        group: Name of the Auto Scaling group.
        version: Version of the launch template that nodes should have.
        nodes: Nodes that the queue should have.
        gpus: GPUs of a node.
        reserved: Whether a reservation or a Capacity Block is behind it.
        start: When its block begins.
        drain_from: When its block is left, some time before it ends.
        drain: That time.
        reservation: Id of the reservation or block.
    """

    name: str
    group: str
    version: str
    nodes: int
    gpus: int = 0
    reserved: bool = False
    start: datetime | None = None
    drain_from: datetime | None = None
    drain: timedelta = timedelta()
    reservation: str = ""

    def ending(self, end: datetime) -> Queue:
        """Return the queue with the end of its block that AWS tells, if that comes first."""
        if self.drain_from is None:
            return self
        return replace(self, drain_from=min(self.drain_from, end - self.drain))

    def warned(self, at: datetime) -> Queue:
        """Return the queue whose block is left once AWS has warned that it takes it away."""
        if self.drain_from is None:
            return self
        return replace(self, drain_from=min(self.drain_from, at))

    def closes(self, now: datetime) -> bool:
        """Tell whether the queue's block is left or over."""
        return self.drain_from is not None and now >= self.drain_from

    def ceiling(self, now: datetime) -> int:
        """Return the most nodes that the queue may have."""
        return 0 if self.closes(now) else self.nodes

    def waits(self, now: datetime, desired: int) -> bool:
        """Tell whether the queue's block has not begun, so that no node is missing."""
        if self.start is not None:
            return now < self.start
        return self.reserved and desired == 0


@dataclass(frozen=True)
class Gate:
    """What nodes and queues have to pass before users are let in.

    Args:
        minutes: How long checks and all-reduce may take.
        strict: Whether an all-reduce that nobody has measured before does not pass.
    """

    minutes: int = 25
    strict: bool = False


@dataclass(frozen=True)
class Document:
    """The fleet."""

    cluster: str
    generation: str
    queues: Mapping[str, Queue]
    boot_timeout: timedelta
    gate: Gate | None = None

    @property
    def blocks(self) -> set[str]:
        """Ids of the Capacity Blocks."""
        return {q.reservation for q in self.queues.values() if q.drain_from and q.reservation}

    def ending(self, ends: Mapping[str, datetime], warnings: Mapping[str, datetime]) -> Document:
        """Return the document with what EC2 tells of blocks, where that comes first.

        Args:
            ends: When blocks end.
            warnings: When EC2 first warned that it takes a block away.
        """
        queues = dict(self.queues)
        for name, queue in self.queues.items():
            if queue.reservation in ends:
                queues[name] = queues[name].ending(ends[queue.reservation])
            if queue.reservation in warnings:
                queues[name] = queues[name].warned(warnings[queue.reservation])
        return replace(self, queues=queues)


def generation(text: str) -> str:
    """Return the generation of a document: what tells one version from another."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def parse(text: str) -> Document:
    """Read a fleet document.

    Raises:
        ValueError: It is none, or one of another schema.
    """
    try:
        values = json.loads(text)
        if values["schema"] != 1:
            raise ValueError(f"schema is {values['schema']!r}; this keeper reads 1")
        return Document(
            cluster=values["cluster"],
            generation=generation(text),
            queues={name: _queue(name, queue) for name, queue in values["queues"].items()},
            boot_timeout=timedelta(minutes=int(values.get("boot_timeout_minutes", 30))),
            gate=_gate(values.get("gate")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no fleet document: {error!r}") from error


def _gate(values: object) -> Gate | None:
    if not values:
        return None
    given = values if isinstance(values, Mapping) else {}
    return Gate(int(given.get("minutes", Gate.minutes)), bool(given.get("strict")))


def _queue(name: str, values: Mapping[str, object]) -> Queue:
    end = time(values.get("end"))
    drain = timedelta(minutes=int(str(values.get("drain_minutes") or 0)))
    return Queue(
        name=name,
        group=str(values["asg"]),
        version=str(values["version"]),
        nodes=int(str(values["nodes"])),
        gpus=int(str(values.get("gpus") or 0)),
        reserved=bool(values.get("reservation_id")),
        start=time(values.get("start")),
        drain_from=end - drain if end else None,
        drain=drain,
        reservation=str(values.get("reservation_id") or ""),
    )


def time(text: object) -> datetime | None:
    """Read a time of the document; one without a zone is in UTC."""
    if not text:
        return None
    # Python 3.10 does not read the Z.
    read = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    return read if read.tzinfo else read.replace(tzinfo=timezone.utc)  # noqa: UP017
