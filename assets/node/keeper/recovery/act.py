"""Carries out what was decided for nodes, and tells people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from ..slurm import SlurmError
from ..view import instance_of
from .decide import Action, Ask, Event, Hold, Mend, Release, Replace
from .store import Store
from .words import WAITS

Tell = Callable[[str, str], None]
"""Tells people: a subject and a text."""


class Nodes(Protocol):
    """What is done to nodes: Slurm's own on a bare fleet."""

    def drain(self, node: str, reason: str) -> None:
        """Keep a node out, with a reason."""

    def resume(self, node: str) -> None:
        """Let a node have jobs."""

    def comment(self, node: str, text: str) -> None:
        """Set the comment of a node."""

    def reboot(self, node: str) -> None:
        """Reboot a node without jobs."""

    def release_by_hand(self, nodes: Sequence[str]) -> str:
        """Return the command by which a person lets nodes have jobs."""


class Actor:
    """Acts on Slurm's nodes.

    Args:
        slurm: The cluster.
        store: What is kept.
        tell: Tells people.
        say: Writes a line to the journal.
        identify: Returns the id of a node's instance.
    """

    def __init__(
        self,
        slurm: Nodes,
        store: Store,
        tell: Tell,
        say: Callable[..., None],
        identify: Callable[[str], str | None] = instance_of,
    ) -> None:
        self._slurm, self._store, self._tell, self._say = slurm, store, tell, say
        self._identify = identify

    def act(self, now: datetime, actions: Sequence[Action]) -> None:
        """Carry out actions; what fails is decided anew in the next round."""
        for action in actions:
            try:
                self._one(now, action)
                self._say("did", action=type(action).__name__, subject=str(action))
            except (SlurmError, OSError) as error:
                self._say("did not succeed", subject=str(action), reason=str(error))

    def _one(self, now: datetime, action: Action) -> None:
        if isinstance(action, Hold):
            self._slurm.drain(action.node, action.reason)
        elif isinstance(action, Release):
            self._slurm.resume(action.node)
        elif isinstance(action, Mend):
            self._mend(now, action)
        elif isinstance(action, Replace):
            self._replace(now, action)
        else:
            self._ask(now, action)

    def _mend(self, now: datetime, action: Mend) -> None:
        # Whatever the node said before is void; only then may it say something anew.
        self._slurm.comment(action.node, WAITS)
        self._store.add(Event(now, action.node, action.action, action.fault.text))
        self._slurm.drain(action.node, action.reason)
        if action.action == "reboot":
            try:
                self._slurm.reboot(action.node)
            except SlurmError:
                # A fault that was tried to be mended once: the next round replaces the node.
                self._slurm.drain(action.node, f"health: {action.fault.text}")
                raise

    def _replace(self, now: datetime, action: Replace) -> None:
        name = f"{action.node}-{now:%Y%m%dT%H%M%S}"
        instance = self._identify(action.node)
        lines = report(now, action, self._store.history(), instance)
        path = self._store.report(name, lines)
        self._store.add(Event(now, action.node, "replace", action.fault.text))
        self._slurm.drain(action.node, action.reason)
        self._tell(
            f"{action.node} is replaced",
            f"{action.node} ({instance or 'no instance id'}) is replaced, as "
            f"{action.why}: {action.fault.text}. For AWS Support: {path}",
        )

    def _ask(self, now: datetime, action: Ask) -> None:
        self._store.add(Event(now, "", "ask", action.check))
        self._tell(
            f"{len(action.nodes)} nodes fail {action.check}",
            f"{', '.join(action.nodes)} fail {action.check} at once: a common cause, so none is "
            "reset, rebooted or replaced for it. Mend it, then: "
            f"{self._slurm.release_by_hand(action.nodes)}",
        )


def report(
    now: datetime, action: Replace, history: Sequence[Event], instance: str | None
) -> list[str]:
    """Return what AWS Support wants to know of a node that is given up."""
    mine = [event for event in history if event.node == action.node]
    return [
        f"instance: {instance or action.node}",
        f"node:     {action.node}",
        f"time:     {now.isoformat(timespec='seconds')}",
        f"check:    {action.fault.check}",
        f"severity: {action.fault.severity}",
        f"evidence: {action.fault.evidence}",
        f"why:      {action.why}",
        "",
        "what was done to it before:",
        *(
            [f"  {e.at.isoformat(timespec='seconds')} {e.action}: {e.fault}" for e in mine]
            or ["  nothing"]
        ),
    ]
