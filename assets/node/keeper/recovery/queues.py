"""Brings queues through their gates: what is seen of each, and what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..document import Document, Gate, Queue
from ..slurm import SlurmError
from ..view import Node, instance_of
from .act import Tell
from .gate import (
    FAILED,
    OPENED,
    Adopt,
    Open,
    QueueState,
    Record,
    Reserve,
    Run,
    Step,
    feature,
    is_open,
    judge,
    reservation,
    steps,
)
from .slurm import Slurm
from .store import Store

REMEDY = (
    "Mend it, then on the head node: sudo trainshed-gate; to let users in all the same: "
    "sudo trainshed-gate --open QUEUE"
)
"""What a person does about an all-reduce that has failed."""


def queue_of(node: str) -> str:
    """Return the queue of a node's name."""
    return node.rpartition("-")[0] if instance_of(node) else ""


class Queues:
    """The gates of all queues.

    Args:
        slurm: The cluster.
        store: What is kept.
        tell: Tells people.
        say: Writes a line to the journal.
    """

    def __init__(self, slurm: Slurm, store: Store, tell: Tell, say: Callable[..., None]) -> None:
        self._slurm, self._store, self._tell, self._say = slurm, store, tell, say
        self._drained: frozenset[str] = frozenset()

    def round(
        self, document: Document, nodes: Mapping[str, Node], now: datetime
    ) -> dict[str, QueueState]:
        """Go one step with each queue, and return what was seen.

        Args:
            document: The fleet document.
            nodes: Slurm's nodes.
            now: The time.

        Raises:
            SlurmError: Slurm does not answer.
        """
        self._drained = frozenset(name for name, node in nodes.items() if node.drained)
        reserved = self._slurm.reservations()
        seen = {
            name: self._seen(
                queue if document.gate else replace(queue, gpus=0), nodes, reserved, now
            )
            for name, queue in sorted(document.queues.items())
        }
        closed = {name: reservation(name) for name, q in seen.items() if q.reserved is not None}
        if closed:
            self._slurm.let_first_job_in(closed)
        for name, state in seen.items():
            for step in self._steps(state):
                try:
                    self._one(state, step, document.gate or Gate(), now)
                    self._say("did", action=type(step).__name__, subject=str(step))
                except (SlurmError, OSError) as error:
                    self._say("did not succeed", subject=f"{name}: {step}", reason=str(error))
        if document.gate:
            self._tell_features(seen)
        return seen

    def _steps(self, state: QueueState) -> list[Step]:
        """Return what to do for a queue now."""
        return steps(state)

    def _tell_features(self, seen: Mapping[str, QueueState]) -> None:
        """Let each node have the result of its gate among its features; joining takes it away."""
        try:
            had = self._slurm.features()
            for state in seen.values():
                for node in state.alive if state.gpus else ():
                    wanted = {feature(state, node)} - {""}
                    others = self._other_features(state.name, had.get(node, set()))
                    if node in had and had[node] - others != wanted:
                        self._slurm.set_features(node, *sorted(others), *wanted)
        except SlurmError as error:
            self._say("did not succeed", subject="features", reason=str(error))

    def _other_features(self, queue: str, had: set[str]) -> set[str]:
        """Return the features of a node that are not the gate's."""
        return {queue}

    def _addresses(self, nodes: Iterable[str]) -> tuple[str, ...]:
        """Return where nodes are; nothing where a name is of one instance alone."""
        return ()

    def _seen(
        self,
        queue: Queue,
        nodes: Mapping[str, Node],
        reserved: Mapping[str, tuple[str, ...]],
        now: datetime,
    ) -> QueueState:
        unfinished = self._finish(queue.name, now)
        return replace(
            self._nodes_of(queue, nodes, now),
            reserved=reserved.get(reservation(queue.name)),
            record=self._record(queue.name),
            job=self._slurm.gate_job(queue.name) or unfinished,
            again=self._store.asked(queue.name).exists(),
        )

    def _nodes_of(self, queue: Queue, nodes: Mapping[str, Node], now: datetime) -> QueueState:
        """Return which nodes a queue should have and has."""
        mine = {name: node for name, node in nodes.items() if queue_of(name) == queue.name}
        alive = tuple(sorted(name for name, node in mine.items() if "DOWN" not in node.flags))
        before = queue.start is not None and now < queue.start
        return QueueState(
            name=queue.name,
            wanted=0 if before else queue.ceiling(now),
            gpus=queue.gpus,
            alive=alive,
            ready=tuple(n for n in alive if not mine[n].drained and not mine[n].busy),
            released=tuple(n for n in alive if not mine[n].drained),
        )

    def _record(self, queue: str) -> Record | None:
        """Return how the last gate of a queue ended."""
        return self._store.record(queue)

    def _to_comment(self, nodes: Sequence[str]) -> Sequence[str]:
        """Return the nodes whose comment may say how their gate ended.

        That of a drained one is its checks' alone: by it the node is released.
        """
        return [node for node in nodes if node not in self._drained]

    def _one(self, state: QueueState, step: Step, gate: Gate, now: datetime) -> None:
        name = reservation(step.queue)
        if isinstance(step, Reserve):
            self._slurm.reserve(name, step.nodes, new=state.reserved is None)
        elif isinstance(step, Open):
            self._slurm.unreserve(name)
        elif isinstance(step, Adopt):
            text = "in use before there was a gate"
            where = self._addresses(step.nodes)
            record = Record(now, OPENED, step.nodes, text, addresses=where)
            self._store.keep(step.queue, record)
        else:
            self._run(state, step, gate)

    def _run(self, state: QueueState, step: Run, gate: Gate) -> None:
        self._store.prepare_gate(self._files(step))
        self._submit(state, step, gate)

    def _submit(self, state: QueueState, step: Run, gate: Gate) -> None:
        folder = str(self._store.gate_folder)
        running: dict[str, Any] = {"nodes": list(step.nodes), "folder": folder}
        where = self._addresses(step.nodes)
        running |= {"addresses": list(where)} if where else {}
        running |= {"before": str(state.record.at)} if state.record else {}
        running |= self._noted(step)
        # Before the job: one that could not be noted would be submitted again and again.
        self._store.note(step.queue, running)
        try:
            job = self._slurm.submit_gate(step, folder, self._inside(state, step), gate)
        except SlurmError:
            self._store.running(step.queue).unlink(missing_ok=True)
            raise
        self._store.note(step.queue, {**running, "job": job})
        self._store.asked(step.queue).unlink(missing_ok=True)

    def _files(self, step: Run) -> Mapping[str, str]:
        """Return what a gate reads beside what nodes have, by name."""
        return {}

    def _inside(self, state: QueueState, step: Run) -> str:
        """Return the reservation in which a gate runs; empty for none."""
        return reservation(step.queue) if state.reserved is not None else ""

    def _noted(self, step: Run) -> dict[str, Any]:
        """Return what else is noted of a gate that runs."""
        return {}

    def _finish(self, queue: str, now: datetime) -> str:
        """Judge a gate whose job is over; return a job that is, and cannot be judged yet."""
        running = self._store.noted(queue)
        if not running:
            return ""
        job = str(running["job"])
        try:
            if "code" not in running:
                running["code"] = self._slurm.exit_code(job)
                if running["code"] is None:
                    return ""
                # Slurm forgets a job after five minutes (MinJobAge); its words may come later.
                self._store.note(queue, running)
            self._judge(queue, running, now)
        except (SlurmError, OSError) as error:
            self._say("cannot look", subject=f"{queue}: gate {job}", reason=str(error))
            return job
        return ""

    def _judge(self, queue: str, running: Mapping[str, Any], now: datetime) -> None:
        """Judge a gate whose exit code is known; what fails is done in the next round."""
        job, folder = running["job"], Path(running["folder"])
        words = self._store.patience.call(lambda: _last_words(folder, job))
        record = judge(running["code"], words, tuple(running["nodes"]), now, job)
        record = replace(record, addresses=tuple(running.get("addresses", ())))
        if not running.get("kept"):
            record = self._keep(queue, record, running)
            self._store.note(queue, {**running, "kept": True})
        self._announce(queue, record, running)
        self._store.running(queue).unlink(missing_ok=True)

    def _keep(self, queue: str, record: Record, running: Mapping[str, Any]) -> Record:
        """Keep how a gate ended, and return that."""
        now = self._store.record(queue)
        opened = now and now.verdict == OPENED and str(now.at) != running.get("before")
        if now and opened and record.verdict == FAILED:
            # Who has let users in since it was submitted has the last word.
            record = replace(now, text=f"{now.text}; then the gate: {record.text}")
        self._store.keep(queue, record)
        return record

    def _announce(self, queue: str, record: Record, running: Mapping[str, Any]) -> None:
        """Say how a gate ended, on its nodes and to people.

        Raises:
            SlurmError: It is to be said again.
        """
        for node in self._to_comment(record.nodes):
            # A node may be gone meanwhile; the record has them all.
            text = f"trainshed: passed; gate {record.verdict} {record.at:%F %R}"
            try:
                self._slurm.comment(node, text)
            except SlurmError as error:
                self._say("did not succeed", subject=node, reason=str(error))
        ended = FAILED if record.verdict == OPENED else record.verdict
        remedy = f" Users are kept out. {REMEDY}" if record.verdict == FAILED else ""
        self._tell(
            f"Queue {queue}: the all-reduce over {len(running['nodes'])} nodes {ended}",
            f"{record.text}.{remedy}",
        )


def _last_words(folder: Path, job: str) -> str:
    """Return the verdict of a gate, or what its job said last.

    Raises:
        OSError: It cannot be read now, as after the eviction of a client.
    """
    for name in (f"nccl-gate-{job}.json", f"gate-{job}.log"):
        try:
            text = (folder / name).read_text(errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if text:
            return text.splitlines()[-1]
    return "it said nothing"


def unreleasable(seen: Mapping[str, QueueState]) -> frozenset[str]:
    """Return the nodes of closed queues that their reservation does not have yet."""
    return frozenset(
        node
        for state in seen.values()
        if not is_open(state)
        for node in state.alive
        if node not in (state.reserved or ())
    )
