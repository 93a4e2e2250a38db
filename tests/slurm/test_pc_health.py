"""Health on ParallelCluster: a node joins only after its checks, and one that fails is held.

What becomes of it is in test_pc_mending.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.health.node import fault
from tests.slurm.lab.cluster import (
    NODES,
    Cluster,
    parallelcluster_conf,
    policy_for_lab,
    write_policy,
)
from tests.slurm.lab.machines import Lab
from tests.slurm.pc_nodes import PcNode
from tests.waiting import wait_until
from trainshed import facts
from trainshed.health import expected_hardware

# slurmd gives a prolog an environment of its own, so that the stand-ins have to be named in it.
PROLOG = """\
#!/bin/bash
node=/etc/slurm/pc/$(hostname)
export PATH="$node/bin:/usr/sbin:/usr/bin:/sbin:/bin" ROOT_DIR="$node/root"
export TRAINSHED_EXPECT="$node/root/etc/trainshed/expect.json"
exec /etc/slurm/pc/head/root/opt/slurm/etc/scripts/prolog.d/50_trainshed_health
"""
REPLACED = "Static node maintenance: unhealthy node is being replaced"


class Fleet:
    """A head node and nodes that boot one by one."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.head = PcNode(cluster, "head")
        self.nodes: dict[str, PcNode] = {}

    @property
    def expect(self) -> dict[str, Any]:
        kind = facts.instance_type("p5en.48xlarge")
        return expected_hardware(kind, cluster_name="kait", mounts=["/fsx"])

    def boot(self, number: int, wrong: str = "") -> PcNode:
        """Boot a node as far as OnNodeConfigured; ParallelCluster has a new static one as down."""
        node = PcNode(self.cluster, NODES[number])
        node.become(fault(wrong) if wrong else None)
        node.boot(f"10.77.0.{11 + number}")
        self.update(node, "state=down", f"reason={REPLACED}")
        self.nodes[node.name] = node
        return node

    def update(self, node: PcNode, *changes: str) -> None:
        self.cluster.head.run("scontrol", "update", f"nodename={node.name}", *changes)

    def start_slurmd(self, node: PcNode) -> None:
        """Start slurmd, and let ParallelCluster's node be up."""
        node.machine.start("slurmd")
        # The end of the cookbook's finalize_compute.rb, which ignores a refusal.
        resume = ("state=resume", "reason=Node start up")
        self.cluster.head.try_run("scontrol", "update", f"nodename={node.name}", *resume)
        wait_until(lambda: "DOWN" not in self.shown(node), lambda: self.shown(node), 60)

    def shown(self, node: PcNode) -> str:
        """Return state and reason of a node."""
        command = ("scontrol", "--oneliner", "show", "node", node.name)
        words = self.cluster.head.run(*command).split(" State=")[1]
        return words.replace(words[words.find(" Threads") : words.find(" Reason=") + 1], " ")

    def comment(self, node: PcNode) -> str:
        """Return the comment of a node."""
        said = self.cluster.head.run("scontrol", "--oneliner", "show", "node", node.name)
        return said.partition(" Comment=")[2]

    def release(self, node: PcNode) -> None:
        """Let a node that holds itself have jobs."""
        self.cluster.head.run("scontrol", "delete", f"reservationname=trainshed-mend-{node.name}")

    def wait_shown(self, node: PcNode, short: str) -> None:
        """Wait until sinfo shows a state; that of a reservation comes some seconds after it."""

        def states() -> set[str]:
            said = self.cluster.head.run("sinfo", "-ahNn", node.name, "-o", "%t")
            return set(said.split())

        wait_until(lambda: states() == {short}, lambda: f"{short}, not {states()}", 120)

    def reservations(self) -> str:
        return self.cluster.head.run("scontrol", "--oneliner", "show", "reservation")


@pytest.fixture(scope="module")
def fleet(fleet_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A head node that has run its scripts; no node yet."""
    with Lab(tmp_path_factory.mktemp("pc-health"), fleet_root) as lab:
        cluster = Cluster(lab)
        policy = policy_for_lab("kait-hardened")
        conf = parallelcluster_conf(policy, cluster.version) + "Prolog=/etc/slurm/prolog.sh\n"
        write_policy(cluster, conf, policy)
        prolog = lab.work / "etc" / "prolog.sh"
        prolog.write_text(PROLOG)
        prolog.chmod(0o755)
        made = Fleet(cluster)
        cluster.start_accounting()
        cluster.apply(policy)
        cluster.head.start("slurmctld")
        cluster.apply(policy)
        made.head.lead({"schema": 1, "cluster": "kait", "queues": {}})
        yield made


def test_a_joining_node_that_fails_is_held_before_it_is_up(fleet: Fleet) -> None:
    node = fleet.boot(0, "gpu-missing")
    said = node.join(fleet.expect)
    assert "the checks of minutes are not made" in said
    assert "trainshed: failed gpu_count [reboot] 7 of 8 GPUs, at 000" in fleet.comment(node)
    fleet.start_slurmd(node)
    # A new ParallelCluster cluster waits until each static node is idle, alloc, mix or maint.
    fleet.wait_shown(node, "maint")
    assert "DRAIN" not in fleet.shown(node)
    assert f"ReservationName=trainshed-mend-{node.name} " in fleet.reservations()
    fleet.release(node)


def test_no_job_starts_on_a_node_before_its_checks_of_minutes(fleet: Fleet) -> None:
    node = fleet.boot(1)
    node.join(fleet.expect)
    fleet.start_slurmd(node)
    job = fleet.cluster.submit("alice", "-w", node.name, "--gres=gpu:1", script="echo ran")
    fleet.cluster.wait_reason(job, "eserved", 30)
    assert f"ReservationName=trainshed-check-{node.name} " in fleet.reservations()
    # A new ParallelCluster cluster waits until each static node is idle, alloc, mix or maint.
    fleet.wait_shown(node, "maint")
    done = node.unit("trainshed-basic-check.service")
    assert done.returncode == 0, done.stderr
    assert fleet.reservations() == "No reservations in the system"
    fleet.cluster.wait_state(job, "COMPLETED")
    assert fleet.cluster.output("alice", job) == "ran\n"


def test_a_node_with_jobs_is_not_reserved(fleet: Fleet) -> None:
    node = fleet.nodes[NODES[1]]
    job = fleet.cluster.submit("alice", "-w", node.name, "--gres=gpu:1")
    fleet.cluster.wait_state(job, "RUNNING")
    node.become(fault("dcgm-isolate"))
    assert node.unit("trainshed-basic-check.service").returncode == 0
    assert fleet.reservations() == "No reservations in the system"
    assert "DRAIN" not in fleet.shown(node)
    fleet.cluster.cancel_all()
    node.become()


def test_a_node_that_fails_the_checks_of_minutes_is_held_with_the_reason(fleet: Fleet) -> None:
    node = fleet.boot(2, "dcgm-isolate")
    node.join(fleet.expect)
    fleet.start_slurmd(node)
    assert "DRAIN" not in fleet.shown(node)
    assert node.unit("trainshed-basic-check.service").returncode == 0
    assert fleet.comment(node).startswith("trainshed: failed dcgm_level_2 [isolate]")
    assert "DRAIN" not in fleet.shown(node)
    assert f"ReservationName=trainshed-mend-{node.name} " in fleet.reservations()
    assert "trainshed-check" not in fleet.reservations()
    fleet.release(node)


def test_a_joining_node_whose_checks_of_minutes_cannot_be_made_is_held(fleet: Fleet) -> None:
    node = fleet.nodes[NODES[2]]
    node.become()
    # As pc_compute.sh does before slurmd starts.
    program = node.seen / "root/opt/trainshed/current/pc_basic_check.sh"
    assert node.run(str(program), "reserve", node.name).returncode == 0
    expect = node.place / "root/etc/trainshed/expect.json"
    whole = expect.read_text()
    expect.write_text("half")
    assert node.unit("trainshed-basic-check.service").returncode == 0
    assert fleet.comment(node).startswith("trainshed: failed checks [monitor] could not be made")
    assert f"ReservationName=trainshed-mend-{node.name} " in fleet.reservations()
    assert "trainshed-check" not in fleet.reservations()
    assert "DRAIN" not in fleet.shown(node)
    # A node in use is not held for that.
    fleet.release(node)
    assert node.unit("trainshed-basic-check.service").returncode == 0
    assert fleet.reservations() == "No reservations in the system"
    expect.write_text(whole)


# Killed, as by the kernel for memory; and a Python that cannot run.
@pytest.mark.parametrize("end", ["kill -KILL $$", "echo broken >&2; exit 1"], ids=["137", "1"])
def test_a_joining_node_whose_checks_die_without_a_word_is_held(fleet: Fleet, end: str) -> None:
    node = fleet.nodes[NODES[2]]
    node.command(
        "python3",
        f'#!/bin/bash\ncase $* in *health_check*) {end} ;; esac; exec /usr/bin/python3 "$@"',
    )
    said = node.join(fleet.expect)
    assert "the checks of minutes are not made" not in said
    assert f"ReservationName=trainshed-check-{node.name} " in fleet.reservations()
    assert node.unit("trainshed-basic-check.service").returncode == 0
    comment = fleet.comment(node)
    assert comment.startswith("trainshed: failed checks [monitor] could not be made: code 1")
    assert f"ReservationName=trainshed-mend-{node.name} " in fleet.reservations()
    assert "trainshed-check" not in fleet.reservations()
    # A node in use is not held for that.
    fleet.release(node)
    assert node.unit("trainshed-basic-check.service").returncode == 0
    assert fleet.reservations() == "No reservations in the system"
    (node.place / "bin" / "python3").unlink()


def test_the_minutely_check_holds_under_the_name_that_parallelcluster_wrote(fleet: Fleet) -> None:
    node = fleet.nodes[NODES[1]]
    node.machine.run("hostname", "ip-10-77-0-12")
    try:
        node.become(fault("row-remap-failure"))
        assert node.unit("trainshed-health.service").returncode == 0
    finally:
        node.machine.run("hostname", node.name)
    assert "[isolate]" in fleet.comment(node)
    node.become()
    fleet.release(node)


def test_the_prolog_is_on_every_node_and_checks_those_that_have_the_checks(fleet: Fleet) -> None:
    late = fleet.boot(3)
    fleet.start_slurmd(late)
    # A node that was there before the checks came: the prolog is the cluster's, and passes.
    job = fleet.cluster.submit("alice", "-w", late.name, "--gres=gpu:1", script="echo ran")
    fleet.cluster.wait_state(job, "COMPLETED")
    node = fleet.nodes[NODES[1]]
    node.become(fault("double-bit-ecc"))
    job = fleet.cluster.submit("alice", "-w", node.name, "--gres=gpu:1", script="echo landed")
    wait_until(lambda: "DRAIN" in fleet.shown(node), lambda: fleet.shown(node), 40)
    assert "health: " in fleet.shown(node) and "[reset]" in fleet.shown(node)
    assert "landed" not in fleet.cluster.output("alice", job)
