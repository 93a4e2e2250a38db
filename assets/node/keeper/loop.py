"""The keeper's rounds: look, decide, act, tell."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Protocol, TypeVar

from . import act, document, leaving, metrics, status
from .apply import Apply, ApplyError
from .aws import Aws, AwsError
from .decide import decide
from .ends import Ends
from .first_job import FirstJob
from .opening import shut
from .probe import Probe
from .recovery.store import Store
from .rounds import rounds
from .slurm import Job, Slurm, SlurmError
from .view import Group, Instance, View, instance_of

T = TypeVar("T")
TELL_AGAIN_SECONDS = 60
LAUNCHES_AGAIN_SECONDS = 30
FORGOTTEN_SECONDS = 600
"""EC2 lists a terminated instance for an hour; only a long silent node may be an older one."""


class Cloud(act.Cloud, Protocol):
    """What the keeper asks of AWS; ``aws.Aws`` is one."""

    def parameters(self) -> dict[str, tuple[str, datetime]]:
        """Return fleet document, command and last status."""

    def put_status(self, text: str) -> None:
        """Write the status document."""

    def failures(self) -> dict[str, dict[str, Any]]:
        """Return what instances wrote that gave up booting."""

    def forget_failures(self, instances: Sequence[str]) -> None:
        """Delete what terminated instances wrote."""

    def groups(self, names: Sequence[str]) -> dict[str, Group]:
        """Return Auto Scaling groups."""

    def instances(self) -> dict[str, Instance] | None:
        """Return the instances of the cluster."""

    def block_ends(self, reservations: Iterable[str]) -> dict[str, datetime]:
        """Return when Capacity Blocks end, as EC2 has it."""

    def block_warnings(self, reservations: Iterable[str]) -> dict[str, datetime]:
        """Return when EC2 first warned that it takes blocks away."""

    def ended(self, instance: str) -> bool:
        """Tell whether EC2 says that there is no such instance."""

    def failed_launch(self, group: str, now: datetime) -> str:
        """Return why a group's last launch failed."""


@dataclass
class Memory:
    """What one process remembers, and another one finds out anew."""

    text: str = ""
    command: tuple[str, datetime] | None = None
    first_job: FirstJob | None = None
    told: str = ""
    told_at: float = -TELL_AGAIN_SECONDS
    drained: bool = False
    """Whether what was told last is all that a deletion waits for."""
    deleted: bool = False
    """Whether the provider has deleted the status after its command was followed."""
    launches: dict[str, str] | None = None
    launches_at: float = -LAUNCHES_AGAIN_SECONDS


class Keeper:
    """Looks after one fleet.

    Args:
        cloud: Its part of AWS.
        slurm: The cluster.
        apply: Applies new documents to the head node.
        probe: Asks nodes whether they listen.
        journal: Notes replacements.
        clock: Seconds of a clock that never goes back.
        now: The time.
        slurmdbd: Host and port of slurmdbd.
        send: Sends metrics of a cluster.
        store: What recovery keeps of gates. Default: nothing.
        freed: File of requeued jobs that are looked after. Default: a restart forgets them.
        head: Instance id of this head node. Default: the status does not say whose it is.
    """

    def __init__(
        self,
        cloud: Cloud,
        slurm: Slurm,
        apply: Apply,
        probe: Probe,
        journal: act.Journal,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(timezone.utc),  # noqa: UP017
        slurmdbd: tuple[str, int] = metrics.SLURMDBD,
        send: Callable[[str, dict[str, float]], None] = metrics.send,
        store: Store | None = None,
        freed: Path | None = None,
        head: str = "",
    ) -> None:
        self._store, self._head = store, head
        self._cloud, self._slurm, self._apply, self._probe = cloud, slurm, apply, probe
        self._journal, self._clock, self._now = journal, clock, now
        self._slurmdbd, self._send = slurmdbd, send
        self._actor = act.Actor(slurm, cloud, journal, say, freed)
        self._memory = Memory()
        self._ends = Ends(
            lambda ids: self._read("ends of blocks", [], lambda: self._cloud.block_ends(ids)), clock
        )
        self._warnings = Ends(
            lambda ids: self._read("warnings", [], lambda: self._cloud.block_warnings(ids)), clock
        )

    def round(self) -> View | None:
        """Do one round, and return what was seen; None before there is a document."""
        unread: list[str] = []
        fresh = self._read_parameters(unread)
        try:
            wanted = document.parse(self._memory.text)
        except ValueError as error:
            say("no document", reason=str(error))
            return None
        ids = wanted.blocks
        wanted = wanted.ending(self._ends.look(ids), self._warnings.look(ids))
        view = self._look(wanted, unread)
        # A document that is not live, or may be an old one, is no ground for taking nodes away.
        live = fresh and self._apply.live == wanted.generation
        view = replace(view, settled=live)
        self._actor.act(view, decide(view))
        known = self._known(view, "; ".join(unread))
        self._tell(view, known)
        jobs: list[Job] | None = None
        if view.nodes is not None:
            jobs = self._read("jobs", [], self._slurm.jobs)
        self._send(wanted.cluster, metrics.gather(view, jobs, self._slurmdbd))
        return view

    def _read(self, what: str, unread: list[str], read: Callable[[], T]) -> T | None:
        try:
            return read()
        except (AwsError, SlurmError) as error:
            say("cannot read", what=what, reason=str(error))
            unread.append(f"{what} cannot be read: {error}")
            return None

    def _read_parameters(self, unread: list[str]) -> bool:
        """Read the parameters, and tell whether the document is fresh."""
        memory = self._memory
        found = self._read("parameters", unread, self._cloud.parameters)
        if found is None:
            return False
        # A document that is gone for a moment, as when it is replaced, is still the last one.
        memory.text = found["fleet"][0] if "fleet" in found else memory.text
        if memory.command and "command" not in found:
            memory.deleted = "status" not in found
        memory.command = found.get("command")
        if memory.first_job is None:
            memory.first_job = FirstJob(self._slurm, _first_job(found.get("status")))
        return "fleet" in found

    def _look(self, wanted: document.Document, unread: list[str]) -> View:
        now = self._now()
        cloud, names = self._cloud, [queue.group for queue in wanted.queues.values()]
        nodes = self._read("nodes", unread, self._slurm.nodes)
        silent = self._probe.look(nodes.values(), self._clock()) if nodes is not None else {}
        instances = self._read("instances", unread, cloud.instances)
        if instances is not None:
            instances = {**instances, **self._forgotten(instances, silent, now)}
        failures = self._read("failed boots", unread, cloud.failures) or {}
        view = View(
            now=now,
            document=wanted,
            groups=self._read("groups", unread, lambda: cloud.groups(names)),
            instances=instances,
            nodes=nodes,
            silent=silent,
            failures=failures,
            replacements=self._journal.read(now),
            ends_at=_ends_at(self._memory.command),
        )
        gone = [id for id in failures if instances and id in instances]
        gone = [id for id in gone if instances and instances[id].state == "terminated"]
        if gone:
            self._read("old records", unread, lambda: cloud.forget_failures(gone))
        return view

    def _forgotten(
        self, instances: Mapping[str, Instance], silent: Mapping[str, float], now: datetime
    ) -> dict[str, Instance]:
        """Return terminated instances that EC2 no longer lists, if it says so of each."""
        ended = {}
        for name, seconds in silent.items():
            id = instance_of(name)
            if id is None or id in instances or seconds <= FORGOTTEN_SECONDS:
                continue
            if self._read("instance", [], lambda id=id: self._cloud.ended(id)):  # type: ignore[misc]
                ended[id] = Instance(id, "terminated", "compute", "", now)
        return ended

    def _known(self, view: View, unread: str) -> status.Known:
        first = self._memory.first_job or FirstJob(self._slurm, None)
        known = status.Known(False, None, first, unread=unread, head=self._head)
        if view.ends_at is not None:
            return known
        applied = self._apply.live == view.document.generation
        if not applied and leaving.unknown(view):
            return known
        refusal = None if applied else leaving.refusal(view)
        try:
            if refusal is not None:
                raise refusal
            applied = self._apply.step(view.document.generation, view.now)
        except ApplyError as error:
            say("refused", step=error.step, reason=error.reason)
            return replace(known, refusal=error)
        if not view.whole:
            return replace(known, applied=applied)
        short = [q for q in view.document.queues.values() if status.missing(view, q)]
        if applied and not short:
            self._read("first job", [], lambda: first.step(view))
        launches = self._launches(view) if short else {}
        closed = shut(view, self._store) if applied and self._store else ()
        return replace(known, applied=applied, launches=launches, shut=closed)

    def _launches(self, view: View) -> dict[str, str]:
        """Ask why instances are missing, not in every round."""
        memory = self._memory
        if memory.launches is None or self._clock() - memory.launches_at > LAUNCHES_AGAIN_SECONDS:
            memory.launches_at, memory.launches = self._clock(), {}
            for name, queue in view.document.queues.items():
                group = (view.groups or {}).get(queue.group)
                if group is not None and len(group.members) < group.desired:
                    why = self._read(
                        "activities",
                        [],
                        lambda group=group: self._cloud.failed_launch(group.name, view.now),  # type: ignore[misc]
                    )
                    memory.launches[name] = why or ""
        return memory.launches

    def _tell(self, view: View, known: status.Known) -> None:
        memory, made = self._memory, status.build(view, known)
        # This head node outlives the fleet by minutes, and what it wrote then would stay for good.
        if memory.deleted or (memory.drained and memory.command):
            return
        text = json.dumps(made, sort_keys=True)
        if text == memory.told and self._clock() - memory.told_at < TELL_AGAIN_SECONDS:
            return
        whole = status.text({**made, "at": view.now.isoformat(timespec="seconds")})
        try:
            self._cloud.put_status(whole)
            memory.told, memory.told_at = text, self._clock()
            memory.drained = made["phase"] == "drained"
        except AwsError as error:
            say("cannot tell", reason=str(error))


def _first_job(told: tuple[str, datetime] | None) -> dict[str, Any] | None:
    try:
        return dict(json.loads(told[0])["first_job"]) if told else None
    except (ValueError, KeyError, TypeError):
        return None


def _ends_at(command: tuple[str, datetime] | None) -> datetime | None:
    """Return when jobs end for a deletion; its command's age is known to Parameter Store."""
    if command is None:
        return None
    try:
        values = json.loads(command[0])
        seconds = int(values.get("grace_seconds", 0)) if values.get("drain") else None
    except (ValueError, TypeError, AttributeError):
        return None
    return None if seconds is None else command[1] + timedelta(seconds=seconds)


def say(told: str, **more: object) -> None:
    """Write a line to the journal."""
    print(json.dumps({"keeper": told, **more}), flush=True)


def main(arguments: Sequence[str]) -> int:
    """Keep the fleet for ever, or for one round."""
    state = Path(os.environ.get("TRAINSHED_STATE_DIR", "/state"))
    keeper = Keeper(
        Aws(os.environ["TRAINSHED_CLUSTER"], os.environ["TRAINSHED_REGION"]),
        Slurm(),
        Apply(),
        Probe(),
        act.Journal(state / "keeper" / "replacements.jsonl"),
        store=Store(state / "recovery", None),
        freed=state / "keeper" / "freed",
        head=os.environ.get("TRAINSHED_INSTANCE_ID", ""),
    )
    return rounds(keeper.round, say, once="--once" in arguments)
