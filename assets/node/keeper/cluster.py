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
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from .cloudwatch import Metrics
from .document import Document, Gate, Queue
from .document import time as read_time
from .mending import RESERVATION, Look, Mending
from .recovery import again
from .recovery.act import Tell
from .recovery.gate import QueueState, Record, is_open
from .recovery.gate import Run as RunGate
from .recovery.loop import DOCUMENT, shared_folder, teller
from .recovery.queues import Queues, unreleasable
from .recovery.slurm import Slurm
from .recovery.store import Store
from .rounds import rounds
from .slurm import Run, SlurmError, run
from .view import Node

STATE = Path(os.environ.get("ROOT_DIR") or "/", "var/lib/trainshed/recovery")
GATE_KEY = "fleet.parallelcluster.gate"
CHECKING = "trainshed-check-"
_INSTANCE = re.compile(r"^NodeName=(\S+).*? InstanceId=(i-\w+)")
_STATIC = re.compile(r"(?P<queue>[a-z0-9-]+)-st-[a-z0-9-]+-\d+")
# A node with one of them may have no job now.
_AWAY = frozenset(
    {
        *("DOWN", "FAIL", "INVAL", "NOT_RESPONDING", "UNKNOWN"),
        *("REBOOT_ISSUED", "REBOOT_REQUESTED"),
        *("POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWERING_UP", "POWER_UP"),
    }
)
_SCRIPT = """\
#!/bin/bash
export GATE_SECONDS={{seconds}} NCCL_TESTS={program}
export PATH="/opt/trainshed/bin:$PATH:/opt/slurm/bin"
expect={{folder}}/expect-{{queue}}.json
exec /opt/trainshed/current/health/nccl_gate.sh {{strict}} "$expect" {{folder}}
"""


def queue_of(node: str) -> str:
    """Return the queue of a static node's name; empty for another node."""
    match = _STATIC.fullmatch(node)
    return match["queue"] if match else ""


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


class ClusterSlurm(Slurm):
    """The cluster, whose queues are partitions and whose nodes have fixed names.

    Args:
        run: What runs commands.
        program: ``all_reduce_perf`` of nccl-tests on the compute nodes.
    """

    def __init__(self, run: Run, program: str) -> None:
        super().__init__(run, _SCRIPT.format(program=shlex.quote(program)))

    def kept(self) -> tuple[frozenset[str], frozenset[str]]:
        """Return the nodes that are kept free for their checks, and those that failed them.

        The one is what pc_basic_check.sh reserves, the other what health/checks/hold.py does.
        """
        said = self._run(("scontrol", "--oneliner", "show", "reservation"), "")
        names = re.findall(r"ReservationName=(\S+)", said)
        checking, failed = (
            frozenset(name.removeprefix(start) for name in names if name.startswith(start))
            for start in (CHECKING, RESERVATION)
        )
        return checking, failed

    def instance_ids(self) -> dict[str, str]:
        """Return the ids of instances by node; Slurm 22.05 knows none."""
        said = self._run(("scontrol", "--oneliner", "show", "nodes"), "")
        found = (_INSTANCE.match(line) for line in said.splitlines())
        return {match[1]: match[2] for match in found if match}

    def _where(self, step: RunGate) -> list[str]:
        return [f"--partition={step.queue}", f"--nodelist={','.join(step.nodes)}"]


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

    def _run(self, state: QueueState, step: RunGate, gate: Gate) -> None:
        folder = (self._store.shared or Path("/var/log/slurm")) / "gate"
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._expected[step.queue], indent=1)
        (folder / f"expect-{step.queue}.json").write_text(text + "\n")
        super()._run(state, step, gate)


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
