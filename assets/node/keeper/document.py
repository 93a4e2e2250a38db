"""The fleet document: what the fleet should be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone


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
    """

    name: str
    group: str
    version: str
    nodes: int
    gpus: int = 0
    reserved: bool = False
    start: datetime | None = None
    drain_from: datetime | None = None

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
class Document:
    """The fleet."""

    cluster: str
    generation: str
    queues: Mapping[str, Queue]
    boot_timeout: timedelta


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
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no fleet document: {error!r}") from error


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
    )


def time(text: object) -> datetime | None:
    """Read a time of the document; one without a zone is in UTC."""
    if not text:
        return None
    # Python 3.10 does not read the Z.
    read = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    return read if read.tzinfo else read.replace(tzinfo=timezone.utc)  # noqa: UP017
