"""Faulty nodes of a real Slurm are drained with their reason before a job lands on them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.health.node import RECORDED, Fault, fault, stand_in
from tests.slurm.lab.cluster import (
    COMPUTE,
    LAB_SETTINGS,
    NODES,
    Cluster,
    policy_for_lab,
    write_policy,
)
from tests.slurm.lab.machines import Lab
from tests.waiting import wait_until
from trainshed.slurm import BareCluster, SlurmPolicy, slurm_conf

HEALTH = Path(__file__).parents[2] / "assets" / "node" / "health"
CHECKED, PROLOG_ONLY, GATED = NODES[0], NODES[1], NODES[2:4]
# What only a real node has is around the real scripts; all the rest is as on a node.
WRAPPER = """\
#!/bin/bash
node=/etc/slurm/nodes/$(hostname)
export PATH="$node/bin:/usr/sbin:/usr/bin:/sbin:/bin" ROOT_DIR="$node/root"
export TRAINSHED_EXPECT="$node/expect.json"
{before}
exec /etc/slurm/health/{script}
"""
# Off where the prolog alone is to be seen; and what the checks of minutes say in a real prolog.
NOT_HERE = f"[[ $(hostname) != {PROLOG_ONLY} ]] || exit 0"
REFUSED = """\
python3 -S -E /etc/slurm/health/health_check.py basic --expect "$TRAINSHED_EXPECT" \
  >/etc/slurm/basic-in-prolog 2>&1
echo "ended with $?" >>/etc/slurm/basic-in-prolog"""
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


class Nodes:
    """Stand-ins for the hardware of the nodes."""

    def __init__(self, cluster: Cluster) -> None:
        self._etc = cluster.lab.work / "etc"
        self.changed: set[str] = set()

    def become(self, node: str, wrong: Fault | None = None) -> None:
        """Give a node a fault, or none, from one moment to the next."""
        self.changed.add(node)
        place = self._etc / "nodes" / node
        fresh, old = place.with_suffix(".new"), place.with_suffix(".old")
        fresh.mkdir(parents=True)
        stand_in(fresh, wrong, seen_as=Path("/etc/slurm/nodes") / node)
        if place.exists():
            place.rename(old)
        fresh.rename(place)
        shutil.rmtree(old, ignore_errors=True)

    def write(self, name: str, text: str) -> Path:
        """Write a program or a file that all nodes see."""
        path = self._etc / name
        path.write_text(text)
        path.chmod(0o755)
        return path


def conf_with_checks(policy: SlurmPolicy, version: tuple[int, int]) -> str:
    """Return slurm.conf as the bare fleet has it, with checks every five seconds."""
    fleet = BareCluster(
        "kait",
        "head",
        configless=False,
        slurm_version=version,
        prolog="/etc/slurm/prolog.sh",
        task_prolog=None,
        health_check="/etc/slurm/health_program.sh",
        extra=LAB_SETTINGS,
    )
    minutely, often = "HealthCheckInterval=65\n", "HealthCheckInterval=5\n"
    conf = slurm_conf(policy, [COMPUTE], fleet)
    assert minutely in conf
    return conf.replace(minutely, often)


@pytest.fixture(scope="module")
def cluster(slurm_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose nodes are checked every five seconds and before each job."""
    with Lab(tmp_path_factory.mktemp("health"), slurm_root) as lab:
        cluster = Cluster(lab)
        nodes = Nodes(cluster)
        shutil.copytree(HEALTH, lab.work / "etc" / "health")
        for name in NODES:
            nodes.become(name)
        program = WRAPPER.format(before=NOT_HERE, script="health_program.sh")
        nodes.write("health_program.sh", program)
        nodes.write("prolog.sh", WRAPPER.format(before=REFUSED, script="prolog.sh"))
        policy = policy_for_lab("kait-hardened")
        write_policy(cluster, conf_with_checks(policy, cluster.version), policy)
        cluster.start_accounting()
        cluster.apply(policy)
        cluster.start()
        cluster.apply(policy)
        yield cluster


@pytest.fixture
def nodes(cluster: Cluster) -> Iterator[Nodes]:
    """The hardware of the nodes, healthy before and after; no job and no drained node either."""
    nodes = Nodes(cluster)
    yield nodes
    cluster.cancel_all()
    for name in sorted(nodes.changed):
        nodes.become(name)
    for name in NODES:
        if reason(cluster, name):
            cluster.head.run("scontrol", "update", f"nodename={name}", "state=resume")
    wait_until(lambda: state(cluster, *NODES) == {"idle"}, "all nodes idle", 60)


def state(cluster: Cluster, *names: str) -> set[str]:
    """Return the states of nodes."""
    said = cluster.head.run("sinfo", "-ahNn", ",".join(names), "-o", "%T")
    return set(said.split())


def reason(cluster: Cluster, node: str) -> str:
    """Return why a node is out of use; empty when it is not."""
    said = cluster.head.run("sinfo", "-ahRn", node, "-o", "%E")
    return said.splitlines()[0] if said else ""


def test_a_faulty_node_is_drained_with_its_reason_before_a_job_lands_on_it(
    cluster: Cluster, nodes: Nodes
) -> None:
    nodes.become(CHECKED, fault("gpu-missing"))
    wait_until(lambda: reason(cluster, CHECKED), "a drained node", 40)
    assert reason(cluster, CHECKED).startswith("health: gpu_count [reboot] 7 of 8 GPUs, at 000")
    assert state(cluster, CHECKED) == {"drained"}
    job = cluster.submit("alice", "-w", CHECKED, "--gres=gpu:1")
    cluster.wait_reason(job, "", 20)
    other = cluster.submit("alice", "--gres=gpu:1", script="hostname")
    cluster.wait_state(other, "COMPLETED")
    assert CHECKED not in cluster.output("alice", other)
    assert cluster.job(job, "%T") == "PENDING"


def test_a_running_job_goes_on_while_its_node_drains(cluster: Cluster, nodes: Nodes) -> None:
    job = cluster.submit("alice", "-w", CHECKED, "--gres=gpu:1", script="echo on; sleep 600")
    # Slurm calls it running before its prolog is over.
    cluster.wait_output("alice", job, "on")
    nodes.become(CHECKED, fault("row-remap-failure"))
    wait_until(lambda: reason(cluster, CHECKED), "a draining node", 40)
    assert "[isolate]" in reason(cluster, CHECKED)
    assert state(cluster, CHECKED) == {"draining"}
    assert cluster.job(job, "%T") == "RUNNING"


def test_the_prolog_catches_a_fault_between_two_checks(cluster: Cluster, nodes: Nodes) -> None:
    nodes.become(PROLOG_ONLY, fault("double-bit-ecc"))
    job = cluster.submit("alice", "-w", PROLOG_ONLY, "--gres=gpu:1", script="echo ran")
    wait_until(lambda: reason(cluster, PROLOG_ONLY), "a drained node", 40)
    assert reason(cluster, PROLOG_ONLY).startswith("health: ")
    assert "[reset]" in reason(cluster, PROLOG_ONLY)
    wait_until(lambda: cluster.job(job, "%T") == "PENDING", "the job to wait again")
    assert "ran" not in cluster.output("alice", job)
    # It was sent away, not held: it may run elsewhere.
    assert "held" not in cluster.job(job, "%r").lower()


def test_a_warning_keeps_a_node_in_use(cluster: Cluster, nodes: Nodes) -> None:
    nodes.become(PROLOG_ONLY, fault("xid-31-application"))
    job = cluster.submit("alice", "-w", PROLOG_ONLY, "--gres=gpu:1", script="echo ran")
    cluster.wait_state(job, "COMPLETED")
    assert cluster.output("alice", job) == "ran\n"
    assert reason(cluster, PROLOG_ONLY) == ""


def test_a_persons_reason_is_kept(cluster: Cluster, nodes: Nodes) -> None:
    update = ("scontrol", "update", f"nodename={CHECKED}", "state=drain", "reason=fan, ask Kim")
    cluster.head.run(*update)
    nodes.become(CHECKED, fault("gpu-missing"))
    counters = cluster.lab.machines[CHECKED]
    seen = "/run/trainshed/health/counters.json"
    wait_until(lambda: '"gpus_missing": 1' in counters.try_run("cat", seen).stdout, "a check", 40)
    assert reason(cluster, CHECKED) == "fan, ask Kim"


def test_checks_of_minutes_are_refused_in_a_real_prolog(cluster: Cluster, nodes: Nodes) -> None:
    job = cluster.submit("alice", "-w", PROLOG_ONLY, "--gres=gpu:1", script="true")
    cluster.wait_state(job, "COMPLETED")
    said = (cluster.lab.work / "etc" / "basic-in-prolog").read_text()
    assert "the basic checks take minutes and are refused in Slurm's prolog" in said
    assert said.endswith("ended with 2\n")


@pytest.mark.parametrize(
    ("speed", "verdict", "code"), [("369.86", "ok", "0"), ("212.50", "fail", "1")]
)
def test_the_gate_runs_over_all_nodes_and_its_exit_code_decides(
    cluster: Cluster, nodes: Nodes, speed: str, verdict: str, code: str
) -> None:
    nodes.write("all_reduce_perf", ALL_REDUCE)
    nodes.write("table", TABLE.format(speed=speed))
    gate = (
        "GATE_MPI=none NCCL_TESTS=/etc/slurm/all_reduce_perf bash /etc/slurm/health/nccl_gate.sh "
        f"/etc/slurm/nodes/{GATED[0]}/expect.json $HOME/gate; echo ended with $?"
    )
    size = ("-N2", "-w", ",".join(GATED), "--ntasks-per-node=8", "--gres=gpu:8")
    job = cluster.submit("bob", "-p", "priority", *size, script=gate)
    cluster.wait_state(job, "COMPLETED", seconds=60)
    line, end = cluster.output("bob", job).splitlines()
    said = json.loads(line)
    assert (said["check"], said["verdict"]) == ("nccl_gate", verdict)
    assert f"{speed.rstrip('0')} GB/s at 16 GiB, least 258.9" in said["evidence"]
    assert end == f"ended with {code}"
    kept = (cluster.lab.work / "home" / "bob" / "gate" / f"nccl-gate-{job}.json").read_text()
    assert json.loads(kept) == said


def test_the_stand_in_says_what_a_real_gpu_said(cluster: Cluster) -> None:
    machine = cluster.lab.machines[NODES[3]]
    asked = machine.run(f"/etc/slurm/nodes/{NODES[3]}/bin/nvidia-smi", "--query-gpu=name")
    real = (RECORDED / "query.csv").read_text().splitlines()[0].split(", ", 1)[1]
    assert [line.split(", ", 1)[1] for line in asked.splitlines()] == [real] * 8
