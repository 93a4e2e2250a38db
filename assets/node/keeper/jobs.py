"""Brings jobs to an end with the warning that each asked for, and starts them again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

from . import whole
from .slurm import SPARED, Job, Slurm, SlurmError

BEFORE_THE_END = timedelta(minutes=1)
"""So long before its end a job is requeued, for Slurm to have ended it by then."""
Say = Callable[..., None]
_ON_NODES = {"RUNNING", "SUSPENDED", "CONFIGURING"}


class Jobs:
    """Jobs that are brought to an end, or lost their nodes.

    Args:
        slurm: The cluster.
        say: Tells what did not succeed.
        path: File of the jobs that are looked after, so that a process that is killed in between
            leaves them to the next one. Default: it does not.
    """

    def __init__(self, slurm: Slurm, say: Say, path: Path | None = None) -> None:
        self._slurm, self._say, self._path = slurm, say, path
        self._freed = _read(path)

    def free(self, jobs: Iterable[Job]) -> None:
        """Note jobs that Slurm requeues, as their node is gone; before it does."""
        self._keep(self._freed | {job.id for job in jobs})

    def ending(self) -> bool:
        """Tell whether a job of a node that is gone has not ended everywhere."""
        return any(
            job.id in self._freed and job.state == "COMPLETING" for job in self._slurm.jobs()
        )

    def end(self, now: datetime, nodes: Iterable[str], at: datetime) -> None:
        """Have the jobs of nodes end at a time, warned, and requeue them a minute before it."""
        for job in self._there(nodes):
            if now >= at - BEFORE_THE_END:
                self.free([job])
                self._try("requeue", job.id, lambda id=job.id: self._slurm.requeue(id))  # type: ignore[misc]
            else:
                self._warn(job, at)

    def cancel(self, now: datetime, nodes: Iterable[str], at: datetime) -> None:
        """Have the jobs of nodes end at a time, warned, and cancel what is left of them then."""
        for job in self._there(nodes):
            if now >= at:
                self._try("cancel", job.id, lambda id=job.id: self._slurm.cancel(id))  # type: ignore[misc]
            else:
                self._warn(job, at)

    def look_after(self, now: datetime) -> None:
        """Let requeued jobs start without Slurm's two minutes, and with the limit they had."""
        listed = {job.id: job for job in self._slurm.jobs()}
        freed = set(self._freed)
        for id in sorted(freed):
            job = listed.get(id)
            if job is None or job.state in _ON_NODES:
                freed.discard(id)
            elif job.state == "PENDING":
                if job.eligible is None or job.eligible > now + SPARED:
                    self._slurm.start_soon(id)
                else:
                    freed.discard(id)
        self._keep(freed)
        for job in listed.values():
            self._slurm.restore_limit(job)

    def _keep(self, freed: set[str]) -> None:
        if freed == self._freed:
            return
        self._freed = freed
        if self._path is None:
            return
        try:
            whole.write(self._path, "".join(f"{id}\n" for id in sorted(freed)))
        except OSError as error:
            # Jobs of a node that is gone start two minutes later then; better than not at all.
            self._say("did not succeed", action="note", subject=str(self._path), reason=str(error))

    def _there(self, nodes: Iterable[str]) -> list[Job]:
        return [job for job in self._slurm.jobs(nodes) if job.state in _ON_NODES]

    def _warn(self, job: Job, at: datetime) -> None:
        if job.end is None or job.end > at + timedelta(minutes=1):
            self._try("end", job.id, lambda: self._slurm.end_at(job, at))

    def _try(self, what: str, id: str, call: Callable[[], None]) -> None:
        try:
            call()
        except SlurmError as error:
            self._say("did not succeed", action=what, subject=id, reason=str(error))


def _read(path: Path | None) -> set[str]:
    try:
        return set(path.read_text().split()) if path else set()
    except OSError:
        return set()
