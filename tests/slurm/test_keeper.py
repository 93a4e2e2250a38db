"""The keeper on a real Slurm: what is lost is fenced, replaced, and its jobs go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assets.node.keeper.slurm import Slurm
from tests.slurm.keeper_fleet import KeptFleet
from tests.slurm.lab.machines import Lab
from tests.waiting import wait_until

# Each copy of the job says who it is; the file is on shared storage.
WRITER = """\
srun bash -c 'for i in $(seq 4000); do echo ${SLURM_RESTART_COUNT:-0} $SLURMD_NODENAME; sleep 0.1
[ -e /home/bob/stop ] && exit 0; done' >>/home/bob/writes-$SLURM_JOB_ID
"""
# Goes on where it was, as training from a checkpoint does.
SLEEPER = """\
trap 'echo warned' USR1
echo start ${SLURM_RESTART_COUNT:-0}
while [ ! -e /home/bob/stop ]; do sleep 0.2; done
echo end
"""


@pytest.fixture(scope="session")
def kept(fleet_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptFleet]:
    with Lab(tmp_path_factory.mktemp("kept"), fleet_root) as lab:
        yield KeptFleet(lab, tmp_path_factory.mktemp("keeper"))


@pytest.fixture
def fleet(kept: KeptFleet) -> KeptFleet:
    (kept.lab.work / "home" / "bob" / "stop").unlink(missing_ok=True)
    kept.ready()
    return kept


def stop_jobs(fleet: KeptFleet) -> None:
    """Let the jobs end well."""
    (fleet.lab.work / "home" / "bob" / "stop").touch()


def finished(fleet: KeptFleet, job: str) -> bool:
    return fleet.cluster.job(job, "%T") == "COMPLETED"


def test_the_fleet_is_ready_once_its_first_job_has_run(fleet: KeptFleet) -> None:
    assert fleet.cloud.status["phase"] == "ready"
    assert fleet.cloud.status["first_job"]["state"] == "COMPLETED"
    assert "SlurmdTimeout           = 0 sec" in fleet.head.run("scontrol", "show", "config")


def test_a_job_whose_slurmd_is_killed_finishes_on_a_replacement(fleet: KeptFleet) -> None:
    job = fleet.submit("-N2", script=SLEEPER)
    victim = fleet.nodes_of(job)[0]
    before = {each.name for each in fleet.cloud.alive()}
    victim.machine.run("pkill", "-KILL", "-x", "slurmd")
    fleet.until(lambda: ("fence", victim.instance.id) in fleet.cloud.events, "the fence")
    fleet.until(lambda: fleet.cluster.job(job, "%T") == "RUNNING", "the job's restart")
    fleet.cluster.wait_output("bob", job, "start 1")
    stop_jobs(fleet)
    fleet.until(lambda: finished(fleet, job), "the job's end")
    fleet.until(lambda: fleet.idle() == 3, "three idle nodes")
    after = {each.name: each.address for each in fleet.cloud.alive()}
    new = set(after) - before
    assert len(new) == 1 and victim.name not in after
    assert victim.address not in after.values()
    assert victim.name not in fleet.head.run("sinfo", "-hNo", "%N", "-p", "trainshed")


def test_a_cut_off_node_is_ended_before_its_job_starts_again(fleet: KeptFleet) -> None:
    job = fleet.submit("-N1", script=WRITER)
    victim = fleet.nodes_of(job)[0]
    writes = fleet.lab.work / "home" / "bob" / f"writes-{job}"
    wait_until(lambda: writes.exists() and writes.read_text(), "the first write")
    fleet.cut(victim)
    cut_at = len(writes.read_text().splitlines())
    fleet.until(lambda: fleet.cloud.status["queues"]["train"]["failed"] == 1, "the suspicion")
    # It cannot be reached, and goes on writing: to start its job elsewhere now would be a second.
    wait_until(lambda: len(writes.read_text().splitlines()) > cut_at + 5, "writes of the cut node")
    assert fleet.cluster.job(job, "%T") == "RUNNING"
    fleet.until(lambda: f"1 {victim.name}"[:2] in writes.read_text(), "writes of the second copy")
    lines = writes.read_text().splitlines()
    copies = [line.split()[0] for line in lines]
    hosts = {copy: {line.split()[1] for line in lines if line[0] == copy} for copy in set(copies)}
    assert copies == sorted(copies)
    assert hosts["0"] == {victim.name} and victim.name not in hosts["1"]
    stop_jobs(fleet)
    fleet.until(lambda: finished(fleet, job), "the job's end")


def test_a_short_cut_ends_nothing(fleet: KeptFleet) -> None:
    job = fleet.submit("-N1", script=SLEEPER)
    victim = fleet.nodes_of(job)[0]
    fleet.cut(victim)
    reason = ("sinfo", "-hN", "-p", "trainshed", "-n", victim.name, "-o", "%E")
    fleet.until(lambda: "silent" in fleet.head.run(*reason), "the drain of a silent node")
    fleet.cut(victim, heal=True)
    fleet.until(lambda: "silent" not in fleet.head.run(*reason), "the node's return")
    assert fleet.cloud.events == []
    stop_jobs(fleet)
    fleet.cluster.wait_state(job, "COMPLETED")


def test_without_capacity_the_job_waits_and_the_status_says_why(fleet: KeptFleet) -> None:
    job = fleet.submit("-N3", script=SLEEPER)
    fleet.cloud.capacity = 2
    victim = fleet.nodes_of(job)[0]
    victim.machine.power_off()
    reason = fleet.until(
        lambda: "Insufficient" in (said := fleet.cloud.status["reason"]) and said, "the reason"
    )
    assert reason.startswith("queue train has 2 of 3 nodes")
    fleet.until(lambda: fleet.cluster.job(job, "%T") == "PENDING", "the job to wait")
    fleet.cloud.capacity = 9
    fleet.until(lambda: fleet.cluster.job(job, "%T") == "RUNNING", "the job's restart")
    stop_jobs(fleet)
    fleet.until(lambda: finished(fleet, job), "the job's end")


def test_slurmctld_that_is_restarted_under_load_loses_no_node(fleet: KeptFleet) -> None:
    job = fleet.submit("-N3", script=SLEEPER)
    ids = {each.instance.id for each in fleet.cloud.alive()}
    controller = "^(/usr/sbin/)?slurmctld"
    fleet.head.run("pkill", "-TERM", "-f", controller)
    wait_until(lambda: fleet.head.try_run("pgrep", "-f", controller).returncode, "its end")
    assert fleet.round().nodes is None
    assert fleet.cloud.status["phase"] == "waiting"
    fleet.head.start("slurmctld")
    fleet.restart_keeper()
    fleet.until(lambda: fleet.cloud.status["phase"] == "ready", "the fleet")
    assert fleet.cluster.job(job, "%T") == "RUNNING"
    assert fleet.cloud.events == []
    assert {each.instance.id for each in fleet.cloud.alive()} == ids
    stop_jobs(fleet)
    fleet.cluster.wait_state(job, "COMPLETED")


def test_aws_that_does_not_answer_costs_no_node(fleet: KeptFleet) -> None:
    fleet.cloud.broken = True
    for _ in range(15):
        view = fleet.round()
        assert view.instances is None
    fleet.cloud.broken = False
    fleet.round()
    assert fleet.cloud.events == []
    assert fleet.cloud.status["phase"] == "ready"


def test_a_requeued_job_is_not_lost_on_the_nodes_that_have_just_ended_it(fleet: KeptFleet) -> None:
    job = fleet.submit("-N3", script=SLEEPER)
    fleet.cluster.wait_output("bob", job, "start 0")
    slurm = Slurm(fleet._run)
    slurm.requeue(job)
    wait_until(lambda: fleet.cluster.job(job, "%T") == "PENDING", "the requeue")
    slurm.start_soon(job)
    fleet.cluster.wait_output("bob", job, "start 1")


def test_a_queue_that_leaves_the_document_gets_no_job_and_ends_none(fleet: KeptFleet) -> None:
    job = fleet.submit("-N1", script=SLEEPER)
    there = fleet.cloud.values["fleet"]
    without = {**json.loads(there[0]), "queues": {}}
    fleet.cloud.values["fleet"] = (json.dumps(without), datetime.now(UTC))

    def counts() -> tuple[int, ...]:
        told = fleet.cloud.status["queues"]["train"]
        return tuple(told[key] for key in ("desired", "busy", "idle", "draining"))

    fleet.until(lambda: counts() == (0, 1, 0, 3), "the drain of every node")
    assert fleet.cluster.job(job, "%T") == "RUNNING"
    assert fleet.cloud.events == []
    fleet.cloud.values["fleet"] = there
    fleet.until(lambda: counts() == (3, 1, 2, 0), "three serving nodes")
    stop_jobs(fleet)
    fleet.cluster.wait_state(job, "COMPLETED")


def test_outdated_nodes_are_replaced_when_idle_one_at_a_time(fleet: KeptFleet) -> None:
    job = fleet.submit("-N1", script=SLEEPER)
    busy = fleet.nodes_of(job)[0]
    fleet.cloud.version = str(int(fleet.cloud.version) + 1)
    fleet.cloud.publish(3)

    def outdated() -> bool:
        serving = fleet.head.run("sinfo", "-hN", "-p", "trainshed", "-t", "idle,alloc", "-o", "%N")
        assert len(serving.split()) >= 1
        return bool(fleet.cloud.status["queues"]["train"]["outdated"] == 1)

    fleet.until(outdated, "two nodes of the new version")
    fleet.until(lambda: fleet.head.run("sinfo", "-hN", "-p", "trainshed", "-t", "drng"), "a drain")
    assert fleet.cluster.job(job, "%T") == "RUNNING"
    assert ("terminate", busy.instance.id) not in fleet.cloud.events
    stop_jobs(fleet)
    fleet.until(lambda: fleet.idle() == 3, "three idle nodes")
    assert [kind for kind, _ in fleet.cloud.events] == ["terminate"] * 3
    assert finished(fleet, job)


def test_a_smaller_fleet_loses_idle_nodes_first_and_then_what_becomes_idle(
    fleet: KeptFleet,
) -> None:
    job = fleet.submit("-N2", script=SLEEPER)
    busy = {each.instance.id for each in fleet.nodes_of(job)}
    fleet.cloud.publish(1)
    fleet.until(lambda: fleet.cloud.desired == 2, "the idle node's end")
    assert [id for _, id in fleet.cloud.events if id in busy] == []
    assert fleet.cluster.job(job, "%T") == "RUNNING"
    stop_jobs(fleet)
    fleet.until(lambda: fleet.idle() == 1, "one idle node")
    assert finished(fleet, job)
    assert [kind for kind, _ in fleet.cloud.events] == ["shrink", "shrink"]


def test_at_the_end_of_a_block_jobs_are_warned_requeued_and_keep_their_limit(
    fleet: KeptFleet,
) -> None:
    job = fleet.submit("-N1", "-t", "1-00:00:00", "--signal=B:USR1@660", script=SLEEPER)
    end = datetime.now(UTC) + timedelta(minutes=40)
    fleet.cloud.publish(3, end=end.isoformat(), drain_minutes=40)
    fleet.until(lambda: fleet.cloud.desired == 1, "the idle nodes' end")
    limit = ("squeue", "-hj", job, "-o", "%l")
    assert fleet.head.run(*limit) in {"10:00", "11:00"}
    # It asked to be warned longer before its end than it now has; Slurm looks every half minute.
    wait_until(lambda: "warned" in fleet.cluster.output("bob", job), "the job's warning")
    fleet.shift = timedelta(minutes=9, seconds=5)
    fleet.until(lambda: fleet.cloud.desired == 0, "the last node's end")
    fleet.until(lambda: fleet.head.run(*limit) == "1-00:00:00", "its limit")
    assert fleet.cluster.job(job, "%T") == "PENDING"
    assert fleet.cloud.status["phase"] == "ready"


def test_before_a_deletion_jobs_get_their_time_and_the_fleet_is_drained(fleet: KeptFleet) -> None:
    job = fleet.submit("-N1", script=SLEEPER)
    fleet.cloud.values["command"] = ('{"drain": true, "grace_seconds": 600}', datetime.now(UTC))
    fleet.round()
    assert fleet.cloud.status["phase"] == "waiting"
    assert fleet.cluster.job(job, "%T") == "RUNNING"
    fleet.shift = timedelta(minutes=10)
    fleet.until(lambda: fleet.cloud.status["phase"] == "drained", "the drain")
    assert fleet.cluster.job(job, "%T") == "CANCELLED"
    assert fleet.cloud.events == []
