"""The job that this runs in, as Slurm tells it."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECONDS = 30
# A restart of slurmctld, as by a deployment, must not end a job that has saved to go on.
_TRIES, _PAUSE_SECONDS = 45, 2
_AWAY = re.compile(r"unable to contact|connect failure|connection refused|timed out", re.IGNORECASE)
_BAD = ("down", "drain", "fail", "no_respond")


class Job:
    """The job around this process; outside of one nothing can be requeued.

    Args:
        environment: Variables of the process.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.id = environment.get("SLURM_JOB_ID", "")
        self.restarts = int(environment.get("SLURM_RESTART_COUNT") or 0)
        self._nodes = environment.get("SLURM_JOB_NODELIST", "")

    def shown(self) -> dict[str, str]:
        """Return what Slurm shows of the job; empty when it does not answer."""
        show = ("scontrol", "--oneliner", "show", "job", self.id)
        said = _patiently(*show)[1] if self.id else ""
        return dict(word.split("=", 1) for word in said.split() if "=" in word)

    def bad_nodes(self) -> tuple[str, ...]:
        """Return the nodes of the job that get no new jobs."""
        said = _run("sinfo", "-ahNn", self._nodes, "-o", "%N %T")[1] if self._nodes else ""
        rows = {tuple(line.split()) for line in said.splitlines() if len(line.split()) == 2}
        return tuple(sorted(name for name, state in rows if state.startswith(_BAD)))

    def requeue(self) -> bool:
        """Have Slurm end the job and queue it again; tell whether it agreed."""
        return _patiently("scontrol", "requeue", self.id)[0] == 0


class Diary:
    """What happened to a job, a line of JSON each, for goodput; no diary is no fault.

    Args:
        directory: Folder of the fleet's records. None: nothing is noted.
        job: Id of the job.
    """

    def __init__(self, directory: Path | None, job: str) -> None:
        self._path = directory / f"{job}.jsonl" if directory and job else None

    def write(self, line: str) -> None:
        """Add a line."""
        try:
            if self._path is not None:
                with self._path.open("a") as diary:
                    diary.write(line + "\n")
        except OSError:
            self._path = None


def _patiently(*command: str) -> tuple[int, str]:
    """Run a command once slurmctld is there."""
    for _ in range(_TRIES):
        code, said, error = _run(*command)
        if code == 0 or not _AWAY.search(error):
            break
        time.sleep(_PAUSE_SECONDS)
    return code, said


def _run(*command: Sequence[str] | str) -> tuple[int, str, str]:
    try:
        # Slurm's programs, found as the user's shell finds them.
        done = subprocess.run(  # noqa: S603
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, "", str(error)
    return done.returncode, done.stdout, done.stderr
