"""Carries out what was decided. What fails is told and decided anew in the next round."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

from . import whole
from .aws import AwsError
from .decide import (
    Action,
    Drain,
    EndJobs,
    Fence,
    Remove,
    Resume,
    SetDesired,
    Terminate,
)
from .document import time
from .jobs import Jobs, Say
from .slurm import Slurm, SlurmError
from .view import OURS, Replacement, View

HOUR = timedelta(hours=1)


class Cloud(Protocol):
    """What of AWS is acted on; ``aws.Aws`` is one."""

    def fence(self, instance: str) -> None:
        """Terminate an instance at once."""

    def terminate(self, instance: str, decrement: bool) -> None:
        """Terminate an instance of a group."""

    def set_desired(self, group: str, capacity: int) -> None:
        """Set the desired capacity of a group."""


class Journal:
    """Replacements of the last hour, on the state volume, so that a restart forgets none.

    Args:
        path: Its file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, now: datetime) -> tuple[Replacement, ...]:
        """Return the replacements of the hour before now."""
        try:
            lines = self._path.read_text().splitlines()
        except OSError:
            return ()
        found = []
        for line in lines:
            try:
                values = json.loads(line)
                at = time(values["at"])
                if at is not None and now - at < HOUR:
                    instance = str(values.get("instance", ""))
                    found.append(Replacement(at, values["queue"], values["why"], instance))
            except (ValueError, KeyError, TypeError):
                continue  # a line that was being written when the power went
        return tuple(found)

    def write(self, made: Replacement) -> None:
        """Note a replacement, before it is made; once for each instance."""
        before = self.read(made.at)
        if any(each.instance == made.instance for each in before if each.instance):
            return
        lines = [
            json.dumps({**asdict(each), "at": each.at.isoformat()}) for each in (*before, made)
        ]
        whole.write(self._path, "\n".join(lines) + "\n")


class Actor:
    """Acts on Slurm and AWS.

    Args:
        slurm: The cluster.
        cloud: Its part of AWS.
        journal: Where replacements are noted.
        say: Tells what was done; keywords are written with it.
        freed: File of the jobs that are looked after. Default: a restart forgets them.
    """

    def __init__(
        self, slurm: Slurm, cloud: Cloud, journal: Journal, say: Say, freed: Path | None = None
    ) -> None:
        self._slurm, self._cloud, self._journal, self._say = slurm, cloud, journal, say
        self._jobs = Jobs(slurm, say, freed)

    def act(self, view: View, actions: Sequence[Action]) -> None:
        """Carry out the actions of a round, then look after jobs of earlier ones."""
        for action in actions:
            self._try(type(action).__name__, action, lambda action=action: self._one(view, action))  # type: ignore[misc]
        if view.nodes is not None:
            self._try("jobs", "", lambda: self._jobs.look_after(view.now))

    def _try(self, what: str, subject: object, call: Callable[[], None]) -> None:
        try:
            call()
        except (AwsError, SlurmError, OSError) as error:
            self._say("did not succeed", action=what, subject=str(subject), reason=str(error))

    def _one(self, view: View, action: Action) -> None:
        if isinstance(action, Drain):
            self._slurm.drain(action.node, action.reason)
        elif isinstance(action, Resume):
            self._slurm.resume(action.node)
        elif isinstance(action, Fence):
            self._journal.write(Replacement(view.now, action.queue, action.why, action.instance))
            self._cloud.fence(action.instance)
        elif isinstance(action, Terminate):
            if action.counts:
                self._journal.write(
                    Replacement(view.now, action.queue, action.why, action.instance)
                )
            self._cloud.terminate(action.instance, action.decrement)
        elif isinstance(action, Remove):
            self._remove(view, action)
        elif isinstance(action, SetDesired):
            self._cloud.set_desired(action.group, action.capacity)
        else:
            self._end_jobs(view.now, action)
        self._say("did", action=type(action).__name__, subject=str(action))

    def _remove(self, view: View, action: Remove) -> None:
        """Let a node's jobs start elsewhere; its instance has ended, so nothing of them runs."""
        there = [job for job in self._slurm.jobs([action.node]) if job.state != "PENDING"]
        if "DOWN" not in (view.nodes or {})[action.node].flags:
            self._jobs.free(there)
            self._slurm.down(action.node, f"{OURS}instance {action.instance} is gone")
        elif not there and not self._jobs.ending():
            # While one of its jobs still ends on another node, 22.05's slurmctld does not survive
            # that the node is deleted.
            self._slurm.delete(action.node)

    def _end_jobs(self, now: datetime, action: EndJobs) -> None:
        if action.requeue:
            self._jobs.end(now, action.nodes, action.at)
        else:
            self._jobs.cancel(now, action.nodes, action.at)
