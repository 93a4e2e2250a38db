"""Slurm's programs, each with a time limit, by output that 22.05 to 24.11 have alike."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from .view import Node

Run = Callable[[Sequence[str], str], str]
"""Runs a command with a text on standard input and returns what it prints."""

FIRST_JOB = "trainshed-first-job"
PARTITION = "trainshed"
SECONDS = 20
SPARED = timedelta(seconds=3)
"""So long a requeued job still waits once its two minutes are taken off."""
_WIDTHS = (24, 16, 24, 24, 24, 64)
_COLUMNS = ("JobID", "State", "EligibleTime", "EndTime", "TimeLimit", "admin_comment")
_LIMIT = "trainshed: time limit was "


class SlurmError(Exception):
    """A program of Slurm failed or did not answer in time."""


@dataclass(frozen=True)
class Job:
    """A job in the queue. Times are None where Slurm has none."""

    id: str
    state: str
    eligible: datetime | None
    end: datetime | None
    limit: str
    note: str


def run(command: Sequence[str], text: str = "") -> str:
    """Run a command on this machine.

    Raises:
        SlurmError: It failed or took too long.
    """
    try:
        # Slurm's own programs with arguments made here; no shell.
        done = subprocess.run(  # noqa: S603
            command,
            input=text,
            capture_output=True,
            text=True,
            errors="replace",  # a user's words may be in it
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlurmError(f"{command[0]}: {error}") from error
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise SlurmError(f"{' '.join(command)[:200]}: {said[:500]}")
    return done.stdout


class Slurm:
    """The cluster as root on the head node sees and changes it.

    Args:
        run: What runs commands.
    """

    def __init__(self, run: Run = run) -> None:
        self._run = run

    def nodes(self) -> dict[str, Node]:
        """Return every node by its name.

        Raises:
            SlurmError: slurmctld does not answer, or not with nodes.
        """
        said = self._run(("scontrol", "--oneliner", "show", "nodes"), "")
        nodes = [_node(line) for line in said.splitlines() if line.strip()]
        found = {node.name: node for node in nodes if node is not None}
        if not found and "No nodes in the system" not in said:
            # Without nodes 22.05 prints nothing at all, and so might a slurmctld that starts.
            self._run(("scontrol", "ping"), "")
        return found

    def jobs(self, nodes: Iterable[str] = ()) -> list[Job]:
        """Return the jobs in the queue, or those that are on some nodes."""
        format = ",".join(f"{name}:{width}" for name, width in zip(_COLUMNS, _WIDTHS, strict=True))
        names = ",".join(nodes)
        where = ("--nodelist", names) if names else ()
        said = self._run(("squeue", "--all", "--noheader", *where, "-O", format), "")
        return [_job(line) for line in said.splitlines() if line.strip()]

    def drain(self, node: str, reason: str) -> None:
        """Let a node have no new jobs."""
        self._update_node(node, "state=drain", f"reason={reason}")

    def resume(self, node: str) -> None:
        """Let a node have jobs again."""
        self._update_node(node, "state=resume")

    def down(self, node: str, reason: str) -> None:
        """Say that a node is dead: Slurm ends its jobs, and requeues those that may be."""
        self._update_node(node, "state=down", f"reason={reason}")

    def delete(self, node: str) -> None:
        """Forget a node that has no jobs."""
        self._run(("scontrol", "delete", f"nodename={node}"), "")

    def _update_node(self, node: str, *changes: str) -> None:
        self._run(("scontrol", "update", f"nodename={node}", *changes), "")

    def start_soon(self, job: str) -> None:
        """Take off the two minutes that Slurm holds a requeued job for.

        Not all of them: a node that gets a job again in the second in which the job was killed
        there takes it for the killed one ("already killed, do not launch batch job"), and it ends
        FAILED for good. Seen on 22.05 and 24.11.
        """
        self._update_job(job, f"starttime=now+{SPARED.seconds}")

    def end_at(self, job: Job, end: datetime) -> None:
        """Let a job end at a time, after the warning it asked for; its limit is noted in it."""
        note = [] if job.note.startswith(_LIMIT) else [f"admincomment={_LIMIT}{job.limit}"]
        local = end.astimezone().strftime("%Y-%m-%dT%H:%M:%S")
        self._update_job(job.id, f"endtime={local}", *note)

    def restore_limit(self, job: Job) -> None:
        """Give a waiting job the time limit back that ``end_at`` had cut."""
        if job.state == "PENDING" and job.note.startswith(_LIMIT):
            limit = job.note[len(_LIMIT) :]
            self._update_job(job.id, f"timelimit={limit}", "admincomment=")

    def requeue(self, job: str) -> None:
        """End a job, to be started again later."""
        self._run(("scontrol", "requeue", job), "")

    def cancel(self, job: str) -> None:
        """End a job."""
        self._run(("scancel", job), "")

    def _update_job(self, job: str, *changes: str) -> None:
        self._run(("scontrol", "update", f"jobid={job}", *changes), "")

    def submit_first_job(self, queue: str, nodes: int, gpus: int) -> int:
        """Submit a job over all nodes of a queue that sees whether each has its GPUs."""
        look = f"IFS=,; set -- $CUDA_VISIBLE_DEVICES; test $# -eq {gpus} && hostname"
        script = f"#!/bin/bash\nsrun bash -c '{look}'\n"
        options = ["--parsable", f"--partition={PARTITION}", f"--job-name={FIRST_JOB}"]
        options += [f"--nodes={nodes}", "--ntasks-per-node=1", f"--constraint={queue}", "--time=10"]
        options += [
            "--exclusive",
            "--mem=0",
            "--no-requeue",
            "--chdir=/",
            "--output=/var/log/slurm/%x-%j.log",
        ]
        options += [f"--gres=gpu:{gpus}"] if gpus else []
        said = self._run(("sbatch", *options), script)
        return int(said.strip().split(";")[0])

    def job_state(self, job: int) -> str:
        """Return the state of a job that is not long over, and why it waits."""
        said = self._run(("scontrol", "--oneliner", "show", "job", str(job)), "")
        match = re.search(r"JobState=(\S+) Reason=(\S+)", said)
        if match is None:
            raise SlurmError(f"job {job} has no state")
        return match[1] if match[1] != "PENDING" else f"PENDING {match[2]}"


def _node(line: str) -> Node | None:
    name, state = re.search(r"NodeName=(\S+)", line), re.search(r" State=(\S+)", line)
    if name is None or state is None:
        return None
    address = re.search(r" NodeAddr=(\S+)", line)
    reason = re.search(r" Reason=(.*?) \[\S+@\S+\]", line)
    flags = {flag.rstrip("*~#!%$@^-") for flag in state[1].split("+")}
    if "*" in state[1]:
        flags.add("NOT_RESPONDING")
    return Node(
        name=name[1],
        address=address[1] if address else name[1],
        flags=frozenset(flags),
        reason=reason[1] if reason else "",
    )


def _job(line: str) -> Job:
    cells, start = [], 0
    for width in _WIDTHS:
        cells.append(line[start : start + width].strip())
        start += width
    id, state, eligible, end, limit, note = cells
    return Job(id, state, _time(eligible), _time(end), limit, "" if note == "(null)" else note)


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(timezone.utc)  # noqa: UP017
    except ValueError:
        return None
