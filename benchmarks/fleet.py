"""A bare Slurm fleet: time to its first job by step, 512 nodes, packages from cache and mirror.

usage: python -m benchmarks.fleet [boot] [scale] [install]    all of them without a name

Needs root and what scripts/slurm_lab.sh installs. All runs on this machine; a quiet one is wanted.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.slurm.fleet.files import QUEUE, Files
from tests.slurm.fleet.image import PACKAGES, bare_image
from tests.slurm.fleet.lab import FleetLab
from tests.waiting import wait_until

NODES = 512
JOBS = 1000


class ManyOnOne(Files):
    """Files for many slurmd on one machine: directories of their own, no cgroups, no checks."""

    def written(self) -> dict[str, bytes]:
        """Return the files."""
        files = super().written()
        conf = files["slurm.conf"].decode()
        for old, new in (
            ("SlurmdPidFile=/run/slurmd.pid", "SlurmdPidFile=/run/many/%n.pid"),
            ("SlurmdSpoolDir=/var/spool/slurmd", "SlurmdSpoolDir=/run/many/%n"),
            ("SlurmdLogFile=/var/log/slurm/slurmd.log", "SlurmdLogFile=/run/many/%n.log"),
            ("ProctrackType=proctrack/cgroup", "ProctrackType=proctrack/linuxproc"),
            ("TaskPlugin=task/cgroup,task/affinity", "TaskPlugin=task/none"),
            ("JobAcctGatherType=jobacct_gather/cgroup", "JobAcctGatherType=jobacct_gather/none"),
        ):
            assert old in conf, old
            conf = conf.replace(old, new)
        # A node's own work, which five hundred machines would share.
        own = ("Prolog=", "TaskProlog=", "HealthCheck")
        kept = [line for line in conf.splitlines() if not line.startswith(own)]
        return {**files, "slurm.conf": "\n".join([*kept, ""]).encode(), "gres.conf": b""}


def boot(work: Path) -> None:
    """Time from the start of the scripts to the first job done, for a head node and four nodes."""
    with FleetLab(work) as lab:
        started = time.monotonic()
        head = lab.launch("head")
        nodes = [lab.launch("compute", QUEUE) for _ in range(4)]
        lab.wait_booted(head)
        _say("head node booted", started)
        for node in nodes:
            lab.wait_booted(node)
        lab.wait_idle(*nodes)
        _say("four nodes idle", started)
        job = ["srun", "-p", "trainshed", "-N4", "--gres=gpu:8", "--mem=100", "hostname"]
        assert len(head.machine.run(*job).split()) == 4
        _say("first job done", started)
        for node in (head, nodes[0]):
            print(f"  steps of {node.role}:")
            for row in lab.steps(node):
                print(f"    {row['step']:<14}{row['seconds']:6.1f} s")


def scale(work: Path) -> None:
    """Many dynamic nodes on one machine: time until slurmctld has all idle, and jobs a second."""
    with FleetLab(work) as lab:
        lab.files = ManyOnOne()
        lab.files.most_nodes(NODES)
        lab.publish()
        head = lab.launch("head")
        lab.wait_booted(head)
        # It would end nodes that no EC2 knows.
        head.machine.run("systemctl", "stop", "trainshed-keeper", "trainshed-recovery")
        conf = "CPUs=2 RealMemory=1000 Feature=train"
        start = f"""
            for n in $(seq {NODES}); do
              mkdir -p /run/many/many-$n
              slurmd -Z -N many-$n --conf-server head:6817 --conf "{conf} Port=$((20000 + n))"
            done
        """
        started = time.monotonic()
        head.machine.run("bash", "-c", start, seconds=600)
        _say(f"{NODES} slurmd started", started)
        wait_until(
            lambda: sum(state == "idle" for state in lab.states().values()) >= NODES,
            lambda: f"{len(lab.states())} nodes known",
            600,
            0.5,
        )
        _say(f"{NODES} nodes idle", started)
        submitted = time.monotonic()
        array = ["sbatch", "--parsable", f"--array=1-{JOBS}", "-p", "trainshed", "--mem=10"]
        job = head.machine.run(*array, "-o", "/dev/null", "--wrap", "true")
        wait_until(lambda: not head.machine.run("squeue", "-ahj", job), "the jobs", 600, 0.5)
        seconds = time.monotonic() - submitted
        print(f"{JOBS} jobs: {seconds:.1f} s, {JOBS / seconds:.0f} a second")


def install(work: Path) -> None:
    """One node's packages from the cache and from a mirror over HTTP, in turn, twice."""
    mirror = work / "mirror"
    mirror.mkdir()
    subprocess.run(["tar", "-xf", str(PACKAGES), "-C", str(mirror)], check=True)
    machines = work / "machines"
    machines.mkdir()
    with FleetLab(machines, bare_image(machines)) as lab:
        lab.aws.packages = mirror
        cache = lab.put("packages.tar", PACKAGES.read_bytes())
        for _ in range(2):
            for name, packages in (("cache", cache), ("mirror", None)):
                lab.document["packages"] = packages
                lab.publish()
                node = lab.launch("login")
                lab.wait_booted(node)
                seconds = {row["step"]: row["seconds"] for row in lab.steps(node)}
                both = seconds["packages"] + seconds.get("cache", 0)
                print(f"packages from the {name:<7}{both:6.1f} s")
                lab.power_off(node)


def _say(what: str, started: float) -> None:
    print(f"{what:<26}{time.monotonic() - started:6.1f} s")


PARTS: dict[str, Callable[[Path], None]] = {"boot": boot, "scale": scale, "install": install}


def main(names: list[str]) -> None:
    """Run the parts that are named, or all."""
    for name in names or PARTS:
        print(f"{name}:")
        with tempfile.TemporaryDirectory(prefix="trainshed-fleet-") as work:
            PARTS[name](Path(work))


if __name__ == "__main__":
    main(sys.argv[1:])
