"""What the keeper sees in one round. A part that could not be read is None, and never empty."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .document import Document, Queue

OURS = "trainshed: "
"""Begins every reason that the keeper gives a node."""
_NODE_NAME = re.compile(r"(?P<queue>.+)-(?P<id>[0-9a-f]{8,17})")
_BUSY = frozenset({"ALLOCATED", "MIXED", "COMPLETING"})
_STARTING = frozenset({"REBOOT_ISSUED", "REBOOT_REQUESTED", "REBOOT", "POWERING_UP"})


@dataclass(frozen=True)
class Instance:
    """An instance of the cluster, as EC2 tells it."""

    id: str
    state: str
    role: str
    queue: str
    launched: datetime


@dataclass(frozen=True)
class Member:
    """An instance of a group, as Auto Scaling tells it; version is None if it does not say."""

    id: str
    lifecycle: str
    version: str | None


@dataclass(frozen=True)
class Group:
    """An Auto Scaling group."""

    name: str
    desired: int
    version: str | None
    members: Mapping[str, Member]


@dataclass(frozen=True)
class Node:
    """A node, as Slurm tells it."""

    name: str
    address: str
    flags: frozenset[str]
    reason: str = ""

    @property
    def busy(self) -> bool:
        """Whether it has jobs, or what is left of them."""
        return bool(self.flags & _BUSY)

    @property
    def drained(self) -> bool:
        """Whether it gets no new jobs."""
        return bool(self.flags & {"DRAIN", "DOWN"})

    @property
    def starting(self) -> bool:
        """Whether Slurm or a health check is starting it anew, so that it is rightly silent."""
        return bool(self.flags & _STARTING) or self.reason.startswith("health: rebooting")

    @property
    def held(self) -> bool:
        """Whether a person has taken it out."""
        return self.drained and bool(self.reason) and not self.reason.startswith((OURS, "health: "))


@dataclass(frozen=True)
class Replacement:
    """A node that the keeper took away to have it replaced; noted before that is done."""

    at: datetime
    queue: str
    why: str
    instance: str = ""


@dataclass(frozen=True)
class View:
    """One round's knowledge.

    Args:
        now: The time.
        document: What the fleet should be.
        groups: Auto Scaling groups of the document, by name.
        instances: Instances of the cluster, by id.
        nodes: Slurm's nodes, by name.
        silent: Seconds for which slurmd of a node has not answered; nodes that answer are left out.
        failures: What instances wrote that gave up booting, by instance id.
        replacements: What was replaced in the last hour.
        ends_at: When jobs end for the deletion of the cluster.
        settled: Whether the document was read just now and is live on the head node.
    """

    now: datetime
    document: Document
    groups: Mapping[str, Group] | None = None
    instances: Mapping[str, Instance] | None = None
    nodes: Mapping[str, Node] | None = None
    silent: Mapping[str, float] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    replacements: tuple[Replacement, ...] = ()
    ends_at: datetime | None = None
    settled: bool = True

    @property
    def whole(self) -> bool:
        """Whether everything that decisions rest on could be read."""
        return None not in (self.groups, self.instances, self.nodes)


@dataclass(frozen=True)
class Row:
    """An instance of a queue with all that is known of it."""

    instance: Instance
    name: str
    member: Member | None
    node: Node | None
    silent: float
    failure: Mapping[str, Any] | None
    outdated: bool

    def age(self, now: datetime) -> timedelta:
        """Return the time since its launch."""
        return now - self.instance.launched


def instance_of(node_name: str) -> str | None:
    """Return the id of the instance that a node's name has in it."""
    match = _NODE_NAME.fullmatch(node_name)
    return f"i-{match['id']}" if match else None


def rows(view: View, queue: Queue) -> Iterator[Row]:
    """Return the instances of a queue that are still listed, in the order of their ids."""
    group = (view.groups or {}).get(queue.group)
    for id, instance in sorted((view.instances or {}).items()):
        if instance.role != "compute" or instance.queue != queue.name:
            continue
        name = f"{queue.name}-{id[2:]}"
        member = group.members.get(id) if group else None
        version = member.version if member else None
        yield Row(
            instance=instance,
            name=name,
            member=member,
            node=(view.nodes or {}).get(name),
            silent=view.silent.get(name, 0),
            failure=view.failures.get(id),
            outdated=version is not None and version != queue.version,
        )
