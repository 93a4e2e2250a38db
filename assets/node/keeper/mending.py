"""Mends static nodes of ParallelCluster by the decisions of a bare fleet (``recovery.decide``).

A node that fails reserves itself for root, and its comment says what failed
(``health/checks/hold.py``): clustermgtd would replace a drained one within a minute, and calls one
that is reserved or that Slurm reboots healthy (aws-parallelcluster-node 3.16.1,
``is_state_healthy``, read 2026-11-30). Only what is to be replaced is drained, and clustermgtd does
the rest. A name outlives its instances, so a node is told by its address as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .recovery.act import Actor, Tell
from .recovery.decide import AGAIN, Action, Event, Replace, Seen, decide
from .recovery.slurm import Slurm
from .recovery.store import Store
from .recovery.words import FAILED, HELD, OURS, PASSED, REPLACE, fault, mending
from .view import Node

RESERVATION = "trainshed-mend-"
AN_HOUR = 4
"""So many nodes are replaced in an hour at most, as by the keeper of a bare fleet."""
A_NAME = 2
"""After so many replacements in a day another instance is no remedy."""
_HEALTH = "health: "
# Slurm calls it down as well meanwhile.
_REBOOTING = frozenset({"REBOOT_ISSUED", "REBOOT_REQUESTED"})
_NOT_THERE = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"})


def key(node: Node) -> str:
    """Return what tells a node from others that had its name."""
    return f"{node.name}@{node.address}"


def name_of(node: str) -> str:
    """Return the name in Slurm of a node's key."""
    return node.partition("@")[0]


@dataclass(frozen=True)
class Look:
    """One look.

    Args:
        now: The time.
        nodes: Slurm's nodes by name.
        held: Names of those that are reserved because they failed.
        comments: Comments of nodes by name.
        closed: Names of nodes that may not be released.
    """

    now: datetime
    nodes: Mapping[str, Node]
    held: frozenset[str]
    comments: Mapping[str, str]
    closed: frozenset[str] = frozenset()

    def seen(self, history: Sequence[Event]) -> Seen:
        """Return it as ``decide`` takes it: a node that is held as one that is drained.

        Args:
            history: What was done to nodes, by their keys.
        """
        there = [node for node in self.nodes.values() if not node.flags & _NOT_THERE]
        return Seen(
            self.now,
            {key(node): self._seen(node) for node in there},
            {key(node): self.comments.get(node.name, "") for node in there},
            tuple(history),
            frozenset(key(node) for node in there if node.name in self.closed),
        )

    def _seen(self, node: Node) -> Node:
        reason = _reason(self.comments.get(node.name, "")) if node.name in self.held else ""
        down = "DOWN" in node.flags and not node.flags & _REBOOTING
        if down or ("DRAIN" in node.flags and not mending(reason)):
            # ParallelCluster's, which replaces it, or somebody else's.
            reason = ""
        if not reason:
            return replace(node, flags=node.flags - {"DRAIN", "DOWN"}, reason="")
        return replace(node, flags=node.flags | {"DRAIN"}, reason=reason)


def _reason(comment: str) -> str:
    """Return the reason that a drained node would have with a held one's comment."""
    found = fault(comment)
    if found is not None:
        return _HEALTH + found.text
    if comment.startswith(f"{PASSED} "):
        return HELD
    order = _HEALTH + comment.removeprefix(OURS)
    return order if mending(order) else ""


class HeldNodes:
    """Slurm's nodes as they are acted on, by their keys; the comment has what a reason would.

    Args:
        slurm: The cluster.
    """

    def __init__(self, slurm: Slurm) -> None:
        self._slurm = slurm

    def comment(self, node: str, text: str) -> None:
        """Do nothing: the order that follows takes the place of what the node said."""

    def drain(self, node: str, reason: str) -> None:
        """Order what a reason says, in the comment; drain only what is to be replaced."""
        start = OURS if mending(reason) else FAILED
        self._slurm.comment(name_of(node), start + reason.removeprefix(_HEALTH))
        if reason.startswith(REPLACE):
            self._slurm.drain(name_of(node), reason)

    def resume(self, node: str) -> None:
        """Take away the reservation of a node."""
        self._slurm.unreserve(RESERVATION + name_of(node))

    def reboot(self, node: str) -> None:
        """Reboot a node without jobs."""
        self._slurm.reboot(name_of(node))

    def release_by_hand(self, nodes: Sequence[str]) -> str:
        """Return the command by which a person lets nodes have jobs."""
        names = " ".join(name_of(node) for node in nodes)
        command = f"scontrol delete reservationname={RESERVATION}$node"
        return f"for node in {names}; do {command}; done"


class Mending:
    """Mends the nodes of one cluster.

    Args:
        slurm: The cluster.
        store: What is kept.
        tell: Tells people.
        say: Writes a line to the journal.
        instance_ids: Returns the ids of instances by name of their nodes.
    """

    def __init__(
        self,
        slurm: Slurm,
        store: Store,
        tell: Tell,
        say: Callable[..., None],
        instance_ids: Callable[[], Mapping[str, str]],
    ) -> None:
        self._store, self._tell = store, tell
        self._actor = Actor(
            HeldNodes(slurm), store, tell, say, lambda node: instance_ids().get(name_of(node))
        )

    def round(self, look: Look) -> None:
        """Do what is due for nodes now."""
        seen = look.seen(self._store.history())
        self._actor.act(look.now, list(self._bounded(seen, decide(seen))))

    def _bounded(self, seen: Seen, actions: Sequence[Action]) -> Sequence[Action]:
        """Return the actions without replacements that would go on and on."""
        before = [event for event in seen.history if event.action == "replace"]
        left = AN_HOUR - sum(seen.now - event.at < timedelta(hours=1) for event in before)
        done = []
        for action in actions:
            if isinstance(action, Replace):
                name = name_of(action.node)
                mine = [e for e in before if name_of(e.node) == name and seen.now - e.at < AGAIN]
                if len(mine) >= A_NAME:
                    self._give_up(seen, action)
                    continue
                left -= 1
                if left < 0:
                    continue
            done.append(action)
        return done

    def _give_up(self, seen: Seen, action: Replace) -> None:
        """Tell once of a node that another instance does not mend."""
        if any(e.node == action.node and e.action == "give up" for e in seen.history):
            return
        self._store.add(Event(seen.now, action.node, "give up", action.fault.text))
        name = name_of(action.node)
        self._tell(
            f"{name} fails again",
            f"{name} has been replaced {A_NAME} times in a day and its instance fails again: "
            f"{action.fault.text}. It is held, and not replaced any more. Mend the cause, then: "
            f"scontrol delete reservationname={RESERVATION}{name}",
        )
