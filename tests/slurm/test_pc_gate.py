"""The gate on ParallelCluster: a queue is closed until an all-reduce over its nodes has passed.

ParallelCluster's own daemon is not here: a node that it replaces gets another address.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.slurm.lab.cluster import FAST, NODES, P5EN, Cluster, parallelcluster_conf, write_policy
from tests.slurm.lab.machines import Lab
from tests.slurm.pc_nodes import PcNode
from tests.waiting import wait_until
from trainshed import facts
from trainshed.config import ClusterGate, Fleet, OpenReservation, ParallelClusterOptions, Queue
from trainshed.pcluster.release import compute_document, head_document
from trainshed.slurm import NodeGroup, SlurmPolicy

GROUP = NodeGroup("compute", P5EN, 2, "compute-st-kait-gpu-[1-2]")
TWO = NODES[:2]
QUEUE = Queue(instance_type="p5en.48xlarge", capacity=OpenReservation(), max_nodes=2, min_nodes=2)
POLICY = {
    "accounts": {"general": {"description": "everybody"}},
    "users": {"alice": {"account": "general"}},
    "scheduler": {"parameters": FAST, "close_native_partitions": False},
}
ALL_REDUCE = """\
#!/bin/bash
echo "$(hostname):1:2 [$SLURM_LOCALID] NCCL INFO NET/OFI Selected provider is efa," \\
  "fabric is efa-direct (found 16 nics)"
((SLURM_PROCID)) || cat /etc/slurm/table
"""
TABLE = """\
 17179869184 4294967296 float sum -1 92173 186.39 {speed} 0 92284 186.16 {speed} 0
# Out of bounds values : 0 OK
"""


class Head(PcNode):
    """The head node, with what its gate is to say."""

    @property
    def environment(self) -> list[str]:
        # The lab's srun starts no MPI.
        return [*super().environment, "GATE_MPI=none"]

    def deploy(self, *, gated: bool = True) -> None:
        """Deploy a queue of two static nodes."""
        self.lead(self.document(gated=gated))

    def document(self, *, gated: bool = True) -> dict[str, Any]:
        gate = ClusterGate(all_reduce_perf="/etc/slurm/all_reduce_perf") if gated else None
        options = ParallelClusterOptions(gate=gate)
        return head_document(
            Fleet(queues={"compute": QUEUE}, parallelcluster=options),
            cluster_name="kait",
            mount_dir=str(self.seen / "fsx"),
            known_types=facts.INSTANCE_TYPES,
        )

    def measures(self, speed: str) -> None:
        """Say what the next all-reduce measures, in GB/s."""
        etc = self.cluster.lab.work / "etc"
        (etc / "table").write_text(TABLE.format(speed=speed))
        (etc / "all_reduce_perf").write_text(ALL_REDUCE)
        (etc / "all_reduce_perf").chmod(0o755)

    def look(self) -> str:
        """Let the service do one of its rounds, and return what it says."""
        done = self.unit("trainshed-recovery.service", "--once")
        assert done.returncode == 0, done.stderr
        assert "cannot" not in done.stdout and "did not" not in done.stdout, done.stdout
        return done.stdout

    def records(self) -> list[dict[str, Any]]:
        """Return the records on the shared file system, the oldest first."""
        folder = self.place / "fsx/trainshed/gate"
        return [json.loads(path.read_text()) for path in sorted(folder.glob("2*-compute.json"))]

    def wait_ended(self, records: int) -> None:
        """Look until so many gates have ended."""

        def ended() -> bool:
            self.look()
            return len(self.records()) == records

        wait_until(ended, lambda: self.machine.run("squeue", "-a"), 120)

    def told(self, name: str) -> str:
        """Return what was sent to people or to CloudWatch."""
        path = self.cluster.lab.work / "etc" / name
        return path.read_text() if path.exists() else ""

    def shown(self, node: str) -> str:
        return self.machine.run("scontrol", "--oneliner", "show", "node", node)

    def features(self, node: str) -> str:
        """Return the features of a node."""
        said = self.shown(node).partition(" ActiveFeatures=")[2].partition(" ")[0]
        return "" if said == "(null)" else said

    def reserved(self, name: str) -> bool:
        said = self.machine.run("scontrol", "--oneliner", "show", "reservation")
        return f"ReservationName={name} " in said

    def closed(self) -> bool:
        return self.reserved("trainshed-gate-compute")

    def wait_features(self, *features: str) -> None:
        """Look until the nodes have these features."""

        def have() -> bool:
            self.look()
            return [self.features(name) for name in TWO] == [*features]

        wait_until(have, lambda: self.machine.run("squeue", "-a"), 120)

    def closed_queues(self) -> float:
        """Return the last metric of closed queues."""
        (found,) = (
            each
            for each in json.loads(self.told("metric-data").splitlines()[-1])
            if each["MetricName"] == "queues_closed"
        )
        assert found["Dimensions"][0] == {"Name": "ClusterName", "Value": "kait"}
        return float(found["Value"])

    def move(self, node: str, address: str) -> None:
        """Let a node be another instance, with another address."""
        machine = self.cluster.lab.machines[node]
        machine.run("ip", "address", "add", f"{address}/24", "dev", "eth0")
        self.machine.run("scontrol", "update", f"nodename={node}", f"nodeaddr={address}")


@pytest.fixture(scope="module")
def head(fleet_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    """A head node with a gate, before any node boots."""
    with Lab(tmp_path_factory.mktemp("pc-gate"), fleet_root) as lab:
        cluster = Cluster(lab)
        made = Head(cluster, "head")
        policy = SlurmPolicy.model_validate(POLICY)
        write_policy(cluster, parallelcluster_conf(policy, cluster.version, [GROUP]), policy)
        cluster.start_accounting()
        cluster.apply(policy)
        cluster.head.start("slurmctld")
        cluster.apply(policy)
        made.deploy()
        yield made


@pytest.fixture(scope="module")
def nodes(head: Head) -> list[PcNode]:
    """Two nodes whose checks of minutes are not made yet."""
    said = head.look()
    assert head.closed(), said
    kind = facts.instance_type("p5en.48xlarge")
    expect = compute_document(QUEUE, kind, cluster_name="kait", mount_dir="/fsx")
    found = []
    for number, name in enumerate(TWO, start=1):
        node = PcNode(head.cluster, name)
        node.become()
        node.boot(f"10.77.0.1{number}")
        changes = (f"nodeaddr=10.77.0.1{number}", "state=down", "reason=Static node maintenance")
        head.machine.run("scontrol", "update", f"nodename={name}", *changes)
        node.join(expect)
        node.machine.start("slurmd")
        found.append(node)
    wait_until(lambda: all("DOWN" not in head.shown(name) for name in TWO), "the nodes", 60)
    return found


@pytest.fixture(scope="module")
def job(head: Head, nodes: list[PcNode]) -> str:
    """A job of a user that was there before the queue was open."""
    return head.cluster.submit(
        "alice", "-p", "compute", "-N2", "--gres=gpu:8", "--exclusive", script="echo ran"
    )


def test_a_queue_is_closed_before_its_nodes_boot_and_until_each_has_been_checked(
    head: Head, nodes: list[PcNode], job: str
) -> None:
    head.measures("212.50")
    head.cluster.wait_reason(job, "eserved", 60)
    for node in nodes:
        head.look()
        assert "trainshed-gate" not in head.machine.run("squeue", "-a", "-h", "-o", "%j")
        assert node.unit("trainshed-basic-check.service").returncode == 0
    assert head.closed_queues() == 1
    assert "PENDING" in head.cluster.job(job, "%T")


def test_a_gate_that_fails_keeps_the_queue_closed_and_says_why(head: Head, job: str) -> None:
    head.wait_ended(1)
    (record,) = head.records()
    assert (record["queue"], record["verdict"]) == ("compute", "failed")
    assert record["nodes"] == TWO and record["addresses"] == ["10.77.0.11", "10.77.0.12"]
    assert "212.5 GB/s at 16 GiB, least 258.9" in record["text"]
    head.look()
    assert head.closed() and head.closed_queues() == 1
    assert "PENDING" in head.cluster.job(job, "%T")
    for name in TWO:
        assert head.features(name) == "gate_failed"
        assert "Comment=trainshed: passed; gate failed" in head.shown(name)
    told = head.told("published")
    assert "Queue compute: the all-reduce over 2 nodes failed" in told
    assert "least 258.9" in told and "Users are kept out." in told
    # It is not tried again on the same nodes by itself.
    head.look()
    assert head.machine.run("squeue", "-a", "-h", "-u", "root") == ""


def test_a_person_has_it_run_again_and_the_queue_opens_when_it_passes(head: Head, job: str) -> None:
    head.measures("369.86")
    again = str(head.seen / "root/usr/local/sbin/trainshed-gate")
    done = head.run(again, "compute")
    assert done.stdout == "compute: the gate runs within seconds\n", done.stderr
    head.wait_ended(2)
    assert head.records()[1]["verdict"] == "passed"
    head.look()
    assert not head.closed() and head.closed_queues() == 0
    head.cluster.wait_state(job, "COMPLETED")
    assert head.cluster.output("alice", job) == "ran\n"
    assert [head.features(name) for name in TWO] == ["gate_passed"] * 2
    assert "Queue compute: the all-reduce over 2 nodes passed" in head.told("published")


def test_a_replaced_node_passes_with_one_that_has_while_the_queue_is_open(
    head: Head, job: str
) -> None:
    head.move(TWO[0], "10.77.0.21")
    head.look()
    assert not head.closed()
    assert [head.features(name) for name in TWO] == ["", "gate_passed"]
    assert head.reserved("trainshed-pair-compute")
    late = head.cluster.submit("alice", "-p", "compute", "--gres=gpu:8", script="echo ran")
    head.wait_features("gate_passed", "gate_passed")
    assert not head.reserved("trainshed-pair-compute")
    assert head.records()[-1]["addresses"] == ["10.77.0.21", "10.77.0.12"]
    head.cluster.wait_state(late, "COMPLETED")


def test_a_replaced_node_that_is_slow_with_another_is_held(head: Head, job: str) -> None:
    head.measures("212.50")
    head.move(TWO[0], "10.77.0.25")

    def held() -> bool:
        head.look()
        return head.reserved(f"trainshed-mend-{TWO[0]}")

    wait_until(held, lambda: head.machine.run("squeue", "-a"), 120)
    assert f"failed nccl_pair [monitor] with {TWO[1]}: " in head.shown(TWO[0])
    assert f"Queue compute: the all-reduce of {TWO[0]} with {TWO[1]} failed" in head.told(
        "published"
    )
    head.look()
    assert not head.closed() and not head.reserved("trainshed-pair-compute")
    # Neither mended nor drained: a person decides.
    assert "DRAIN" not in head.shown(TWO[0]).partition(" State=")[2].partition(" ")[0]
    head.machine.run("scontrol", "delete", f"reservationname=trainshed-mend-{TWO[0]}")
    head.measures("369.86")


def test_a_queue_whose_instances_are_all_new_runs_its_gate_anew(head: Head, job: str) -> None:
    before = head.records()
    head.move(TWO[1], "10.77.0.22")
    head.look()
    assert head.closed()
    head.wait_ended(len(before) + 1)
    head.look()
    assert not head.closed()
    assert head.records()[-1]["addresses"] == ["10.77.0.25", "10.77.0.22"]


def test_a_gate_that_is_taken_out_of_the_file_opens_the_queue(head: Head, job: str) -> None:
    for number, name in enumerate(TWO, start=1):
        head.move(name, f"10.77.0.3{number}")
    head.look()
    assert head.closed()
    head.deploy(gated=False)
    head.look()
    assert not head.closed()
