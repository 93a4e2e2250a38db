"""A real Slurm cluster on the lab's machines: database, slurmdbd, slurmctld, nodes with GPUs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assets.node.slurm_accounts import ASSOCIATION_SETTINGS
from tests.waiting import wait_until
from trainshed.slurm import (
    BareCluster,
    NodeGroup,
    NodeShape,
    SlurmPolicy,
    accounting_document,
    cgroup_conf,
    gres_conf,
    node_settings,
    parallelcluster_settings,
    slurm_conf,
)

from .machines import CommandError, Lab, Machine

P5EN = NodeShape(
    cpus=192,
    memory_mib=2_097_152,
    sockets=2,
    cores_per_socket=48,
    threads_per_core=2,
    gpus=8,
    gpu_type="h200",
)
COMPUTE = NodeGroup("compute", P5EN, 4, "compute-st-kait-gpu-[1-4]")
NODES = [f"compute-st-kait-gpu-{number}" for number in range(1, 5)]
USERS = {"alice": 2001, "bob": 2002, "carol": 2003, "dave": 2004, "mallory": 2005, "erin": 2006}
"""Unix users of the lab. mallory is in no policy; erin's jobs are not cancelled between tests."""
MEMBERS = {
    "alice": {"account": "general"},
    "dave": {"account": "general"},
    "erin": {"account": "general"},
    "bob": {"account": "priority"},
    "carol": {"account": "priority"},
}
# A machine of two cores claims the hardware of a GPU node; the rest makes failures show sooner.
LAB_SETTINGS: dict[str, str | int] = {
    "SlurmdParameters": "config_overrides",
    "SlurmdTimeout": 30,
    "TCPTimeout": 2,
    "BatchStartTimeout": 20,
    "MessageTimeout": 20,
}
FAST = ("bf_interval=1", "sched_interval=2", "sched_min_interval=100000")
"""Scheduler parameters with which jobs start within a second."""

_SOCKET = "/run/mysqld/mysqld.sock"
_SLURMDBD_CONF = """\
AuthType=auth/munge
DbdHost=localhost
SlurmUser=slurm
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StoragePass=lab
StorageLoc=slurm_acct_db
LogFile=/var/log/slurm/slurmdbd.log
PidFile=/run/slurmdbd.pid
"""


def bare_conf(
    policy: SlurmPolicy, version: tuple[int, int], groups: Sequence[NodeGroup] = (COMPUTE,)
) -> str:
    """Return slurm.conf as trainshed's own fleet has it, with the lab's settings."""
    joining = any(group.node_names is None for group in groups)
    # Where nodes join by themselves the policy says what becomes of a silent one.
    left_out = {"SlurmdTimeout"} if joining else set()
    extra = {key: value for key, value in LAB_SETTINGS.items() if key not in left_out}
    cluster = BareCluster(
        "kait", "head", configless=False, task_prolog=None, slurm_version=version, extra=extra
    )
    return slurm_conf(policy, groups, cluster)


def parallelcluster_conf(
    policy: SlurmPolicy, version: tuple[int, int], groups: Sequence[NodeGroup] = (COMPUTE,)
) -> str:
    """Return slurm.conf as ParallelCluster would write it around the policy's settings."""
    settings, queues = parallelcluster_settings(
        policy, groups, database=False, slurm_version=version
    )
    lines = [
        "ClusterName=kait",
        "SlurmctldHost=head",
        "SlurmUser=slurm",
        "AuthType=auth/munge",
        "StateSaveLocation=/var/lib/slurm/slurmctld",
        "SlurmdSpoolDir=/var/spool/slurmd",
        "SlurmctldPidFile=/run/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd.pid",
        "SlurmctldLogFile=/var/log/slurm/slurmctld.log",
        "SlurmdLogFile=/var/log/slurm/slurmd.log",
        "ProctrackType=proctrack/cgroup",
        "TaskPlugin=task/cgroup,task/affinity",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_CPU_Memory",
        "GresTypes=gpu",
        *(f"{key}={value}" for key, value in LAB_SETTINGS.items()),
    ]
    for group in groups:
        lines += _queue_lines(group, queues[group.name], first=group == groups[0])
    lines += [_line(setting) for setting in settings]
    return "\n".join(lines) + "\n"


def _queue_lines(group: NodeGroup, settings: dict[str, str | int], *, first: bool) -> list[str]:
    native = {"PartitionName": group.name, "Nodes": group.node_set, "MaxTime": "INFINITE"}
    default = {"Default": "YES"} if first else {}
    hardware = {key: value for key, value in node_settings(group) if key != "Feature"}
    return [
        _line({"NodeName": str(group.node_names), **hardware}),
        f"NodeSet={group.node_set} Nodes={group.node_names}",
        f"{_line(native)} State=UP {_line({**default, **settings})}".rstrip(),
    ]


def _line(setting: Mapping[str, str | int]) -> str:
    return " ".join(f"{key}={value}" for key, value in setting.items())


def slurm_version(root: Path) -> tuple[int, int]:
    """Return the version of the Slurm below a root, such as ``(24, 11)``."""
    said = subprocess.run(
        ["chroot", str(root), "slurmctld", "-V"], capture_output=True, text=True, check=True
    )
    year, month = said.stdout.split()[-1].split(".")[:2]
    return int(year), int(month)


class Cluster:
    """A Slurm cluster: a head and nodes, and what tests ask of it."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.version = slurm_version(lab.root)
        self._write_files()

    @property
    def head(self) -> Machine:
        """The head node."""
        return self.lab.machines["head"]

    def write_conf(self, **files: str) -> None:
        """Write files of /etc/slurm; ``slurm_conf`` is slurm.conf."""
        for name, text in files.items():
            path = self.lab.work / "etc" / name.replace("_", ".")
            path.write_text(text)
            path.chmod(0o644)

    def start_accounting(self) -> None:
        """Boot the head node with database and slurmdbd, and register the cluster."""
        self.lab.boot("head", "10.77.0.1")
        for service in ("munge", "mariadb", "slurmdbd"):
            self.head.start(service)
        self.head.run("sacctmgr", "-i", "add", "cluster", "kait")

    def learn_resources(self) -> None:
        """Start slurmctld once, which makes gres/gpu known to the database, and stop it."""
        self.head.start("slurmctld")
        wait_until(lambda: "gres|gpu" in self.sacctmgr("-nP", "show", "tres"), "gres/gpu known")
        self._stop("slurmctld")

    def save_accounting(self) -> None:
        """Keep the database as it is now, for ``restore_accounting``."""
        dump = ["mariadb-dump", "--no-defaults", "-S", _SOCKET, "slurm_acct_db"]
        (self.lab.work / "etc" / "saved.sql").write_text(self.head.run(*dump))

    def restore_accounting(self) -> None:
        """Make the database as it was when it was saved."""
        self._stop("slurmdbd")
        saved = (self.lab.work / "etc" / "saved.sql").read_text()
        fresh = "DROP DATABASE slurm_acct_db; CREATE DATABASE slurm_acct_db; USE slurm_acct_db;\n"
        self.head.run("mariadb", "--no-defaults", "-S", _SOCKET, stdin=fresh + saved)
        self.head.start("slurmdbd")

    def _stop(self, daemon: str) -> None:
        self.head.run("pkill", "-x", daemon)
        wait_until(lambda: self.head.try_run("pgrep", "-x", daemon).returncode, f"no {daemon}")

    def accounting(self) -> str:
        """Return what the database has, as text that is equal for equal content."""
        association = f"format=Account,User,ParentName,{','.join(ASSOCIATION_SETTINGS)}"
        return "\n".join(
            line
            for entity in (["qos"], ["account"], ["user"], ["assoc", "WOPLimits", association])
            for line in sorted(self.sacctmgr("-nP", "show", *entity).splitlines())
        )

    def start(self, nodes: Iterable[str] = NODES) -> None:
        """Start slurmctld and the nodes, and wait until the nodes are idle."""
        self.head.start("slurmctld")
        names = list(nodes)
        for number, name in enumerate(names, start=11):
            machine = self.lab.boot(name, f"10.77.0.{number}", gpus=8)
            machine.start("munge")
            machine.start("slurmd")
        wait_until(lambda: self._idle() == set(names), lambda: f"idle nodes, not {self._idle()}")

    def _idle(self) -> set[str]:
        shown = self.head.try_run("sinfo", "-ahNt", "idle", "-o", "%N")
        return set(shown.stdout.split()) if shown.returncode == 0 else {"no answer"}

    def apply(self, policy: SlurmPolicy) -> str:
        """Bring the accounting database to the policy with the node's own program."""
        self.write_accounting_policy(policy)
        return self.reconcile("apply")

    def write_accounting_policy(self, policy: SlurmPolicy, *, keep: Iterable[str] = ()) -> None:
        """Write the document that slurm_accounts.py reads."""
        document = accounting_document(policy, [COMPUTE], cluster="kait", keep_accounts=keep)
        (self.lab.work / "etc" / "policy.json").write_text(json.dumps(document))

    def reconcile(self, *arguments: str, seconds: float = 120) -> str:
        """Run slurm_accounts.py on the head node over the policy that was applied last."""
        done = self.head.try_run(*self.reconcile_command(*arguments), seconds=seconds)
        if done.returncode not in (0, 2):
            raise CommandError(done.stdout + done.stderr)
        return done.stdout

    def reconcile_command(self, *arguments: str) -> list[str]:
        """Return the command line of slurm_accounts.py on the head node."""
        return ["python3", "/etc/slurm/slurm_accounts.py", *arguments, "/etc/slurm/policy.json"]

    def sacctmgr(self, *arguments: str) -> str:
        """Run sacctmgr on the head node, answering yes."""
        return self.head.run("sacctmgr", "-i", *arguments)

    def submit(self, user: str, *options: str, script: str = "sleep 600") -> str:
        """Submit a job and return its id.

        Raises:
            CommandError: Slurm refused it.
        """
        text = f"#!/bin/bash\n{script}\n"
        out = f"/home/{user}/%j.out"
        command = ["sbatch", "--parsable", "-D", f"/home/{user}", "-o", out, "--open-mode=append"]
        return self.head.run(*command, *options, user=user, stdin=text)

    def refusal(self, user: str, *options: str) -> str:
        """Submit a job that Slurm refuses, and return what it says."""
        try:
            job = self.submit(user, *options)
        except CommandError as refused:
            return str(refused)
        raise AssertionError(f"job {job} of {user} {options} was accepted")

    def job(self, job: str, field: str) -> str:
        """Return one field of a job, in squeue's letters: ``%T`` state, ``%r`` reason."""
        return self.head.try_run("squeue", "-ahj", job, "-t", "all", "-o", field).stdout.strip()

    def wait_state(self, job: str, *states: str, seconds: float = 120) -> str:
        """Wait until a job is in one of the states."""
        return wait_until(
            lambda: next((s for s in states if s == self.job(job, "%T")), None),
            lambda: f"job {job} in {states}, it is {self.job(job, '%T %r')}",
            seconds,
        )

    def wait_accounted(self, *jobs: str) -> None:
        """Wait until slurmdbd has the end of jobs, which slurmctld tells it some seconds later."""

        def ended() -> bool:
            rows = self.head.run("sacct", "-anXPj", ",".join(jobs), "-o", "JobID,End").splitlines()
            return len(rows) == len(jobs) and not any("Unknown" in row for row in rows)

        wait_until(ended, f"{jobs} in sacct")

    def wait_reason(self, job: str, word: str, seconds: float = 120) -> str:
        """Wait until a job waits for a reason that has the word in it."""

        def reason() -> str | None:
            said = self.job(job, "%T %R")
            return said if said.startswith("PENDING") and word in said else None

        return wait_until(
            reason, lambda: f"job {job} waiting for {word}: {self.job(job, '%T %R')}", seconds
        )

    def output(self, user: str, job: str) -> str:
        """Return what a job wrote."""
        path = self.lab.work / "home" / user / f"{job}.out"
        return path.read_text() if path.exists() else ""

    def wait_output(self, user: str, job: str, word: str) -> None:
        """Wait until a job has written a word."""
        wait_until(lambda: word in self.output(user, job), f"{word!r} from job {job}")

    def cancel_all(self) -> None:
        """Cancel every job but erin's and wait until they are gone."""
        users = [user for user in USERS if user != "erin"]
        for user in users:
            self.head.run("scancel", f"--user={user}")
        wait_until(lambda: not self.head.run("squeue", "-ahu", ",".join(users)), "no job", 60)

    def log(self, daemon: str = "slurmctld") -> str:
        """Return the log of a daemon of the head node."""
        path = self.lab.work / "head" / "log" / f"{daemon}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _write_files(self) -> None:
        work = self.lab.work
        for directory in ("etc", "munge", "home"):
            (work / directory).mkdir(parents=True)
        for user, uid in USERS.items():
            home = work / "home" / user
            home.mkdir()
            os.chown(home, uid, uid)
        (work / "home" / "slurm").mkdir()
        root = self.lab.root
        people = "".join(f"{u}:x:{i}:{i}::/home/{u}:/bin/bash\n" for u, i in USERS.items())
        groups = "".join(f"{u}:x:{i}:\n" for u, i in USERS.items())
        (work / "passwd").write_text((root / "etc/passwd").read_text() + people)
        (work / "group").write_text((root / "etc/group").read_text() + groups)
        addresses = [("10.77.0.1", "head")] + [(f"10.77.0.1{n[-1]}", n) for n in NODES]
        lines = ["127.0.0.1 localhost", *(f"{a} {n}" for a, n in addresses)]
        (work / "hosts").write_text("\n".join(lines) + "\n")
        self._write_secrets(root)
        accounts = Path(__file__).parents[3] / "assets" / "node" / "slurm_accounts.py"
        if accounts.exists():
            shutil.copy(accounts, work / "etc")

    def _write_secrets(self, root: Path) -> None:
        ids = {
            line.split(":")[0]: int(line.split(":")[2])
            for line in (root / "etc/passwd").read_text().splitlines()
        }
        os.chown(self.lab.work / "home" / "slurm", ids["slurm"], ids["slurm"])
        key = self.lab.work / "munge" / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        os.chown(key, ids["munge"], ids["munge"])
        os.chown(key.parent, ids["munge"], ids["munge"])
        key.parent.chmod(0o700)
        slurmdbd = self.lab.work / "etc" / "slurmdbd.conf"
        slurmdbd.write_text(_SLURMDBD_CONF)
        slurmdbd.chmod(0o600)
        os.chown(slurmdbd, ids["slurm"], ids["slurm"])
        self.write_conf(gres_conf=gres_conf([COMPUTE]))


def policy_for_lab(preset: str, **over: Any) -> SlurmPolicy:
    """Return a preset with the lab's users and a scheduler that looks often."""
    values = {"preset": preset, "users": MEMBERS, "scheduler": {"parameters": FAST}}
    return SlurmPolicy.model_validate(_deep(values, over))


def _deep(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        merged[key] = _deep(merged[key], value) if both else value
    return merged


def write_policy(cluster: Cluster, conf: str, policy: SlurmPolicy) -> None:
    """Write the files of a policy around a slurm.conf."""
    cluster.write_conf(slurm_conf=conf, cgroup_conf=cgroup_conf(policy, plugin="cgroup/v1"))
