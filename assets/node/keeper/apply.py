"""Brings a new fleet document to the head node: files, accounts, configuration of Slurm."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from . import whole
from .document import generation

SCRIPTS = Path(__file__).resolve().parents[1]
BOOT = "trainshed-boot.service"
TRY_AGAIN = timedelta(minutes=5)
# slurm.conf is the last: who finds it on the state volume finds the others too.
_FILES = ("gres.conf", "cgroup.conf", "slurm.conf")
_SECONDS = 600
_PATIENCE_SECONDS = 10.0
"""So long a round waits for Slurm to take a document; nodes are looked after meanwhile."""


class ApplyError(Exception):
    """A new document cannot be applied; what was before goes on."""

    def __init__(self, step: str, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.step, self.reason, self.remedy = step, reason, remedy


def run(command: Sequence[str]) -> tuple[int, str]:
    """Run a command of this machine and return its exit code and what it said."""
    try:
        # The node's own scripts with arguments made here; no shell.
        done = subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return 1, str(error)
    return done.returncode, (done.stdout + done.stderr).strip()


@dataclass(frozen=True)
class Places:
    """Where things are on a head node."""

    document: Path = Path("/etc/trainshed/fleet.json")
    files: Path = Path("/etc/trainshed/files")
    slurm: Path = Path("/etc/slurm")
    applied: Path = Path("/var/lib/trainshed/applied")
    scripts: Path = SCRIPTS
    kept: Path = Path("/state/slurm")


class Apply:
    """Applies documents, each once.

    The head's boot fetches scripts and files, makes users and applies the policy to the accounting
    database; it is a service of its own, since it may restart this program. What is left after it
    is what slurmctld must not see untried.

    Args:
        places: Where things are.
        run: What runs commands.
        patience_seconds: How long a step waits for Slurm before it comes back to it.
    """

    def __init__(
        self,
        places: Places = Places(),
        run: Callable[[Sequence[str]], tuple[int, str]] = run,
        patience_seconds: float = _PATIENCE_SECONDS,
    ) -> None:
        self._places, self._run, self._patience = places, run, patience_seconds
        self._pool = ThreadPoolExecutor(1)
        self._work: tuple[str, Future[None]] | None = None
        self._asked: tuple[str, datetime] | None = None
        self._refused: tuple[str, datetime, ApplyError] | None = None

    @property
    def live(self) -> str:
        """The generation that this head has; none between two."""
        try:
            applied = self._places.applied.read_text().strip()
        except OSError:
            return ""
        return applied if applied == self._on_disk() else ""

    def step(self, wanted: str, now: datetime) -> bool:
        """Go one step towards a generation, and tell whether it is live.

        Raises:
            ApplyError: It cannot be applied. It is tried again some minutes later.
        """
        if self._work is not None and self._works_for_long(self._work[1]):
            return False
        if self.live == wanted:
            return True
        if self._refused is not None:
            refused, since, error = self._refused
            if refused == wanted and now - since < TRY_AGAIN:
                raise error
            self._refused = None
        try:
            return self._step(wanted, now)
        except ApplyError as error:
            self._refused, self._asked = (wanted, now, error), None
            raise

    def _works_for_long(self, work: Future[None]) -> bool:
        return bool(wait([work], self._patience).not_done)

    def _step(self, wanted: str, now: datetime) -> bool:
        # From here on the head is between two: a rollback to the last one has something to do.
        self._places.applied.unlink(missing_ok=True)
        state = dict(
            line.partition("=")[::2]
            for line in self._run(("systemctl", "show", "-p", "ActiveState", "-p", "Result", BOOT))[
                1
            ].splitlines()
        )
        if state.get("ActiveState") == "activating":
            return False
        succeeded = state.get("Result") == "success"
        if self._on_disk() == wanted and succeeded:
            if self._work is None or self._work[0] != wanted:
                self._work = wanted, self._pool.submit(self._bring_to_slurm)
            work = self._work[1]
            if self._works_for_long(work):
                return False
            self._work = None
            work.result()
            self._places.applied.parent.mkdir(parents=True, exist_ok=True)
            self._places.applied.write_text(wanted + "\n")
            return True
        if self._asked is None or self._asked[0] != wanted:
            self._run(("systemctl", "start", "--no-block", BOOT))
            self._asked = (wanted, now)
        elif now - self._asked[1] > TRY_AGAIN or not succeeded:
            raise ApplyError(
                "boot",
                "the head node's boot does not end well with the new document",
                "journalctl -u trainshed-boot on the head node; it is tried again in 5 minutes",
            )
        return False

    def _on_disk(self) -> str:
        try:
            # The command line that writes it ends it with a line break.
            return generation(self._places.document.read_text().rstrip("\n"))
        except OSError:
            return ""

    def _bring_to_slurm(self) -> None:
        places = self._places
        with tempfile.TemporaryDirectory() as new:
            for name in _FILES:
                if (places.files / name).exists():
                    shutil.copy(places.files / name, new)
            same = all(
                (places.slurm / path.name).exists()
                and (places.slurm / path.name).read_bytes() == path.read_bytes()
                for path in Path(new).iterdir()
            )
            # A reconfigure that was cut off: the files are there, slurmctld has not read them.
            if not same or (places.slurm / ".pending").exists():
                self._keep_partitions(partitions(places.slurm) - partitions(Path(new)))
                script = str(places.scripts / "reconfigure.sh")
                self._must("slurm.conf", script, new, str(places.slurm), again=2)
        self._keep_files()
        accounts, policy = places.scripts / "slurm_accounts.py", places.files / "policy.json"
        # Once more, since new partitions may have made resources known.
        self._must("accounts", "/usr/bin/python3", str(accounts), "apply", str(policy))

    def _keep_partitions(self, leaving: set[str]) -> None:
        """Refuse to take a partition away that jobs run in: Slurm ends them as NODE_FAIL."""
        if not leaving:
            return
        names = ",".join(sorted(leaving))
        code, said = self._run(
            ("squeue", "--all", "--noheader", "-p", names, "-t", "RUNNING,SUSPENDED", "-o", "%i")
        )
        if code:
            raise ApplyError("partitions", said[-600:], "it is tried again in 5 minutes")
        if said:
            raise ApplyError(
                "partitions",
                f"partition {names} is removed while {len(said.split())} jobs run in it",
                f"an update ends no job: scontrol update partitionname={min(leaving)} state=drain, "
                "wait until they have ended, deploy again",
            )

    def _keep_files(self) -> None:
        """Keep what slurmctld has: the boot of another head node looks for partitions there."""
        places = self._places
        try:
            for name in _FILES:
                if (places.slurm / name).exists():
                    whole.write(places.kept / name, (places.slurm / name).read_text())
        except OSError as error:
            raise ApplyError(
                "state-volume",
                str(error),
                "see the space of /state; it is tried again in 5 minutes",
            ) from error

    def _must(self, step: str, *command: str, again: int | None = None) -> None:
        """Run a command; one exit code may say that it is not what was deployed that failed."""
        code, said = self._run(command)
        if code:
            raise ApplyError(
                step,
                said[-600:] or f"{command} ended with {code}",
                "it is tried again in 5 minutes"
                if code == again
                else "mend the policy and deploy again; until then the cluster runs as before",
            )


def partitions(folder: Path) -> set[str]:
    """Return the names of the partitions that a slurm.conf has, as slurm_files.sh does."""
    try:
        text = (folder / "slurm.conf").read_text()
    except OSError:
        return set()
    names = re.findall(r"(?mi)^\s*PartitionName=([^\s,]+)", text)
    return {name for name in names if name.lower() != "default"}
