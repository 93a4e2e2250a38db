"""What keeps users out of a fleet that has a gate. It rests on what ``recovery`` keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .document import Queue
from .recovery.decide import common_faults
from .recovery.gate import FAILED, QueueState, is_open
from .recovery.queues import REMEDY
from .recovery.store import Store
from .recovery.words import held
from .view import Node, View, rows


@dataclass(frozen=True)
class Shut:
    """Why users may not use a queue, or some of its nodes, yet.

    Args:
        failed: Whether it stays so until a person has done something.
        reason: Node, check and evidence.
        remedy: What a person does.
    """

    failed: bool
    reason: str
    remedy: str = ""


def shut(view: View, store: Store) -> list[Shut]:
    """Return what keeps users out, what needs a person first. Call it with a whole view."""
    if view.document.gate is None:
        return []
    found = [
        each
        for _, queue in sorted(view.document.queues.items())
        if queue.ceiling(view.now)
        and not queue.waits(view.now, (view.groups or {})[queue.group].desired)
        for each in _queue(view, queue, store)
    ]
    return sorted(found, key=lambda each: not each.failed)


def _queue(view: View, queue: Queue, store: Store) -> Iterator[Shut]:
    mine = {row.name: row.node for row in rows(view, queue) if row.node is not None}
    alive = {name: node for name, node in mine.items() if "DOWN" not in node.flags}
    record = store.record(queue.name)
    state = QueueState(queue.name, queue.nodes, queue.gpus, tuple(alive), (), record=record)
    waiting = {name: node for name, node in alive.items() if node.drained and held(node.reason)}
    if is_open(state):
        if waiting:
            yield Shut(False, _wait(queue, alive, waiting))
        return
    for check, names in common_faults(alive):
        reason = alive[names[0]].reason
        text = f"queue {queue.name}: {len(names)} nodes fail {check} at once, {names[0]}: {reason}"
        yield Shut(
            True,
            text,
            "a common cause, so none is mended for it: mend it, then on the head node: scontrol "
            f"update nodename={','.join(names)} state=resume",
        )
        return
    released = {name for name, node in alive.items() if not node.drained}
    busy = store.running(queue.name).exists() or store.asked(queue.name).exists()
    if record and record.verdict == FAILED and set(record.nodes) == released and not busy:
        text = f"queue {queue.name}: nccl_gate over {', '.join(record.nodes)}: {record.text}"
        yield Shut(True, text, REMEDY.replace("QUEUE", queue.name))
    elif released != alive.keys():
        yield Shut(False, _wait(queue, alive, {n: alive[n] for n in alive if n not in released}))
    else:
        runs = "runs" if store.running(queue.name).exists() else "has not begun"
        text = f"queue {queue.name}: the all-reduce over its {len(alive)} nodes {runs}"
        yield Shut(False, text, "if that stays so: journalctl -u trainshed-recovery")


def _wait(queue: Queue, alive: Mapping[str, Node], waiting: Mapping[str, Node]) -> str:
    name, node = next(iter(sorted(waiting.items(), key=lambda each: held(each[1].reason))))
    why = "its checks have not ended" if held(node.reason) else node.reason
    return f"queue {queue.name}: {len(waiting)} of {len(alive)} nodes are held; {name}: {why}"
