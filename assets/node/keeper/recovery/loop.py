"""The rounds: look, bring queues through their gates, mend nodes, tell."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .. import metrics
from ..cloudwatch import put
from ..document import Document, parse
from ..rounds import rounds
from ..slurm import SlurmError, run
from . import again
from .act import Actor, Tell
from .decide import Seen, decide
from .gate import QueueState, is_open
from .goodput import Goodput, digest
from .queues import Queues, queue_of, unreleasable
from .slurm import Slurm
from .store import Store
from .weekly import WEEK, week
from .words import held

DOCUMENT = Path(os.environ.get("ROOT_DIR") or "/", "etc/trainshed/fleet.json")
STATE = Path("/state/recovery")


class Recovery:
    """Looks after the health of one fleet.

    Args:
        slurm: The cluster.
        store: What is kept.
        tell: Tells people.
        read: Returns the fleet document's text.
        now: The time.
        send: Sends metrics of a cluster.
    """

    def __init__(
        self,
        slurm: Slurm,
        store: Store,
        tell: Tell,
        *,
        read: Callable[[], str] = DOCUMENT.read_text,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),  # noqa: UP017
        send: Callable[[str, dict[str, float]], None] = metrics.send,
    ) -> None:
        self._slurm, self._store, self._read = slurm, store, read
        self._now, self._send = now, send
        self._actor = Actor(slurm, store, tell, say)
        self._queues = Queues(slurm, store, tell, say)

    def round(self) -> dict[str, QueueState]:
        """Do one round, and return what was seen of queues; nothing is done without a view."""
        try:
            document = parse(self._read())
            nodes, comments = self._slurm.nodes(), self._slurm.comments()
            nodes = {name: node for name, node in nodes.items() if queue_of(name)}
            now = self._now()
            queues = self._queues.round(document, nodes, now)
        except (SlurmError, ValueError, OSError) as error:
            say("cannot look", reason=str(error))
            return {}
        seen = Seen(now, nodes, comments, self._store.history(), unreleasable(queues))
        self._actor.act(now, decide(seen))
        self._measure(document, seen, queues)
        return queues

    def _measure(self, document: Document, seen: Seen, queues: dict[str, QueueState]) -> None:
        waiting = [n for n in seen.nodes.values() if n.drained and held(n.reason)]
        shut = [state for state in queues.values() if state.alive and not is_open(state)]
        found = {"nodes_held": float(len(waiting)), "queues_closed": float(len(shut))}
        self._send(document.cluster, found)


def say(told: str, **more: object) -> None:
    """Write a line to the journal."""
    print(json.dumps({"recovery": told, **more}), flush=True)


def shared_folder(values: dict[str, Any]) -> Path | None:
    """Return the folder for people on the shared file system of a document."""
    mounts = values.get("mounts") or []
    return Path(mounts[0]["path"]) / "trainshed" if mounts else None


def teller(values: dict[str, Any]) -> Tell:
    """Return what tells people: the topic of the alerts, if the fleet has one."""
    region = str(values.get("region"))

    def tell(subject: str, text: str) -> None:
        say("told", subject=subject, text=text)
        try:
            topic = values.get("alarm_topic_arn") or _topic(values)
            if topic:
                message = ("--subject", subject[:100], "--message", text)
                run(("aws", "sns", "publish", "--region", region, "--topic-arn", topic, *message))
        except SlurmError as error:
            say("cannot tell", reason=str(error))

    return tell


def _topic(values: dict[str, Any]) -> str:
    """Return the topic that a parameter names; ParallelCluster's document is older than it."""
    name = values.get("alarm_topic_parameter")
    if not name:
        return ""
    ask = ("aws", "ssm", "get-parameter", "--region", str(values.get("region")), "--name", name)
    return run((*ask, "--query", "Parameter.Value", "--output", "text")).strip()


def tell_goodput(values: dict[str, Any], *, weekly: bool) -> int:
    """Print and send the goodput of the last week; each week tell people."""
    shared = shared_folder(values)
    now = datetime.now(timezone.utc)  # noqa: UP017
    jobs = week(run, shared / "jobs" if shared else None, now)
    text = digest(jobs, (now - WEEK).timestamp())
    print(text)
    percent = sum(jobs.values(), Goodput()).percent
    if percent is not None:
        _send(values, {"goodput_percent": percent})
    if weekly:
        teller(values)(f"Cluster {values['cluster']}: the week", text)
    return 0


def _send(values: dict[str, Any], found: dict[str, float]) -> None:
    """Send metrics through the agent of the head node; where it has none, to CloudWatch itself."""
    cluster = str(values["cluster"])
    if values.get("agent", True):
        metrics.send(cluster, found)
        return
    try:
        put(run, cluster, str(values["region"]), found)
    except SlurmError as error:
        say("cannot send", reason=str(error))


def main(arguments: Sequence[str]) -> int:
    """Look after the fleet for ever, or do what a person asks for."""
    values = json.loads(DOCUMENT.read_text())
    if arguments[:1] == ["goodput"]:
        return tell_goodput(values, weekly="--weekly" in arguments)
    store = Store(STATE, shared_folder(values))
    if arguments[:1] == ["gate"]:
        return again.main(arguments[1:], values, store)

    def look() -> None:
        values = json.loads(DOCUMENT.read_text())
        Recovery(Slurm(), store, teller(values)).round()

    return rounds(look, say, once="--once" in arguments)
