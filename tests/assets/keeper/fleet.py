"""Views of a fleet, made with few words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from assets.node.keeper.document import Document, Queue
from assets.node.keeper.view import Group, Instance, Member, Node, Replacement, View

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=2)


def id_of(number: int) -> str:
    return f"i-0000000000000000{number}"


def name_of(number: int, queue: str = "train") -> str:
    return f"{queue}-0000000000000000{number}"


class Fleet:
    """A fleet of one queue whose nodes are all idle, to be changed before it is looked at.

    Args:
        nodes: Nodes of the document.
        have: Nodes that there are; default: as many.
        queue: Further values of the queue.
    """

    def __init__(self, nodes: int = 4, have: int | None = None, **queue: Any) -> None:
        have = nodes if have is None else have
        self.queue = Queue("train", "kait-train", "2", nodes, gpus=8, **queue)
        self.queues = {"train"}
        self.desired = have
        self.group_version = "2"
        self.instances: dict[str, Instance] = {
            "i-0ead": Instance("i-0ead", "running", "head", "", LONG_AGO)
        }
        self.members: dict[str, Member] = {}
        self.slurm: dict[str, Node] = {}
        self.changes: dict[str, Any] = {}
        for number in range(have):
            self.launch(number)
            self.node(number)

    def launch(self, number: int, age: timedelta = timedelta(days=2), version: str = "2") -> Fleet:
        id = id_of(number)
        self.instances[id] = Instance(id, "running", "compute", "train", NOW - age)
        self.members[id] = Member(id, "InService", version)
        return self

    def node(self, number: int, *flags: str, reason: str = "") -> Fleet:
        name = name_of(number)
        self.slurm[name] = Node(name, "10.0.0.1", frozenset(flags or ("IDLE",)), reason)
        return self

    def busy(self, *numbers: int) -> Fleet:
        for number in numbers:
            node = self.slurm[name_of(number)]
            self.node(number, *(node.flags - {"IDLE"}), "ALLOCATED", reason=node.reason)
        return self

    def drained(self, reason: str, *numbers: int) -> Fleet:
        for number in numbers:
            flags = self.slurm[name_of(number)].flags
            self.node(number, *flags, "DRAIN", reason=reason)
        return self

    def outdated(self, *numbers: int) -> Fleet:
        for number in numbers:
            self.members[id_of(number)] = Member(id_of(number), "InService", "1")
        return self

    def state(self, state: str, *numbers: int) -> Fleet:
        for number in numbers:
            self.instances[id_of(number)] = replace(self.instances[id_of(number)], state=state)
        return self

    def silent(self, seconds: float, *numbers: int) -> Fleet:
        silent = {name_of(number): seconds for number in numbers}
        self.changes["silent"] = {**self.changes.get("silent", {}), **silent}
        return self

    def failure(self, number: int, **record: Any) -> Fleet:
        self.slurm.pop(name_of(number), None)
        failures = self.changes.setdefault("failures", {})
        failures[id_of(number)] = {"step": "mount-fsx", "reason": "no answer", **record}
        return self

    def replaced(self, count: int, why: str = "slurmd is silent") -> Fleet:
        made = Replacement(NOW - timedelta(minutes=30), "train", why)
        self.changes["replacements"] = (made,) * count
        return self

    def removed(self) -> Fleet:
        """Take the queue out of the document."""
        self.queues.clear()
        return self

    def but(self, **changes: Any) -> Fleet:
        self.changes.update(changes)
        return self

    @property
    def view(self) -> View:
        queues = dict.fromkeys(self.queues, self.queue)
        document = Document("kait", "0" * 16, queues, timedelta(minutes=30))
        group = Group("kait-train", self.desired, self.group_version, self.members)
        groups: Mapping[str, Group] = {"kait-train": group}
        made = View(NOW, document, groups, self.instances, self.slurm)
        return replace(made, **self.changes)
