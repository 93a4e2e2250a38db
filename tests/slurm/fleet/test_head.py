"""Faults of the head node, and another in its place."""

from __future__ import annotations

from tests.waiting import wait_until

from .lab import FleetLab, Node

Fleet = tuple[FleetLab, Node, list[Node]]


def test_a_slurmdbd_that_does_not_start_is_named(fleet: Fleet) -> None:
    lab, _, nodes = fleet
    head = lab.head
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
    lab.boot_again(head)
    lab.wait_booted(head)
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
    new = lab.launch("head")
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
