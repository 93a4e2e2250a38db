"""Runs a training step, and runs it again from its newest complete checkpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from .checkpoints import newest, progress
from .job import Diary, Job
from .rules import AGAIN, REQUEUE, Ended, failures_now, next_step

STATE = ".trainshed-resume.json"
PLACE = "{checkpoint}"
_REQUEUED_SECONDS = 120
SETTLE_SECONDS = 75
"""Slurm's HealthCheckProgram runs each 65 s: in this time it has drained a node that is broken."""
_POLL_SECONDS = 5


@dataclass(frozen=True)
class Plan:
    """What is run.

    Args:
        command: The step, such as srun and its arguments. An argument with ``{checkpoint}`` gets
            the path of the checkpoint, and is left out when there is none.
        checkpoints: Folder of the checkpoints, on shared storage.
        retries: Failures that are forgiven without a new checkpoint between them.
        forward: Signal that the step gets when a checkpoint is asked for; None: only the stop file.
        settle_seconds: How long the checks of nodes have after a first failure.
    """

    command: Sequence[str]
    checkpoints: Path
    retries: int = 3
    forward: signal.Signals | None = signal.SIGUSR1
    settle_seconds: float = SETTLE_SECONDS


class Runner:
    """Runs one plan within one job.

    Args:
        plan: What is run.
        job: The job.
        diary: Where events are noted.
    """

    def __init__(self, plan: Plan, job: Job, diary: Diary) -> None:
        self._plan, self._job, self._diary = plan, job, diary
        self._child: subprocess.Popen[bytes] | None = None
        self._asked: set[int] = set()
        self._last: Path | None = None
        self._counted: dict[str, Any] = {}
        self._state = plan.checkpoints / STATE
        self.stop_file = plan.checkpoints / f".stop-{job.id or os.getpid()}"

    def run(self) -> int:
        """Run the step until it is done, and return its exit code."""
        self._plan.checkpoints.mkdir(parents=True, exist_ok=True)
        self.stop_file.unlink(missing_ok=True)
        for number in (signal.SIGUSR1, signal.SIGTERM):
            signal.signal(number, self._hear)
        while True:
            start = self._newest()
            code = self._once(start)
            ended = self._ended(code, start)
            decision, why = next_step(ended)
            if decision == AGAIN and ended.failures == 1:
                decision, why = next_step(self._settled(ended))
            self._tell(decision, why, code=code)
            if decision == AGAIN:
                continue
            self.stop_file.unlink(missing_ok=True)
            if decision == REQUEUE:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                if self._job.requeue():
                    # Slurm ends this process; if it does not, the job must not look done.
                    time.sleep(_REQUEUED_SECONDS)
            return code if code or decision != REQUEUE else 1

    def _newest(self) -> Path | None:
        self._last, passed = newest(self._plan.checkpoints)
        for each in passed:
            self._tell("passed over", each.fault, checkpoint=each.path.name)
        return self._last

    def _once(self, start: Path | None) -> int:
        place = str(start or "")
        words = [
            word.replace(PLACE, place) for word in self._plan.command if start or PLACE not in word
        ]
        variables = {"TRAINSHED_CHECKPOINT": place, "TRAINSHED_STOP_FILE": str(self.stop_file)}
        self._tell("start", "", checkpoint=start.name if start else "")
        # The user's own command, which the user gave as words.
        self._child = subprocess.Popen(words, env={**os.environ, **variables})  # noqa: S603
        if self._asked:
            self._pass_on()  # it came while the step was being started
        return self._child.wait()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._asked.add(number)
        if self._child is not None:
            self._pass_on()

    def _pass_on(self) -> None:
        """Ask the step for a checkpoint: by file, for launchers that die of signals, and signal."""
        try:
            self.stop_file.touch()
        except OSError as error:
            self._tell("no stop file", str(error))
        ends = signal.SIGTERM in self._asked
        forward = signal.SIGTERM if ends else self._plan.forward
        if forward is not None and self._child is not None and self._child.poll() is None:
            self._child.send_signal(forward)

    def _ended(self, code: int, start: Path | None) -> Ended:
        now = self._newest()
        failures = self._count(start, now) if code and not self._asked else 0
        shown = self._job.shown() if code or self._asked else {}
        return Ended(
            code=code,
            asked_to_save=signal.SIGUSR1 in self._asked,
            asked_to_end=signal.SIGTERM in self._asked,
            job_runs=self._runs(shown),
            # Where Slurm says nothing it is asked to requeue all the same, and may refuse.
            may_requeue=bool(self._job.id) and shown.get("Requeue", "1") == "1",
            bad_nodes=self._job.bad_nodes() if code else (),
            failures=failures,
            retries=self._plan.retries,
        )

    def _settled(self, ended: Ended) -> Ended:
        """Give the checks of the nodes their time, so that no retry is lost on a broken one."""
        end = time.monotonic() + (self._plan.settle_seconds if self._job.id else 0)
        while not self._asked and not ended.bad_nodes and time.monotonic() < end:
            time.sleep(min(_POLL_SECONDS, max(0.0, end - time.monotonic())))
            ended = replace(ended, bad_nodes=self._job.bad_nodes())
        return replace(
            ended,
            asked_to_save=signal.SIGUSR1 in self._asked,
            asked_to_end=signal.SIGTERM in self._asked,
            job_runs=self._runs(self._job.shown()) if self._asked else ended.job_runs,
        )

    @staticmethod
    def _runs(shown: dict[str, str]) -> bool:
        return shown.get("JobState", "RUNNING") == "RUNNING"

    def _count(self, start: Path | None, now: Path | None) -> int:
        """Return the failures since the last new checkpoint; they are kept across a requeue."""
        try:
            known = self._counted or json.loads(self._state.read_text())
            same = known["job"] == self._job.id
            before = int(known["failures"]) if same else 0
            step, saved_at = known["furthest"] if same else progress(start)
            best = (int(step), float(saved_at))
        except (OSError, ValueError, KeyError, TypeError):
            before, best = 0, progress(start)
        here = progress(now)
        failures = failures_now(before, best, here)
        state = {"job": self._job.id, "failures": failures, "furthest": max(best, here)}
        self._counted = state
        try:
            new = self._state.with_name(f"{STATE}.new")
            new.write_text(json.dumps(state) + "\n")
            new.replace(self._state)
        except OSError as error:  # a full quota is why many a step fails
            self._tell("count not kept", str(error))
        return failures

    def _tell(self, event: str, why: str, **more: object) -> None:
        said = {
            key: value for key, value in {"why": why, **more}.items() if value not in ("", None)
        }
        words = " ".join(f"{key}={value}" for key, value in said.items())
        print(f"trainshed-resume: {event} {words}".rstrip(), file=sys.stderr, flush=True)
        entry = {"at": int(time.time()), "restart": self._job.restarts, "event": event, **said}
        self._diary.write(json.dumps({**entry, **self._saved()}))

    def _saved(self) -> dict[str, int]:
        """Return when the newest complete checkpoint was written, as far as was looked."""
        try:
            return {"saved_at": int(self._last.stat().st_mtime)} if self._last else {}
        except OSError:
            return {}  # its owner has removed it
