"""Faults of the head node, and another in its place."""

from __future__ import annotations

from tests.waiting import wait_until
from trainshed.slurm_fleet import names

from .files import CLUSTER
from .lab import FleetLab, Node

Fleet = tuple[FleetLab, Node, list[Node]]


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
    before = run("systemctl", "show", "slurmctld", "-p", "ExecStartPre")
    assert f"unsaved_state.sh {names.STATE_DIR}/slurmctld {CLUSTER} ;" in before
    assert "code=exited ; status=0" in before

    def left() -> str:
        return str(run("squeue", "-a", "-j", job)) + str(run("sinfo", "-aN", "-o", "%N %T %E"))

    wait_until(lambda: not run("squeue", "-ah", "-j", job), left, 300, 1)
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
