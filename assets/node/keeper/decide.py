"""What to do in one round. Pure: a view goes in, actions come out, and nothing is remembered.

Rules that hold whatever happens:
- Without all of the information nothing is done.
- A silent node's instance is ended before its jobs start again: no job ever has two copies.
- Nodes are taken from service by choice only while nearly all others serve, and at a limited rate.
- Only instances with the cluster's tag and a queue of the document are touched; nodes of a queue
  that left the document get no new jobs, and nothing else is done to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from .document import GRACE, Queue
from .leaving import REMOVED, drains
from .view import OURS, Node, Row, View, instance_of, rows

SUSPECT_SECONDS = 30
"""A node that is silent for so long gets no new jobs."""
LOST_SECONDS = 120
"""A node that is silent for so long is ended; a restart of slurmd takes less."""
REPLACEMENTS_AN_HOUR = 4
"""More than this is no longer bad luck with hardware, and a person has to look."""
FAILED_BOOT_KEPT = timedelta(minutes=15)
"""For so long a node that did not boot is left for a person to look at."""

SILENT = f"{OURS}silent"
OUTDATED = f"{OURS}outdated"
SURPLUS = f"{OURS}surplus"
BLOCK_ENDS = f"{OURS}block ends"
DELETED = f"{OURS}cluster is deleted"
_RUNNING = {"pending", "running"}
_OVER = {"shutting-down", "terminated"}


@dataclass(frozen=True)
class Drain:
    """Let a node have no new jobs."""

    node: str
    reason: str


@dataclass(frozen=True)
class Resume:
    """Let a node have jobs again."""

    node: str


@dataclass(frozen=True)
class Fence:
    """End an instance at once, jobs or not; its jobs start again once it is terminated."""

    instance: str
    queue: str
    why: str


@dataclass(frozen=True)
class Terminate:
    """End an instance that has no jobs; its group replaces it, or is smaller by one."""

    instance: str
    queue: str
    why: str
    decrement: bool
    counts: bool = False
    """Whether it counts against the limit of replacements."""


@dataclass(frozen=True)
class Remove:
    """Take a node out of Slurm whose instance is terminated; its jobs start elsewhere."""

    node: str
    instance: str


@dataclass(frozen=True)
class SetDesired:
    """Lower a group's desired capacity to what it has: nothing is terminated by it."""

    group: str
    capacity: int


@dataclass(frozen=True)
class EndJobs:
    """Bring the jobs of nodes to an end, after the warning that each asked for."""

    nodes: tuple[str, ...]
    at: datetime
    requeue: bool


Action = Drain | Resume | Fence | Terminate | Remove | SetDesired | EndJobs


def decide(view: View) -> list[Action]:
    """Return what to do now, in this order."""
    if not view.whole:
        return []
    if view.ends_at is not None:
        return list(_delete(view, view.ends_at))
    budget = Budget(view)
    actions: list[Action] = list(_removals(view))
    actions += [Drain(name, REMOVED) for name in drains(view)]
    actions += _unlisted(view)
    for _, queue in sorted(view.document.queues.items()):
        if view.groups is None or queue.group not in view.groups:
            continue
        actions += _Queue(view, queue, budget).decide()
    return actions


class Budget:
    """How many replacements are left of this hour's."""

    def __init__(self, view: View) -> None:
        self._left = REPLACEMENTS_AN_HOUR - len(view.replacements)
        self._noted = {each.instance for each in view.replacements}

    @property
    def spent(self) -> bool:
        """Whether none is left."""
        return self._left <= 0

    def take(self, instance: str) -> bool:
        """Take one, if there is one; what was noted and not done is paid for already."""
        if instance in self._noted:
            return True
        self._left -= 1
        return self._left >= 0


def at_once(nodes: int) -> int:
    """Return how many nodes of a queue may be away by choice."""
    return max(1, nodes // 4)


def verdict(node: Node) -> str:
    """Return what health checks say of a node by its reason: ``now``, ``idle`` or nothing."""
    if not node.drained or not node.reason.startswith("health: replace"):
        return ""
    return "now" if node.reason.startswith("health: replace now") else "idle"


def lost(view: View, row: Row) -> bool:
    """Tell whether a node has not answered for too long."""
    node = row.node
    if node is None or row.silent < LOST_SECONDS or row.instance.state != "running":
        return False
    if node.starting and row.silent < view.document.boot_timeout.total_seconds():
        return False
    # A person who has taken a node out may stop what is on it.
    return node.busy or not node.held


def failed(view: View, row: Row) -> bool:
    """Tell whether an instance did not become a node."""
    if row.node is not None or row.instance.state not in _RUNNING:
        return False
    return row.failure is not None or row.age(view.now) > view.document.boot_timeout


def many_silent(view: View, queue: Queue) -> bool:
    """Tell whether so many nodes are silent at once that the fault is rather on our side.

    Of the queue or of the fleet: queues of one node each are silent together, too.
    """
    fleet = [row for each in view.document.queues.values() for row in rows(view, each)]
    return _most_silent(rows(view, queue)) or _most_silent(fleet)


def _most_silent(of: Iterable[Row]) -> bool:
    alive = [row for row in of if row.node and row.instance.state == "running"]
    silent = [row for row in alive if row.silent >= SUSPECT_SECONDS]
    return len(silent) > max(1, len(alive) // 2)


def _removals(view: View) -> Iterator[Action]:
    """Nodes whose instance EC2 says is terminated, of whatever queue."""
    for name in sorted(view.nodes or {}):
        id = instance_of(name)
        found = (view.instances or {}).get(id or "")
        # An instance that EC2 does not list is no proof that it has ended.
        if found is not None and found.state == "terminated" and found.role == "compute":
            yield Remove(name, found.id)


def _unlisted(view: View) -> Iterator[Action]:
    """Let silent nodes whose instance EC2 does not list have no jobs until more is known."""
    for name, seconds in sorted(view.silent.items()):
        node, id = (view.nodes or {}).get(name), instance_of(name)
        listed = id is None or id in (view.instances or {})
        if node and not listed and seconds >= SUSPECT_SECONDS and not _excused(node):
            yield Drain(name, SILENT)


def _delete(view: View, ends_at: datetime) -> Iterator[Action]:
    """Empty the nodes; the custom resource takes the instances."""
    busy = []
    for name, node in sorted((view.nodes or {}).items()):
        if instance_of(name) is None:
            continue
        if not node.drained:
            yield Drain(name, DELETED)
        if node.busy:
            busy.append(name)
    if busy:
        yield EndJobs(tuple(busy), ends_at, requeue=False)


class _Queue:
    """The decisions of one queue."""

    def __init__(self, view: View, queue: Queue, budget: Budget) -> None:
        self.view, self.queue, self.budget = view, queue, budget
        self.group = (view.groups or {})[queue.group]
        self.closes = queue.closes(view.now)
        listed = [row for row in rows(view, queue) if row.instance.state not in _OVER]
        self.running = [row for row in listed if row.instance.state in _RUNNING]
        self.stopped = [row for row in listed if row.instance.state not in _RUNNING]
        # Others may have the tags, too; only the group's own are taken away by choice.
        self.rows = [
            row
            for row in self.running
            if row.member is not None and not row.member.lifecycle.startswith("Terminating")
        ]
        self.taken: set[str] = set()

    def decide(self) -> Iterator[Action]:
        yield from self._fences()
        if self.view.settled:
            yield from self._surplus()
        yield from self._unhealthy()
        if self.view.settled:
            if not self.closes:
                yield from self._outdated()
            yield from self._resumes()

    def _fences(self) -> Iterator[Action]:
        for row in self.stopped:
            yield Fence(row.instance.id, self.queue.name, "its instance has stopped")
        blind = many_silent(self.view, self.queue)
        for row in self.running:
            why = ""
            if lost(self.view, row) and not blind:
                why = f"slurmd has not answered for {row.silent:.0f} s"
            elif row.node and verdict(row.node) == "now":
                why = row.node.reason
            if why and self.budget.take(row.instance.id):
                self.taken.add(row.name)
                yield Fence(row.instance.id, self.queue.name, why)
            elif row.node and row.silent >= SUSPECT_SECONDS and not _excused(row.node):
                self.taken.add(row.name)
                yield Drain(row.name, SILENT)

    def _surplus(self) -> Iterator[Action]:
        """Take away what is too much, idle nodes first."""
        ceiling = self.queue.ceiling(self.view.now)
        excess = len(self.rows) - ceiling
        reason = BLOCK_ENDS if self.closes else SURPLUS
        desired = self.group.desired
        victims = sorted(self._removable(), key=_worth)[: max(0, excess)]
        busy = []
        for row in victims:
            self.taken.add(row.name)
            if row.node is not None and not row.node.drained:
                yield Drain(row.name, reason)
            elif row.node is None or not row.node.busy:
                yield Terminate(
                    row.instance.id, self.queue.name, reason[len(OURS) :], desired > ceiling
                )
                desired -= desired > ceiling
            if row.node is not None and row.node.busy:
                busy.append(row.name)
        if self.closes and self.queue.drain_from is not None and busy:
            yield EndJobs(tuple(busy), self.queue.drain_from + GRACE, requeue=True)
        most = max(ceiling, len(self.rows))
        if desired == self.group.desired > most:
            yield SetDesired(self.group.name, most)

    def _removable(self) -> Iterator[Row]:
        """Return what may be surplus. A starting node has to come first, lest it gets a job."""
        for row in self.rows:
            if row.name in self.taken:
                continue
            if row.node is not None or failed(self.view, row) or self.closes:
                yield row

    def _unhealthy(self) -> Iterator[Action]:
        """Replace nodes that health checks gave up, and one that did not boot."""
        for row in self.rows:
            node = row.node
            if row.name in self.taken or node is None or verdict(node) != "idle":
                continue
            self.taken.add(row.name)
            if not node.busy and self.budget.take(row.instance.id):
                yield Terminate(row.instance.id, self.queue.name, node.reason, False, counts=True)
        failures = [row for row in self.rows if failed(self.view, row)]
        tried = any(
            each.queue == self.queue.name
            and each.why == "it did not boot"
            and each.instance not in {row.instance.id for row in failures}
            for each in self.view.replacements
        )
        # Two that do not boot have a common cause, which a third one would have too.
        if len(failures) != 1 or tried or failures[0].name in self.taken:
            return
        row = failures[0]
        if row.age(self.view.now) > FAILED_BOOT_KEPT and self.budget.take(row.instance.id):
            self.taken.add(row.name)
            yield Terminate(row.instance.id, self.queue.name, "it did not boot", False, counts=True)

    def _outdated(self) -> Iterator[Action]:
        """Replace nodes of an earlier launch template, a few at a time, idle ones first."""
        if self.group.version != self.queue.version:
            return  # the group would launch the same version again
        limit, away = at_once(self.queue.nodes), self._away()
        old = [row for row in self.rows if row.outdated and row.name not in self.taken]
        draining = 0
        for row in old:
            if row.node is None or row.node.reason != OUTDATED or not row.node.drained:
                continue
            self.taken.add(row.name)
            if row.node.busy:
                draining += 1
            elif away <= limit:
                yield Terminate(row.instance.id, self.queue.name, "outdated", decrement=False)
        fresh = [row for row in old if row.node and not row.node.drained and row.silent == 0]
        for row in sorted(fresh, key=lambda row: (_busy(row), row.name)):
            idle = not _busy(row)
            if away >= limit or (not idle and draining >= limit):
                break
            self.taken.add(row.name)
            yield Drain(row.name, OUTDATED)
            away, draining = away + idle, draining + (not idle)

    def _away(self) -> int:
        """Return how many nodes do not serve, those apart that a person has taken out."""
        serving = [
            row
            for row in self.rows
            if row.node
            and row.silent == 0
            and (not row.node.drained or row.node.busy or row.node.held)
        ]
        return max(0, self.queue.nodes - len(serving))

    def _resumes(self) -> Iterator[Action]:
        """Give back nodes that the keeper had taken out for a reason that is gone."""
        for row in self.rows:
            node = row.node
            if node is None or row.name in self.taken or not node.drained or row.silent > 0:
                continue
            if node.reason in {SILENT, OUTDATED, SURPLUS, BLOCK_ENDS, DELETED, REMOVED}:
                yield Resume(row.name)


def _excused(node: Node) -> bool:
    return node.drained or node.starting


def _busy(row: Row) -> bool:
    return row.node is not None and row.node.busy


def _worth(row: Row) -> tuple[bool, bool, bool, bool, str]:
    """Return what sorts nodes by how little is lost with them."""
    node = row.node
    chosen = node is None or (node.drained and node.reason.startswith(OURS))
    return (node is not None and node.held, _busy(row), not chosen, not row.outdated, row.name)
