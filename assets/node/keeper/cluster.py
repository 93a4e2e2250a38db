"""Gate and mending of a ParallelCluster cluster: queues open once an all-reduce has passed.

Decisions, records and words are those of the bare fleet (``recovery``). What differs, read in
aws-parallelcluster-node 3.16.1 (PyPI, read 2026-11-30):

- Names of static nodes, ``QUEUE-st-NAME-1``, outlive their instances (``parse_nodename``), so they
  are reserved before they boot, and an instance is told by its address, which clustermgtd sets
  anew (``reset_nodes``, ``update_nodes``).
- A queue is closed by a reservation. A partition's state would not last: clustermgtd sets it at
  each start and stop of the fleet and in its protected mode (``update_all_partitions``). It deletes
  reservations that begin with ``pcluster-`` alone, and calls a reserved node healthy
  (``is_state_healthy``); a drained one without jobs it replaces in its next minute.

usage: python3 -m keeper.cluster [--once | gate [OPTIONS] [QUEUE …]]
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from .cloudwatch import Metrics
from .cluster_queues import ClusterQueues
from .cluster_slurm import ClusterSlurm
from .document import Document, Gate, Queue
from .document import time as read_time
from .mending import Look, Mending
from .recovery import again
from .recovery.act import Tell
from .recovery.gate import QueueState, is_open
from .recovery.loop import DOCUMENT, shared_folder, teller
from .recovery.queues import unreleasable
from .recovery.store import Store
from .rounds import rounds
from .slurm import Run, SlurmError, run

STATE = Path(os.environ.get("ROOT_DIR") or "/", "var/lib/trainshed/recovery")
GATE_KEY = "fleet.parallelcluster.gate"


def read_document(values: Mapping[str, Any]) -> Document:
    """Return the document of a head node of ParallelCluster, as far as the gate reads it."""
    gate = values.get("gate")
    return Document(
        cluster=str(values["cluster"]),
        generation="",
        queues={name: _queue(name, queue) for name, queue in values["queues"].items()},
        boot_timeout=timedelta(),
        gate=Gate(strict=bool(gate.get("strict"))) if gate else None,
    )


def _queue(name: str, values: Mapping[str, Any]) -> Queue:
    end = read_time(values.get("end"))
    drain = timedelta(minutes=int(values.get("drain_minutes") or 0))
    return Queue(
        name=name,
        group="",
        version="",
        nodes=int(values.get("static_nodes") or 0),
        gpus=int(values.get("gpus") or 0),
        drain_from=end - drain if end else None,
        drain=drain,
    )


class Cluster:
    """Brings the queues of one cluster through their gates, and mends its nodes.

    Args:
        store: What is kept.
        run: What runs commands.
        tell: Tells people.
        now: The time.
    """

    def __init__(
        self,
        store: Store,
        run: Run,
        tell: Tell,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),  # noqa: UP017
    ) -> None:
        self._store, self._run, self._tell, self._now = store, run, tell, now
        self._metrics = Metrics(run)

    def round(self, values: Mapping[str, Any]) -> dict[str, QueueState]:
        """Do one round, and return what was seen; nothing is done without a view.

        Args:
            values: The document of the head node.
        """
        document = read_document(values)
        slurm = ClusterSlurm(self._run, str((values.get("gate") or {}).get("program", "")))
        expected = {name: queue.get("expect") for name, queue in values["queues"].items()}
        queues = ClusterQueues(slurm, self._store, self._tell, say, expected)
        mending = Mending(slurm, self._store, self._tell, say, slurm.instance_ids)
        try:
            checking, failed = slurm.kept()
            nodes, now = slurm.nodes(), self._now()
            seen = queues.look(document, nodes, checking | failed, now)
            comments = slurm.comments() if failed else {}
            mending.round(Look(now, nodes, failed, comments, unreleasable(seen)))
            shut = [state for state in seen.values() if not is_open(state)]
            found = {"nodes_held": float(len(checking | failed))}
            found |= {"queues_closed": float(len(shut))} if document.gate else {}
            self._metrics.send(document.cluster, str(values["region"]), found)
        except (SlurmError, ValueError, OSError) as error:
            say("cannot look", reason=str(error))
            return {}
        return seen


def say(told: str, **more: object) -> None:
    """Write a line to the journal."""
    print(json.dumps({"gate": told, **more}), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Watch for ever or for one round, or do what a person asks for."""
    values = json.loads(DOCUMENT.read_text())
    store = Store(STATE, shared_folder(values))
    if arguments[:1] == ["gate"]:
        return again.main(arguments[1:], {**values, "gate_key": GATE_KEY}, store)
    cluster = Cluster(store, run, teller(values))
    return rounds(
        lambda: cluster.round(json.loads(DOCUMENT.read_text())), say, once="--once" in arguments
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
