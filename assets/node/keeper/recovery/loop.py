"""The rounds: look, bring queues through their gates, mend nodes, tell."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .. import metrics
from ..document import Document, parse
from ..slurm import SlurmError, run
from .act import Actor, Tell
from .decide import Seen, decide
from .gate import OPENED, QueueState, Record, is_open
from .goodput import Goodput, digest
from .queues import Queues, queue_of, unreleasable
from .slurm import Slurm
from .store import Store
from .weekly import WEEK, week
from .words import held

DOCUMENT = Path("/etc/trainshed/fleet.json")
STATE = Path("/state/recovery")
ROUND_SECONDS = 10


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
            text = self._read()
            document, gated = parse(text), bool(json.loads(text).get("gate"))
            nodes, comments = self._slurm.nodes(), self._slurm.comments()
            nodes = {name: node for name, node in nodes.items() if queue_of(name)}
            now = self._now()
            queues = self._queues.round(document, nodes, now, gated=gated)
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
    topic, region = values.get("alarm_topic_arn"), str(values.get("region"))

    def tell(subject: str, text: str) -> None:
        say("told", subject=subject, text=text)
        if topic:
            message = ("--subject", subject[:100], "--message", text)
            try:
                run(("aws", "sns", "publish", "--region", region, "--topic-arn", topic, *message))
            except SlurmError as error:
                say("cannot tell", reason=str(error))

    return tell


def ask(store: Store, queues: Sequence[str], opened: Sequence[str], now: datetime) -> None:
    """Have gates run again, or open queues without one."""
    for queue in queues:
        if queue in opened:
            record = store.record(queue)
            text = f"opened by hand; before: {record.text if record else 'no gate'}"
            nodes = record.nodes if record else ()
            made = record or Record(now, OPENED, nodes, text)
            store.keep(queue, replace(made, at=now, verdict=OPENED, text=text))
        else:
            store.asked(queue).parent.mkdir(parents=True, exist_ok=True)
            store.asked(queue).touch()
        print(f"{queue}: {'open' if queue in opened else 'the gate runs'} within seconds")


def tell_goodput(values: dict[str, Any], *, weekly: bool) -> int:
    """Print and send the goodput of the last week; each week tell people."""
    shared = shared_folder(values)
    now = datetime.now(timezone.utc)  # noqa: UP017
    jobs = week(run, shared / "jobs" if shared else None, now)
    text = digest(jobs, (now - WEEK).timestamp())
    print(text)
    percent = sum(jobs.values(), Goodput()).percent
    if percent is not None:
        metrics.send(str(values["cluster"]), {"goodput_percent": percent})
    if weekly:
        teller(values)(f"Cluster {values['cluster']}: the week", text)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Look after the fleet for ever, or do what a person asks for."""
    values = json.loads(DOCUMENT.read_text())
    if arguments[:1] == ["goodput"]:
        return tell_goodput(values, weekly="--weekly" in arguments)
    store = Store(STATE, shared_folder(values))
    if arguments[:1] == ["gate"]:
        opened = list(arguments[2:]) if "--open" in arguments else []
        unknown = [queue for queue in opened if queue not in values["queues"]]
        if unknown or ("--open" in arguments and not opened):
            print(f"usage: trainshed-gate [--open QUEUE]; queues are {', '.join(values['queues'])}")
            return 2
        now = datetime.now(timezone.utc)  # noqa: UP017
        ask(store, opened or sorted(values["queues"]), opened, now)
        return 0
    while True:
        values = json.loads(DOCUMENT.read_text())
        recovery = Recovery(Slurm(), store, teller(values))
        started = time.monotonic()
        recovery.round()
        if "--once" in arguments:
            return 0
        time.sleep(max(1.0, ROUND_SECONDS - (time.monotonic() - started)))
