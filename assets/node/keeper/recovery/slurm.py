"""Slurm's programs beyond what the keeper needs: comments, reboots, reservations, gates."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..document import Gate
from ..slurm import FIRST_JOB, PARTITION, Run, SlurmError, run
from ..slurm import Slurm as KeeperSlurm
from .gate import Run as RunGate
from .gate import reservation

GATE_JOB = "trainshed-gate"
_COMMENT = re.compile(r"^NodeName=(\S+).*? Comment=(trainshed: .*?)(?= \w+=|\s*$)")
_FEATURES = re.compile(r"^NodeName=(\S+).*? ActiveFeatures=(\S*)")
# nccl-tests takes some minutes, also over hundreds of nodes.
_MOST_SECONDS = 900
_SCRIPT = """\
#!/bin/bash
export GATE_SECONDS={seconds}
exec /opt/trainshed/current/health/nccl_gate.sh {strict} /etc/trainshed/expect.json {folder}
"""


class Slurm(KeeperSlurm):
    """The cluster as root on the head node sees and changes it.

    Args:
        run: What runs commands.
        script: Script of the gate's job; ``{folder}`` is where its results go, ``{seconds}`` how
            long it may take, ``{strict}`` whether it judges strictly.
    """

    def __init__(self, run: Run = run, script: str = _SCRIPT) -> None:
        super().__init__(run)
        self._script = script

    def comments(self) -> dict[str, str]:
        """Return the comments of ours by node."""
        said = self._run(("scontrol", "--oneliner", "show", "nodes"), "")
        found = (_COMMENT.match(line) for line in said.splitlines())
        return {match[1]: match[2].strip() for match in found if match}

    def comment(self, node: str, text: str) -> None:
        """Set the comment of a node."""
        self._run(("scontrol", "update", f"nodename={node}", f"comment={text}"), "")

    def release_by_hand(self, nodes: Sequence[str]) -> str:
        """Return the command by which a person lets nodes have jobs."""
        return f"scontrol update nodename={','.join(nodes)} state=resume"

    def features(self) -> dict[str, set[str]]:
        """Return the features of nodes."""
        said = self._run(("scontrol", "--oneliner", "show", "nodes"), "")
        found = (_FEATURES.match(line) for line in said.splitlines())
        # A node without any has nothing there on 22.05, and (null) on others.
        return {match[1]: set(match[2].split(",")) - {"", "(null)"} for match in found if match}

    def set_features(self, node: str, *features: str) -> None:
        """Set the features of a node; its queue's has to be among them."""
        told = ",".join(features)
        changes = (f"availablefeatures={told}", f"activefeatures={told}")
        self._run(("scontrol", "update", f"nodename={node}", *changes), "")

    def reboot(self, node: str) -> None:
        """Reboot a node without jobs; it keeps its state and its reason."""
        self._run(("scontrol", "reboot", node), "")

    def reservations(self) -> dict[str, tuple[str, ...]]:
        """Return the reservations of gates, with their nodes."""
        said = self._run(("scontrol", "--oneliner", "show", "reservation"), "")
        found = re.findall(r"ReservationName=(\S+) .*?Nodes=(\S+)", said)
        ours = {name: nodes for name, nodes in found if name.startswith(reservation(""))}
        return {name: self._names(nodes) for name, nodes in ours.items()}

    def _names(self, nodes: str) -> tuple[str, ...]:
        if nodes == "(null)":
            return ()
        return tuple(sorted(self._run(("scontrol", "show", "hostnames", nodes), "").split()))

    def reserve(self, name: str, nodes: tuple[str, ...], *, new: bool) -> None:
        """Keep nodes for root, or change which; jobs that run there go on."""
        told = f"nodes={','.join(nodes)}"
        if new:
            always = (
                "starttime=now",
                "duration=UNLIMITED",
                "users=root",
                "flags=MAINT,IGNORE_JOBS",
            )
            self._run(("scontrol", "create", f"reservationname={name}", told, *always), "")
        else:
            self._run(("scontrol", "update", f"reservationname={name}", told), "")

    def unreserve(self, name: str) -> None:
        """Let everybody have the nodes of a reservation."""
        for job in self._waiting(name):
            self._run(("scancel", job), "")
        self._run(("scontrol", "delete", f"reservationname={name}"), "")

    def _waiting(self, name: str) -> list[str]:
        shown = ("squeue", "--all", "--noheader", f"--reservation={name}", "-t", "PD", "-o", "%i")
        return self._run(shown, "").split()

    def let_first_job_in(self, names: dict[str, str]) -> None:
        """Let the keeper's first job run where users may not yet.

        Args:
            names: Reservation by queue.
        """
        shown = ("squeue", "--all", "--noheader", "-u", "root", f"--name={FIRST_JOB}")
        said = self._run((*shown, "-t", "PD", "-o", "%i|%f|%v"), "")
        for line in said.splitlines():
            job, queue, has = line.strip().split("|")
            if queue in names and has in ("", "(null)"):
                self._run(
                    ("scontrol", "update", f"jobid={job}", f"reservationname={names[queue]}"), ""
                )

    def gate_job(self, queue: str) -> str:
        """Return the id of a queue's gate that waits or runs; empty if there is none."""
        name = f"{GATE_JOB}-{queue}"
        said = self._run(
            ("squeue", "--all", "--noheader", "-u", "root", f"--name={name}", "-o", "%i"), ""
        )
        return (said.split() or [""])[0]

    def _where(self, step: RunGate) -> list[str]:
        """Return the options by which a gate runs on the nodes of its queue."""
        return [f"--partition={PARTITION}", f"--constraint={step.queue}"]

    def submit_gate(self, step: RunGate, folder: str, reserved: str, gate: Gate) -> str:
        """Submit the all-reduce over all nodes of a queue."""
        queue, gpus = step.queue, step.gpus
        options = ["--parsable", f"--job-name={GATE_JOB}-{queue}", *self._where(step)]
        options += [f"--nodes={len(step.nodes)}", f"--ntasks-per-node={gpus}"]
        options += ["--exclusive", "--mem=0", "--time=30", "--no-requeue", "--chdir=/"]
        options += [f"--gres=gpu:{gpus}", f"--output={folder}/gate-%j.log"]
        options += [f"--reservation={reserved}"] if reserved else []
        script = self._script.format(
            folder=folder,
            queue=queue,
            seconds=min(_MOST_SECONDS, gate.minutes * 60),
            strict="--strict" if gate.strict else "",
        )
        said = self._run(("sbatch", *options), script)
        return said.strip().split(";")[0]

    def exit_code(self, job: str) -> int | None:
        """Return the exit code of a job; None while it is not over."""
        try:
            said = self._run(("scontrol", "--oneliner", "show", "job", job), "")
        except SlurmError as error:
            if "Invalid job id" in str(error):
                return 1
            raise
        match = re.search(r"JobState=(\S+) .*?ExitCode=(\d+):(\d+)", said)
        if match is None or match[1] in ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING"):
            return None
        return int(match[2]) or int(match[3]) or int(match[1] != "COMPLETED")
