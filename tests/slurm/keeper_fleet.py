"""A fleet that the keeper keeps: real Slurm, machines for instances, and a stand-in for AWS."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assets.node.keeper import document
from assets.node.keeper.act import Journal
from assets.node.keeper.apply import Apply
from assets.node.keeper.aws import AwsError
from assets.node.keeper.loop import Keeper
from assets.node.keeper.probe import PORT, Probe
from assets.node.keeper.recovery.store import Store
from assets.node.keeper.slurm import Slurm, SlurmError
from assets.node.keeper.view import Group, Instance, Member, Node, View
from tests.slurm.lab.cluster import LAB_SETTINGS, P5EN, Cluster, policy_for_lab, write_policy
from tests.slurm.lab.machines import Lab, Machine
from tests.waiting import wait_until
from trainshed.slurm import BareCluster, NodeGroup, accounting_document, gres_conf, slurm_conf
from trainshed.slurm.bare import node_settings

GROUP = NodeGroup("train", P5EN, 3, None)
NODE_CONF = " ".join(f"{key}={value}" for key, value in node_settings(GROUP))
ROUND = 10.0
"""Seconds that pass for the keeper in each round."""


@dataclass
class Booted:
    """An instance and its machine."""

    instance: Instance
    version: str
    machine: Machine
    address: str

    @property
    def name(self) -> str:
        return f"train-{self.instance.id[2:]}"


class FakeCloud:
    """EC2, Auto Scaling and SSM as the keeper sees them; instances are machines of the lab."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self.all: dict[str, Booted] = {}
        self.number = 0
        self.desired = 0
        self.version = "1"
        self.capacity = 9
        self.values: dict[str, tuple[str, datetime]] = {}
        self.gate: dict[str, Any] | None = None
        self.status: dict[str, Any] = {}
        self.broken = False
        self.block_ends_at: dict[str, datetime] = {}
        self.warned_at: dict[str, datetime] = {}
        self.events: list[tuple[str, str]] = []

    def publish(self, nodes: int, **queue: Any) -> None:
        """Write the fleet document."""
        values = {"asg": "kait-train", "version": self.version, "nodes": nodes, "gpus": 8, **queue}
        told = {"schema": 1, "cluster": "kait", "queues": {"train": values}, "gate": self.gate}
        text = json.dumps(told)
        self.values["fleet"] = (text, datetime.now(UTC))

    def alive(self) -> list[Booted]:
        return [each for each in self.all.values() if each.instance.state == "running"]

    def pass_time(self) -> None:
        """Do what AWS does meanwhile: end what is ending, launch what is missing."""
        for each in self.all.values():
            if each.instance.state == "shutting-down":
                self._set(each, "terminated")
        while len(self.alive()) < min(self.desired, self.capacity):
            self.launch()

    def launch(self) -> Booted:
        """Boot a machine, which joins under a name and an address that no other one had."""
        self.number += 1
        id, address = f"i-0123456789abc{self.number:04x}", f"10.77.0.{10 + self.number}"
        machine = self._lab.boot(f"train-{id[2:]}", address, gpus=8)
        machine.start("munge")
        machine.start(
            "slurmd", "-Z", "-N", machine.name, "--conf-server", "head", "--conf", NODE_CONF
        )
        instance = Instance(id, "running", "compute", "train", datetime.now(UTC))
        self.all[id] = Booted(instance, self.version, machine, address)
        return self.all[id]

    def _set(self, booted: Booted, state: str) -> None:
        booted.instance = replace(booted.instance, state=state)

    def _end(self, id: str) -> None:
        self.all[id].machine.power_off()
        self._set(self.all[id], "shutting-down")

    def _answer(self) -> None:
        if self.broken:
            raise AwsError("RequestLimitExceeded")

    def parameters(self) -> dict[str, tuple[str, datetime]]:
        self._answer()
        return dict(self.values)

    def put_status(self, text: str) -> None:
        self._answer()
        assert len(text) <= 4000
        self.status = json.loads(text)
        self.values["status"] = (text, datetime.now(UTC))

    def failures(self) -> dict[str, dict[str, Any]]:
        return {}

    def forget_failures(self, instances: Sequence[str]) -> None:
        raise AssertionError(instances)

    def groups(self, names: Sequence[str]) -> dict[str, Group]:
        self._answer()
        members = {
            each.instance.id: Member(each.instance.id, "InService", each.version)
            for each in self.alive()
        }
        return {"kait-train": Group("kait-train", self.desired, self.version, members)}

    def instances(self) -> dict[str, Instance] | None:
        self._answer()
        head = Instance("i-0ead0000", "running", "head", "", datetime.now(UTC))
        return {head.id: head, **{id: each.instance for id, each in self.all.items()}}

    def block_ends(self, reservations: Iterable[str]) -> dict[str, datetime]:
        return {id: self.block_ends_at[id] for id in reservations if id in self.block_ends_at}

    def block_warnings(self, reservations: Iterable[str]) -> dict[str, datetime]:
        return {id: self.warned_at[id] for id in reservations if id in self.warned_at}

    def ended(self, instance: str) -> bool:
        return instance not in self.all

    def failed_launch(self, group: str, now: datetime) -> str:
        short = self.capacity < self.desired
        return "InsufficientInstanceCapacity - no p5en.48xlarge is left" if short else ""

    def fence(self, instance: str) -> None:
        self.events.append(("fence", instance))
        self._end(instance)

    def terminate(self, instance: str, decrement: bool) -> None:
        self.events.append(("shrink" if decrement else "terminate", instance))
        self.desired -= decrement
        self._end(instance)

    def set_desired(self, group: str, capacity: int) -> None:
        self.desired = capacity


class Live(Apply):
    """Every document is live at once."""

    def __init__(self, cloud: FakeCloud) -> None:
        super().__init__()
        self._cloud = cloud

    @property
    def live(self) -> str:
        return document.generation(self._cloud.values["fleet"][0])


class KeptFleet:
    """A head node with Slurm, a stand-in for AWS, and a keeper to let run."""

    def __init__(self, lab: Lab, work: Path) -> None:
        self.lab, self.work = lab, work
        self.cluster = Cluster(lab)
        (lab.work / "hosts").write_text("127.0.0.1 localhost\n10.77.0.1 head\n")
        self.policy = policy_for_lab("kait-hardened", scheduler={"kill_wait_seconds": 3})
        write_policy(self.cluster, self._conf(), self.policy)
        self.cluster.write_conf(gres_conf=gres_conf([GROUP]))
        self.cluster.start_accounting()
        accounts = accounting_document(self.policy, [GROUP], cluster="kait", keep_accounts=[])
        (lab.work / "etc" / "policy.json").write_text(json.dumps(accounts))
        self.cluster.reconcile("apply")
        self.head.start("slurmctld")
        self.cloud = FakeCloud(lab)
        self.time = 0.0
        self.shift = timedelta()
        self.restart_keeper()

    def _conf(self) -> str:
        # What this lab is for: nothing but the keeper judges silence.
        extra = {key: v for key, v in LAB_SETTINGS.items() if key != "SlurmdTimeout"}
        version = self.cluster.version
        # The scripts of a real node are in tests/slurm/fleet.
        bare = BareCluster(
            "kait",
            "head",
            slurm_version=version,
            extra=extra,
            prolog=None,
            task_prolog=None,
            health_check=None,
        )
        return slurm_conf(self.policy, [GROUP], bare)

    @property
    def head(self) -> Machine:
        return self.cluster.head

    def restart_keeper(self) -> None:
        """Start the keeper's process anew; it knows nothing but what it sees."""
        self.keeper = Keeper(
            self.cloud,
            Slurm(self._run),
            Live(self.cloud),
            Probe(self._answers),
            Journal(self.work / "replacements.jsonl"),
            clock=lambda: self.time,
            now=lambda: datetime.now(UTC) + self.shift,
            send=lambda cluster, found: None,
            store=Store(self.work / "recovery", None),
        )

    def _run(self, command: Sequence[str], text: str) -> str:
        done = self.head.try_run(*command, stdin=text, seconds=60)
        if done.returncode:
            raise SlurmError(f"{' '.join(command)}: {done.stderr}")
        return done.stdout

    def _answers(self, node: Node) -> bool:
        probe = f"exec 3<>/dev/tcp/{node.address}/{PORT}"
        return self.head.try_run("timeout", "0.5", "bash", "-c", probe).returncode == 0

    def round(self) -> View:
        """Let ten seconds pass and the keeper do a round."""
        self.time += ROUND
        self.cloud.pass_time()
        view = self.keeper.round()
        assert view is not None
        return view

    def until(self, done: Any, what: str, seconds: float = 100) -> Any:
        """Let the keeper do rounds until something is so.

        Not for so long that a requeued job starts by itself, after 120 s.
        """

        def look() -> Any:
            self.round()
            return done()

        return wait_until(look, lambda: f"{what}; status: {self.cloud.status}", seconds)

    def ready(self, nodes: int = 3) -> None:
        """Bring the fleet to so many idle nodes of the present version."""
        self.cloud.capacity, self.cloud.broken = 9, False
        self.shift = timedelta()
        self.cloud.values.pop("command", None)
        self.head.try_run("scancel", "--user=bob")
        self.cloud.publish(nodes)
        self.cloud.desired = max(self.cloud.desired, nodes)
        (self.work / "replacements.jsonl").unlink(missing_ok=True)
        self.restart_keeper()
        self.until(lambda: self.idle() == nodes, f"{nodes} idle nodes")
        self.cloud.events.clear()

    def idle(self) -> int:
        """Return how many nodes serve and have nothing to do, if there are no others."""
        queue = self.cloud.status.get("queues", {}).get("train", {})
        known = self.head.run("sinfo", "-hN", "-p", "trainshed", "-o", "%N").split()
        settled = self.cloud.status.get("phase") == "ready" and not queue["outdated"]
        return queue["idle"] if settled and len(known) == queue["desired"] else -1

    def submit(self, *options: str, script: str) -> str:
        """Submit a job of bob's over whole nodes and wait until it runs."""
        whole = ("-p", "exclusive", "--gres=gpu:8", "--ntasks-per-node=1")
        job = self.cluster.submit("bob", *whole, *options, script=script)
        self.cluster.wait_state(job, "RUNNING")
        return job

    def nodes_of(self, job: str) -> list[Booted]:
        """Return the instances that a job runs on."""
        names = self.head.run("scontrol", "show", "hostnames", self.cluster.job(job, "%N")).split()
        return [each for name in names for each in self.cloud.alive() if each.name == name]

    def cut(self, booted: Booted, *, heal: bool = False) -> None:
        """Take a machine off the network, or put it on again."""
        pid, port = str(self.lab._switch_pid), f"port{booted.address.rsplit('.', 1)[-1]}"
        enter = ["nsenter", "--target", pid, "--net", "--mount", "--pid"]
        state = "up" if heal else "down"
        subprocess.run([*enter, "ip", "link", "set", port, state], check=True)
