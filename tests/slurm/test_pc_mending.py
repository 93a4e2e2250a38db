"""Nodes of ParallelCluster that fail: held for the head node, mended or drained to be replaced.

ParallelCluster's own daemon is not here; it replaces what is drained or down, and nothing else
(aws-parallelcluster-node 3.16.1, ``is_state_healthy``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.health.node import fault
from tests.slurm.lab.cluster import FAST, NODES, P5EN, Cluster, parallelcluster_conf, write_policy
from tests.slurm.lab.machines import Lab
from tests.slurm.pc_nodes import PcNode
from tests.waiting import wait_until
from trainshed import facts
from trainshed.config import Fleet, OpenReservation, Queue
from trainshed.pcluster.release import compute_document, head_document
from trainshed.slurm import NodeGroup, SlurmPolicy

GROUP = NodeGroup("compute", P5EN, 2, "compute-st-kait-gpu-[1-2]")
ONE, OTHER = NODES[:2]
KIND = facts.instance_type("p5en.48xlarge")
QUEUE = Queue(instance_type=KIND.name, capacity=OpenReservation(), max_nodes=2, min_nodes=2)
POLICY = {
    "accounts": {"general": {"description": "everybody"}},
    "users": {"alice": {"account": "general"}},
    "scheduler": {"parameters": FAST, "close_native_partitions": False},
}
REBOOT = "#!/bin/bash\ntouch /etc/slurm/rebooted-$(hostname)\n"
NVIDIA_SMI = """\
#!/bin/bash
if [[ $1 == --gpu-reset ]]; then touch /etc/slurm/reset-$(hostname); exit; fi
exec "${0%/first/*}/bin/nvidia-smi" "$@"
"""


class Node(PcNode):
    """A static node, whose GPUs can be reset."""

    @property
    def environment(self) -> list[str]:
        env, path, *more = super().environment
        return [env, path.replace("PATH=", f"PATH={self.seen}/first:", 1), *more]

    def boot_as(self, address: str) -> None:
        """Be an instance that joins, as ParallelCluster starts one for a static node."""
        first = self.place / "first" / "nvidia-smi"
        first.parent.mkdir(exist_ok=True)
        first.write_text(NVIDIA_SMI)
        first.chmod(0o755)
        self.become()
        self.boot(address)
        self.join(compute_document(QUEUE, KIND, cluster_name="kait", mount_dir="/fsx"))
        self.machine.start("slurmd")

    def restarts(self) -> None:
        """Start slurmd as after a reboot; the machine itself goes on."""
        self.machine.run("pkill", "-x", "slurmd")
        (self.place / "root/run/trainshed/gate-checked").unlink(missing_ok=True)
        self.machine.start("slurmd")

    def ordered(self) -> None:
        """Let the timer run that does what the head node orders."""
        done = self.unit("trainshed-mend.service")
        assert done.returncode == 0, done.stdout + done.stderr

    def checked(self, wrong: str = "") -> None:
        """Let a fault come, and the minutely check find it."""
        self.become(fault(wrong) if wrong else None)
        assert self.unit("trainshed-health.service").returncode == 0


class Head(PcNode):
    """The head node."""

    def look(self) -> None:
        """Let the service do one of its rounds."""
        done = self.unit("trainshed-recovery.service", "--once")
        assert done.returncode == 0, done.stderr
        assert "cannot" not in done.stdout and "did not" not in done.stdout, done.stdout

    def shown(self, node: str) -> str:
        return self.machine.run("scontrol", "--oneliner", "show", "node", node)

    def state(self, node: str) -> str:
        """Return the state of a node with all its flags."""
        return self.shown(node).partition(" State=")[2].partition(" ")[0]

    def comment(self, node: str) -> str:
        return self.shown(node).partition(" Comment=")[2].partition(" ReservationName=")[0]

    def orders(self, node: str, order: str) -> None:
        """Look until a node has an order; the head node waits for what is left of its jobs."""

        def ordered() -> bool:
            self.look()
            return self.comment(node).startswith(f"trainshed: {order}: ")

        wait_until(ordered, lambda: self.shown(node), 60)

    def held(self, node: str) -> bool:
        said = self.machine.run("scontrol", "--oneliner", "show", "reservation")
        return f"ReservationName=trainshed-mend-{node} " in said

    def told(self) -> str:
        path = self.cluster.lab.work / "etc" / "published"
        return path.read_text() if path.exists() else ""

    def happened(self, what: str, node: str) -> bool:
        return (self.cluster.lab.work / "etc" / f"{what}-{node}").exists()


@pytest.fixture(scope="module")
def head(fleet_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """A cluster of two static nodes without a gate."""
    with Lab(tmp_path_factory.mktemp("pc-mending"), fleet_root) as lab:
        cluster = Cluster(lab)
        made = Head(cluster, "head")
        policy = SlurmPolicy.model_validate(POLICY)
        conf = parallelcluster_conf(policy, cluster.version, [GROUP])
        write_policy(cluster, f"{conf}RebootProgram=/etc/slurm/reboot.sh\n", policy)
        reboot = lab.work / "etc" / "reboot.sh"
        reboot.write_text(REBOOT)
        reboot.chmod(0o755)
        cluster.start_accounting()
        cluster.apply(policy)
        cluster.head.start("slurmctld")
        cluster.apply(policy)
        fleet = Fleet(queues={"compute": QUEUE})
        made.lead(
            head_document(
                fleet,
                cluster_name="kait",
                mount_dir=str(made.seen / "fsx"),
                known_types=facts.INSTANCE_TYPES,
            )
        )
        yield made


@pytest.fixture(scope="module")
def nodes(head: Head) -> dict[str, Node]:
    """Both nodes, which have passed their checks."""
    found = {name: Node(head.cluster, name) for name in (ONE, OTHER)}
    for number, node in enumerate(found.values(), start=1):
        node.boot_as(f"10.77.0.1{number}")
        assert node.unit("trainshed-basic-check.service").returncode == 0
    wait_until(lambda: all("DOWN" not in head.state(name) for name in found), "the nodes", 60)
    return found


def test_a_node_that_fails_is_held_and_its_job_goes_on(head: Head, nodes: dict[str, Node]) -> None:
    job = head.cluster.submit("alice", "-p", "compute", "-w", ONE, "--gres=gpu:1")
    head.cluster.wait_state(job, "RUNNING")
    nodes[ONE].checked("double-bit-ecc")
    nodes[ONE].checked("double-bit-ecc")
    assert head.held(ONE) and "DRAIN" not in head.state(ONE)
    assert nodes[ONE].unit("trainshed-basic-check.service").returncode == 0
    failed = head.comment(ONE)
    assert failed.startswith("trainshed: failed ") and "[reset]" in failed
    late = head.cluster.submit(
        "alice", "-p", "compute", "-w", ONE, "--gres=gpu:1", script="echo landed"
    )
    head.cluster.wait_reason(late, "eserved", 60)
    head.look()
    assert head.comment(ONE) == failed and head.cluster.job(job, "%T") == "RUNNING"
    head.cluster.head.run("scancel", job)
    wait_until(lambda: "IDLE" in head.state(ONE), lambda: head.state(ONE), 60)
    assert head.cluster.job(late, "%T") == "PENDING"


def test_its_gpus_are_reset_and_it_is_released_by_its_checks(
    head: Head, nodes: dict[str, Node]
) -> None:
    head.orders(ONE, "reset now")
    nodes[ONE].become()
    nodes[ONE].ordered()
    assert head.happened("reset", ONE)
    assert head.comment(ONE).startswith("trainshed: passed basic ")
    assert head.held(ONE)
    head.look()
    assert not head.held(ONE) and head.told() == ""
    wait_until(lambda: not head.machine.run("squeue", "-h", "-a"), lambda: head.state(ONE), 60)


def test_a_node_is_rebooted_through_slurm_and_never_drained(
    head: Head, nodes: dict[str, Node]
) -> None:
    nodes[OTHER].checked("gpu-missing")
    head.orders(OTHER, "rebooting")
    wait_until(lambda: head.happened("rebooted", OTHER), lambda: head.state(OTHER), 60)
    # By this flag ParallelCluster knows that the node comes back by itself.
    assert "REBOOT" in head.state(OTHER) and "DRAIN" not in head.state(OTHER)
    nodes[OTHER].ordered()
    assert head.comment(OTHER).startswith("trainshed: rebooting: gpu_count [reboot]")
    nodes[OTHER].become()
    nodes[OTHER].restarts()
    wait_until(lambda: "REBOOT" not in head.state(OTHER), lambda: head.state(OTHER), 60)
    head.look()
    assert head.held(OTHER)
    nodes[OTHER].ordered()
    head.look()
    assert not head.held(OTHER)
    job = head.cluster.submit(
        "alice", "-p", "compute", "-w", OTHER, "--gres=gpu:1", script="echo ran"
    )
    head.cluster.wait_state(job, "COMPLETED")


def test_one_that_fails_again_is_drained_and_its_successor_begins_anew(
    head: Head, nodes: dict[str, Node]
) -> None:
    nodes[OTHER].checked("gpu-missing")
    head.orders(OTHER, "replace idle")
    assert head.state(OTHER).startswith("IDLE") and "DRAIN" in head.state(OTHER)
    assert "Reason=health: replace idle: gpu_count [reboot]" in head.shown(OTHER)
    assert "it failed again after a reboot" in head.told()
    head.look()
    assert head.told().count("is replaced, as") == 1
    # What ParallelCluster does with it.
    down = ("state=down", "reason=Static node maintenance: unhealthy node is being replaced")
    head.machine.run("scontrol", "update", f"nodename={OTHER}", *down)
    nodes[OTHER].machine.run("pkill", "-x", "slurmd")
    nodes[OTHER].machine.run("ip", "address", "add", "10.77.0.22/24", "dev", "eth0")
    head.machine.run("scontrol", "update", f"nodename={OTHER}", "nodeaddr=10.77.0.22")
    nodes[OTHER].become()
    nodes[OTHER].join(compute_document(QUEUE, KIND, cluster_name="kait", mount_dir="/fsx"))
    assert not head.held(OTHER)
    nodes[OTHER].machine.start("slurmd")
    # The end of the cookbook's finalize_compute.rb.
    resume = ("state=resume", "reason=Node start up")
    head.machine.run("scontrol", "update", f"nodename={OTHER}", *resume)
    assert nodes[OTHER].unit("trainshed-basic-check.service").returncode == 0
    nodes[OTHER].checked("gpu-missing")
    head.orders(OTHER, "rebooting")
