"""Faults of the head node, and another in its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.waiting import wait_until
from trainshed.slurm_fleet import names

from .files import CLUSTER, QUEUE, Files
from .lab import FleetLab, Node

Fleet = tuple[FleetLab, Node, list[Node]]
LEAVING = "leaving"


@dataclass
class OnePartitionMore(Files):
    """Files with a partition that the policy of ``Files`` does not have."""

    def written(self) -> dict[str, bytes]:
        """Return the files."""
        files = super().written()
        line = f"PartitionName={LEAVING} Nodes={QUEUE}_nodes RootOnly=YES MaxTime=UNLIMITED\n"
        return {**files, "slurm.conf": files["slurm.conf"] + line.encode()}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A head node and three idle nodes of one queue."""
    with FleetLab(tmp_path_factory.mktemp("fleet")) as lab:
        lab.files = OnePartitionMore()
        lab.publish()
        head = lab.launch("head")
        nodes = [lab.launch("compute", QUEUE) for _ in range(3)]
        for node in (head, *nodes):
            lab.wait_booted(node)
        lab.wait_idle(*nodes)
        yield lab, head, nodes


def test_a_slurmdbd_that_does_not_start_is_named_and_the_boot_repeated(fleet: Fleet) -> None:
    lab, _, nodes = fleet
    head = lab.head
    # Until then a boot that fails is the keeper's to repeat.
    applied = head.machine.files / "var/lib/trainshed/applied"
    wait_until(applied.exists, "the keeper to have applied the document")
    head.machine.run("systemctl", "mask", "--runtime", "--now", "slurmdbd")
    try:
        lab.boot_again(head)
        record = lab.failure(head)
        assert record is not None
        assert (record["node"], record["step"]) == ("head", "database")
        assert record["reason"].startswith("accounting_database: slurmdbd.service does not start")
        assert "journalctl" in record["remedy"]
        # Jobs go on without it; what they used is written down later.
        assert head.machine.run("srun", "-p", "trainshed", "--mem=10", "hostname")
    finally:
        head.machine.run("systemctl", "unmask", "--runtime", "slurmdbd")
    # Five minutes, for which a test does not wait.
    watch = head.machine.files / "opt/trainshed/current/watch.sh"
    text = watch.read_text()
    try:
        watch.write_text(text.replace("AGAIN_SECONDS=300", "AGAIN_SECONDS=-1"))
        head.machine.run("systemctl", "start", "trainshed-watch", seconds=120)
        wait_until(lambda: lab.boot_ended(head) == "inactive", lambda: lab.boot_log(head), 300)
    finally:
        watch.write_text(text)
    assert lab.failure(head) is None
    lab.wait_idle(*nodes)


def test_slurmctld_is_restarted_under_load_and_loses_no_job(fleet: Fleet) -> None:
    lab, _, _ = fleet
    run = lab.head.machine.run
    job = lab.submit("--array=1-40", script="sleep 1")
    for _ in range(2):
        run("systemctl", "restart", "slurmctld")
        wait_until(lambda: "UP" in run("scontrol", "ping"), "slurmctld", 60, 0.5)
    wait_until(lambda: not run("squeue", "-ah", "-j", job), "the end of the jobs", 300, 1)
    rows = ["sacct", "-XnP", "-j", job, "-o", "State"]
    wait_until(lambda: len(run(*rows).split()) == 40, "forty rows of accounting", 60, 1)
    assert set(run(*rows).split()) == {"COMPLETED"}


def test_nodes_that_lose_their_power_come_back_by_themselves(fleet: Fleet) -> None:
    lab, _, nodes = fleet
    head, node = lab.head, nodes[0]
    done = lab.submit(script="true")
    show = ["sacct", "-XnP", "-j", done, "-o", "State"]
    wait_until(lambda: head.machine.run(*show) == "COMPLETED", "a job in the accounting")
    waiting = lab.submit("--hold", script="true")
    # slurmctld keeps what it was told some seconds later; power that fails before takes it away.
    told = int(head.machine.run("date", "+%s"))
    kept = ("stat", "-c", "%Y", f"{names.STATE_DIR}/slurmctld/job_state")
    wait_until(lambda: int(head.machine.run(*kept)) > told, "slurmctld to save its jobs")
    for each in (head, node):
        lab.reboot(each)
    for each in (head, node):
        lab.wait_booted(each)
        assert each.machine.run("hostname") == each.name
    lab.wait_idle(*nodes)
    assert head.machine.run(*show) == "COMPLETED"
    head.machine.run("scontrol", "release", waiting)
    wait_until(lambda: not head.machine.run("squeue", "-ahj", waiting), "the job that waited")


def test_a_new_head_node_stops_the_old_one_and_has_its_queue_and_accounting(fleet: Fleet) -> None:
    lab, _, nodes = fleet
    old = lab.head
    before = old.machine.run("sacct", "-aXnP", "-o", "JobID,State")
    on = ("-N1", "--gres=gpu:8", "-w", nodes[0].name)
    running = lab.submit(*on, script="sleep 25")
    waiting = lab.submit(*on, script="true")
    wait_until(
        lambda: "RUNNING" in old.machine.run("squeue", "-ahj", running, "-o", "%T"),
        "a job",
        60,
        0.5,
    )
    slurmd = lab.daemons(nodes[1])["slurmd.service"]
    new = lab.launch("head")
    # It has the name already, and no slurmctld that could tell slurmd its configuration.
    nodes[1].machine.run("systemctl", "start", "trainshed-watch", seconds=120)
    assert lab.daemons(nodes[1])["slurmd.service"] == slurmd
    lab.wait_booted(new)
    assert lab.ec2_states()[old.instance_id] == "stopped"
    assert not old.machine.alive
    for node in nodes:
        node.machine.run("systemctl", "start", "trainshed-watch", seconds=120)
    lab.wait_idle(*nodes[1:])
    wait_until(
        lambda: not new.machine.run("squeue", "-ahj", f"{running},{waiting}"), "both jobs", 120, 1
    )
    jobs = new.machine.run("sacct", "-aXnP", "-o", "JobID,State").splitlines()
    assert set(before.splitlines()) <= set(jobs)
    assert {f"{running}|COMPLETED", f"{waiting}|COMPLETED"} <= set(jobs)


def test_a_partition_with_jobs_is_not_lost_with_the_head_node_that_had_it(fleet: Fleet) -> None:
    lab, _, nodes = fleet
    old, node = lab.head, nodes[1]
    kept = old.machine.files / "state/slurm/slurm.conf"
    wait_until(kept.exists, "the keeper to have applied the first document")
    job = lab.submit("-p", LEAVING, "-w", node.name, script="sleep 600")
    state = ("squeue", "-ahj", job, "-o", "%T %P")
    wait_until(lambda: old.machine.run(*state) == f"RUNNING {LEAVING}", "a job", 60, 0.5)
    lab.files = Files()
    lab.publish()
    new = lab.launch("head")
    lab.wait_booted(new)
    node.machine.run("systemctl", "start", "trainshed-watch", seconds=120)
    parameter = names.status_parameter(CLUSTER)

    def told() -> tuple[str, str]:
        status = json.loads(lab.ssm.get_parameter(Name=parameter)["Parameter"]["Value"])
        return status["head"], status["reason"]

    refusal = f"partition {LEAVING} is removed while 1 jobs run in it"
    wait_until(lambda: told() == (new.instance_id, refusal), lambda: f"{told()}", 120, 1)
    assert new.machine.run(*state) == f"RUNNING {LEAVING}"
    new.machine.run("scancel", job)
    lab.wait_idle(*nodes)
    # Five minutes later it tries again, for which a test does not wait.
    new.machine.run("systemctl", "restart", "trainshed-keeper")
    partitions = ("sinfo", "-aho", "%R")
    wait_until(
        lambda: LEAVING not in new.machine.run(*partitions).split(), lambda: f"{told()}", 120, 1
    )
    assert (
        new.machine.files.joinpath(*kept.parts[-3:]).read_text()
        == (new.machine.files / "etc/slurm/slurm.conf").read_text()
    )
