"""Queues that left the document while they have nodes: no job starts there, and none is ended.

The custom resource empties their groups once their nodes are drained and without jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from .apply import ApplyError
from .document import Queue
from .view import OURS, Row, View, rows

REMOVED = f"{OURS}queue is removed"
_RUNNING = {"pending", "running"}


def leaving(view: View) -> list[Queue]:
    """Return the queues that have instances and are not in the document, as queues of no nodes."""
    names = {
        each.queue
        for each in (view.instances or {}).values()
        if each.role == "compute" and each.queue and each.state in _RUNNING
    }
    return [Queue(name, "", "", 0) for name in sorted(names - view.document.queues.keys())]


def drains(view: View) -> Iterator[str]:
    """Return the nodes of leaving queues that could still get a job."""
    for queue in leaving(view):
        for row in _running(view, queue):
            if row.node is not None and not row.node.drained:
                yield row.name


def refusal(view: View) -> ApplyError | None:
    """Return why the document cannot be applied: slurmctld ends the jobs of a lost partition."""
    busy = {
        queue.name: sum(row.node is not None and row.node.busy for row in _running(view, queue))
        for queue in leaving(view)
    }
    told = [
        f"queue {name} is removed while {count} of its nodes have jobs"
        for name, count in busy.items()
        if count
    ]
    if not told:
        return None
    return ApplyError(
        "queues",
        "; ".join(told),
        "an update ends no job: drain those nodes, wait until they have no jobs, deploy again",
    )


def unknown(view: View) -> bool:
    """Tell whether jobs may be on nodes of a leaving queue that cannot be seen now."""
    return view.instances is None or (view.nodes is None and bool(leaving(view)))


def _running(view: View, queue: Queue) -> Iterator[Row]:
    return (row for row in rows(view, queue) if row.instance.state in _RUNNING)
