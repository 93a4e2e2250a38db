"""What becomes of nodes that are held or failed. Pure: nothing is remembered but the history.

- A node that joins is held until it says that its checks have passed.
- Severity is action: reset, reboot through Slurm, replacement. A node that failed again within a
  day after it was mended is replaced, with a report for AWS Support.
- At most a tenth of the nodes, and at least one, is being mended at a time; only nodes without
  jobs are. A fault that many nodes have at once is no fault of theirs: a person has to look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..view import Node
from .words import HELD, NOT_RESET, PASSED, REBOOT, REPLACE, RESET, Fault, fault, held, mending

AGAIN = timedelta(hours=24)
"""Within so long a second failure is the hardware's."""
COMES_BACK = timedelta(minutes=45)
"""A reset or a reboot, with the basic checks after it, takes no longer."""
COMMON = 3
"""So many nodes with the same fault, and a quarter of all, have a common cause."""


@dataclass(frozen=True)
class Event:
    """Something that was done to a node."""

    at: datetime
    node: str
    action: str
    fault: str


@dataclass(frozen=True)
class Seen:
    """One look.

    Args:
        now: The time.
        nodes: Slurm's nodes by name.
        comments: Comments of nodes.
        history: What was done to nodes, the oldest first.
        closed: Nodes of queues that are closed to users and not reserved yet: not to be released.
    """

    now: datetime
    nodes: Mapping[str, Node]
    comments: Mapping[str, str] = field(default_factory=dict)
    history: tuple[Event, ...] = ()
    closed: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Hold:
    """Keep a node out, with a reason."""

    node: str
    reason: str


@dataclass(frozen=True)
class Release:
    """Let a node have jobs."""

    node: str


@dataclass(frozen=True)
class Mend:
    """Have a node reset its GPUs, or reboot."""

    node: str
    action: str
    fault: Fault

    @property
    def reason(self) -> str:
        """The reason that it gets."""
        return (RESET if self.action == "reset" else REBOOT) + self.fault.text


@dataclass(frozen=True)
class Replace:
    """Give a node up; the fleet replaces it, and its evidence goes to a report."""

    node: str
    fault: Fault
    why: str

    @property
    def reason(self) -> str:
        """The reason that the keeper reads."""
        return f"{REPLACE}{self.fault.text}"


@dataclass(frozen=True)
class Ask:
    """Tell a person of a fault that many nodes have."""

    check: str
    nodes: tuple[str, ...]


Action = Hold | Release | Mend | Replace | Ask


def at_once(nodes: int) -> int:
    """Return how many nodes may be mended at a time."""
    return max(1, nodes // 10)


def decide(seen: Seen) -> list[Action]:
    """Return what to do now, in this order."""
    actions: list[Action] = []
    left = at_once(len(seen.nodes)) - sum(
        1 for node in seen.nodes.values() if node.drained and mending(node.reason)
    )
    common = dict(common_faults(seen.nodes))
    actions += [Ask(check, names) for check, names in common.items() if not _asked(seen, check)]
    for name, node in sorted(seen.nodes.items()):
        for action in _node(seen, name, node, common):
            if isinstance(action, Mend | Replace) and not mending(node.reason):
                left -= 1
                if left < 0:
                    continue
            actions.append(action)
    return actions


def _node(
    seen: Seen, name: str, node: Node, common: Mapping[str, tuple[str, ...]]
) -> Iterator[Action]:
    comment = seen.comments.get(name, "")
    if not node.drained or "DOWN" in node.flags:
        return
    if held(node.reason):
        yield from _held(seen, name, node, comment)
    elif node.reason.startswith((RESET, REBOOT)):
        yield from _mended(seen, name, node, comment)
    else:
        found = fault(node.reason)
        if found is not None and found.check not in common and not node.busy:
            yield from _failed(seen, name, found)


def _held(seen: Seen, name: str, node: Node, comment: str) -> Iterator[Action]:
    found = fault(comment)
    if comment.startswith(PASSED):
        if name not in seen.closed:
            yield Release(name)
    elif found is not None:
        yield Hold(name, f"health: {found.text}")
    elif node.reason != HELD:
        yield Hold(name, HELD)


def _mended(seen: Seen, name: str, node: Node, comment: str) -> Iterator[Action]:
    found = fault(comment)
    ordered = [e.at for e in seen.history if e.node == name and e.action in ("reset", "reboot")]
    if comment.startswith(PASSED):
        if name not in seen.closed:
            yield Release(name)
    elif found is not None:
        yield Hold(name, f"health: {found.text}")
    elif not ordered or seen.now - max(ordered) > COMES_BACK:
        before = fault("health: " + node.reason.partition(": ")[2].partition(": ")[2])
        lost = before or Fault("recovery", "isolate", node.reason)
        yield Replace(name, lost, f"it did not come back in {COMES_BACK}")


def _failed(seen: Seen, name: str, found: Fault) -> Iterator[Action]:
    mended = [
        event
        for event in seen.history
        if event.node == name
        and event.action in ("reset", "reboot")
        and seen.now - event.at < AGAIN
    ]
    if found.severity == "isolate":
        yield Replace(name, found, "its severity is isolate")
    elif found.check == NOT_RESET and [event.action for event in mended] == ["reset"]:
        yield Mend(name, "reboot", found)  # it was not mended: something held the GPUs
    elif mended:
        yield Replace(name, found, f"it failed again after a {mended[-1].action}")
    elif found.severity in ("reset", "reboot"):
        yield Mend(name, found.severity, found)


def common_faults(nodes: Mapping[str, Node]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Return the checks that many nodes fail, with those nodes."""
    failing: dict[str, list[str]] = {}
    for name, node in sorted(nodes.items()):
        found = fault(node.reason) if node.drained else None
        if found is not None:
            failing.setdefault(found.check, []).append(name)
    for check, names in sorted(failing.items()):
        if len(names) >= COMMON and 4 * len(names) > len(nodes):
            yield check, tuple(names)


def _asked(seen: Seen, check: str) -> bool:
    hour = timedelta(hours=1)
    return any(
        event.action == "ask" and event.fault == check and seen.now - event.at < hour
        for event in seen.history
    )
