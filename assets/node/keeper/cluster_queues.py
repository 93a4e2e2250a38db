"""The gates of the queues of a ParallelCluster cluster: which nodes they see, and where they run.

A queue that is open stays so when an instance is replaced. The new one has its all-reduce with one
that has passed, while neither has jobs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from .cluster_slurm import PAIR, ClusterSlurm
from .document import Document, Gate, Queue
from .mending import RESERVATION
from .recovery.act import Tell
from .recovery.decide import Event
from .recovery.gate import PASSED, UNMADE, Pair, QueueState, Record, Step, pair, steps
from .recovery.gate import Run as RunGate
from .recovery.queues import Queues
from .recovery.store import Store
from .slurm import SlurmError
from .view import Node

# A queue may have -st- in its own name: the last of them says what a node is (parse_nodename).
_STATIC = re.compile(r"(?P<queue>[a-z0-9-]+)-st-(?!.*-(?:st|dy)-)[a-z0-9-]+-\d+")
# What scontrol does not show whole.
_AWKWARD = re.compile(r"[\"'\\=\s]+")
# A node with one of them may have no job now.
_AWAY = frozenset(
    {
        *("DOWN", "FAIL", "INVAL", "NOT_RESPONDING", "UNKNOWN"),
        *("REBOOT_ISSUED", "REBOOT_REQUESTED"),
        *("POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWERING_UP", "POWER_UP"),
    }
)


def queue_of(node: str) -> str:
    """Return the queue of a static node's name; empty for another node."""
    match = _STATIC.fullmatch(node)
    return match["queue"] if match else ""


class ClusterQueues(Queues):
    """The gates of the queues.

    Args:
        slurm: The cluster.
        store: What is kept.
        tell: Tells people.
        say: Writes a line to the journal.
        expected: What the all-reduce of a queue is judged by.
    """

    def __init__(
        self,
        slurm: ClusterSlurm,
        store: Store,
        tell: Tell,
        say: Callable[..., None],
        expected: Mapping[str, Any],
    ) -> None:
        super().__init__(slurm, store, tell, say)
        self._cluster = slurm
        self._expected = expected
        self._at: dict[str, str] = {}
        self._checking: frozenset[str] = frozenset()

    def look(
        self, document: Document, nodes: Mapping[str, Node], checking: frozenset[str], now: datetime
    ) -> dict[str, QueueState]:
        """Go one step with each queue, and return what was seen.

        Args:
            document: What the cluster should be.
            nodes: Slurm's nodes.
            checking: Those of them that are under their own checks, or failed them.
            now: The time.

        Raises:
            SlurmError: Slurm does not answer.
        """
        self._at = {name: node.address for name, node in nodes.items()}
        self._checking = checking
        return self.round(document, nodes, now)

    def _other_features(self, queue: str, had: set[str]) -> set[str]:
        return {name for name in had if not name.startswith("gate_")}

    def _addresses(self, nodes: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._at.get(node, "") for node in nodes)

    def _nodes_of(self, queue: Queue, nodes: Mapping[str, Node], now: datetime) -> QueueState:
        mine = {name: node for name, node in nodes.items() if queue_of(name) == queue.name}
        usable = tuple(
            name
            for name, node in sorted(mine.items())
            if not node.drained and not node.flags & _AWAY and name not in self._checking
        )
        return QueueState(
            name=queue.name,
            wanted=queue.ceiling(now),
            # Nodes that start for a job and stop after it are never there all at once.
            gpus=queue.gpus if queue.nodes else 0,
            alive=tuple(sorted(mine)),
            ready=tuple(name for name in usable if not mine[name].busy),
            released=usable,
        )

    def _to_comment(self, nodes: Sequence[str]) -> Sequence[str]:
        # The comment of a node that is held says why, and what is done about it.
        return [node for node in nodes if node not in self._checking]

    def _record(self, queue: str) -> Record | None:
        record = super()._record(queue)
        return record.among(self._at) if record else None

    def _files(self, step: RunGate) -> Mapping[str, str]:
        return {f"expect-{step.queue}.json": json.dumps(self._expected[step.queue], indent=1)}

    def _submit(self, state: QueueState, step: RunGate, gate: Gate) -> None:
        if not isinstance(step, Pair):
            super()._submit(state, step, gate)
            return
        self._cluster.reserve_idle(PAIR + step.queue, step.nodes)
        try:
            super()._submit(state, step, gate)
        except (SlurmError, OSError):
            self._slurm.unreserve(PAIR + step.queue)
            raise

    def _steps(self, state: QueueState) -> list[Step]:
        running = self._store.noted(state.name)
        return steps(state) or ([] if running else pair(state, self._tried()))

    def _tried(self) -> set[str]:
        """Return the nodes whose instance had its all-reduce with another one."""
        keys = {event.node for event in self._store.history() if event.action == "pair"}
        return {name for name, at in self._at.items() if f"{name}@{at}" in keys}

    def _inside(self, state: QueueState, step: RunGate) -> str:
        return PAIR + step.queue if isinstance(step, Pair) else super()._inside(state, step)

    def _noted(self, step: RunGate) -> dict[str, Any]:
        return {"pair": True} if isinstance(step, Pair) else {}

    def _keep(self, queue: str, record: Record, running: Mapping[str, Any]) -> Record:
        if not running.get("pair"):
            return super()._keep(queue, record, running)
        key = f"{record.nodes[0]}@{record.addresses[0]}"
        self._store.add(Event(record.at, key, "pair", f"{record.verdict}: {record.text}"))
        whole = self._store.record(queue)
        if record.verdict == PASSED and whole is not None and whole.addresses:
            places = dict(zip(whole.nodes, whole.addresses, strict=True))
            places[record.nodes[0]] = record.addresses[0]
            now = replace(whole, nodes=tuple(places), addresses=tuple(places.values()))
            self._store.keep(queue, now)
        return record

    def _announce(self, queue: str, record: Record, running: Mapping[str, Any]) -> None:
        if not running.get("pair"):
            super()._announce(queue, record, running)
            return
        new, other = record.nodes
        if record.verdict != PASSED:
            self._tell(*self._blame(queue, new, other, record))
        try:
            self._slurm.unreserve(PAIR + queue)
        except SlurmError as error:
            # It ends by itself.
            self._say("did not succeed", subject=f"{queue}: {new} with {other}", reason=str(error))

    def _blame(self, queue: str, new: str, other: str, record: Record) -> tuple[str, str]:
        """Hold a new node that is slow with one that has passed; return what people are told."""
        subject = f"Queue {queue}: the all-reduce of {new} with {other} failed"
        if record.text.startswith(UNMADE) or self._at.get(new) != record.addresses[0]:
            return subject, f"{record.text}. Nothing is done about it."
        text = _AWKWARD.sub(" ", f"with {other}: {record.text}")[:140]
        self._slurm.comment(new, f"trainshed: failed nccl_pair [monitor] {text}")
        if new not in self._cluster.kept()[1]:
            self._slurm.reserve(RESERVATION + new, (new,), new=True)
        command = f"scontrol delete reservationname={RESERVATION}{new}"
        return subject, (
            f"{record.text}. {new} is new and is held; to have it replaced, drain it; to use it "
            f"all the same: {command}"
        )
