"""Held nodes, the gate, resumed training and the end of a block on a real Slurm."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from assets.node.keeper.recovery.again import ask
from assets.node.keeper.recovery.goodput import Goodput
from assets.node.keeper.recovery.weekly import week
from tests.slurm import keeper_fleet
from tests.slurm.keeper_fleet import Booted
from tests.slurm.lab.machines import Lab
from tests.slurm.recovery_fleet import HELD, RecoveryFleet
from tests.waiting import wait_until

TRAIN = """\
exec python3 /etc/slurm/resume run --checkpoints $HOME/{name} -- \
  srun --kill-on-bad-exit=1 python3 /etc/slurm/training.py $HOME/{name} {steps} \
  '--from={{checkpoint}}'
"""


@pytest.fixture(scope="module")
def started(fleet_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecoveryFleet]:
    with (
        pytest.MonkeyPatch.context() as patch,
        Lab(tmp_path_factory.mktemp("recovery"), fleet_root) as lab,
    ):
        patch.setattr(keeper_fleet, "NODE_CONF", keeper_fleet.NODE_CONF + HELD)
        fleet = RecoveryFleet(lab, tmp_path_factory.mktemp("recovery-head"))
        shutil.copy(Path(__file__).with_name("training.py"), lab.work / "etc")
        yield fleet


@pytest.fixture
def fleet(started: RecoveryFleet) -> RecoveryFleet:
    """Three nodes in a queue that is open."""
    started.checking = True
    started.ready()
    started.told.clear()
    return started


def submit(fleet: RecoveryFleet, name: str, steps: int, *options: str) -> str:
    script = TRAIN.format(name=name, steps=steps)
    whole = ("-p", "exclusive", "--gres=gpu:8", "--requeue", "-t", "1-00:00:00")
    return fleet.cluster.submit("bob", *whole, *options, script=script)


def home(fleet: RecoveryFleet, name: str) -> Path:
    return fleet.lab.work / "home" / "bob" / name


def result(fleet: RecoveryFleet, name: str) -> str:
    path = home(fleet, name) / "result-0.txt"
    return path.read_text() if path.exists() else ""


def saved(fleet: RecoveryFleet, name: str) -> list[Path]:
    return sorted(path.parent for path in home(fleet, name).glob("step-*/manifest.json"))


def told(fleet: RecoveryFleet, job: str) -> dict[str, Goodput]:
    """Return the goodput of all jobs once the accounting has both attempts of one."""
    jobs = week(fleet._run, None, datetime.now(UTC))
    made = jobs.get(job, Goodput())
    return jobs if made.lost and made.computing else {}


def start_now(fleet: RecoveryFleet, job: str) -> None:
    """Take off the two minutes that Slurm holds a requeued job for."""
    fleet.head.try_run("scontrol", "update", f"jobid={job}", "starttime=now+3")


def test_users_are_kept_out_until_nodes_and_the_gate_have_passed(started: RecoveryFleet) -> None:
    assert HELD in keeper_fleet.NODE_CONF
    fleet = started

    def names() -> list[str]:
        return [each.name for each in fleet.cloud.alive()]

    fleet.checking = False
    fleet.gate_says("fail", "212.5 GB/s at 16 GiB, least 258.9")
    fleet.cloud.publish(2)
    fleet.cloud.desired = 2
    fleet.until(
        lambda: len(names()) == 2 and all("held until" in fleet.node(n) for n in names()),
        "two nodes that are held",
    )
    job = fleet.cluster.submit("bob", "-p", "exclusive", "--gres=gpu:8", script="hostname")
    assert {fleet.state(name) for name in names()} == {"drained"}
    assert fleet.job(job) == "PENDING"
    fleet.checking = True
    fleet.until(lambda: fleet.told, "the first gate's end")
    assert fleet.told[0][0] == "Queue train: the all-reduce over 2 nodes failed"
    assert "212.5 GB/s" in fleet.told[0][1]
    fleet.round()
    assert "DRAIN" not in "".join(fleet.node(name) for name in names())
    assert {fleet.features(name) for name in names()} == {"train,gate_failed"}
    assert fleet.cloud.status["phase"] == "gate-failed"
    assert "nccl_gate over train-" in fleet.cloud.status["reason"]
    assert "212.5 GB/s at 16 GiB, least 258.9" in fleet.cloud.status["reason"]
    assert fleet.job(job) == "PENDING"
    # Neither a restart nor a reconfiguration lets anybody in.
    fleet.head.run("scontrol", "reconfigure")
    fleet.restart_recovery()
    fleet.round()
    assert fleet.job(job) == "PENDING"
    fleet.gate_says("ok", "369.86 GB/s at 16 GiB, least 258.9")
    ask(fleet.store, ["train"], [], datetime.now(UTC))
    fleet.until(lambda: fleet.job(job) == "COMPLETED", "the user's job")
    record = fleet.store.record("train")
    assert record is not None and record.verdict == "passed"
    assert set(record.nodes) == set(names())
    assert all("gate passed" in fleet.node(name) for name in names())
    fleet.round()
    assert {fleet.features(name) for name in names()} == {"train,gate_passed"}
    assert fleet.cloud.status["phase"] == "ready"
    assert fleet.cloud.status["first_job"]["state"] == "COMPLETED"


def test_training_on_a_node_that_dies_ends_as_if_nothing_had_happened(
    fleet: RecoveryFleet,
) -> None:
    job = submit(fleet, "disturbed", 120, "-N2", "--ntasks-per-node=1")
    calm = submit(fleet, "calm", 120, "-N1", "--ntasks-per-node=2")
    wait_until(
        lambda: len(saved(fleet, "disturbed")) >= 3,
        lambda: (
            f"three checkpoints; {fleet.cluster.job(job, '%T %r')}; it said: "
            f"{fleet.cluster.output('bob', job)}"
        ),
        60,
    )
    victim = fleet.nodes_of(job)[0]
    victim.machine.power_off()
    good = saved(fleet, "disturbed")[-1]
    torn = good.with_name("step-99990")
    shutil.copytree(good, torn)
    (torn / "rank-1").write_text("half")
    fleet.until(lambda: result(fleet, "disturbed"), "the training's end", 120)
    said = fleet.cluster.output("bob", job)
    assert "passed over why=rank-1 has 4 of 4096 bytes checkpoint=step-99990" in said
    assert f"rank 1 goes on from {good.name}" in said
    wait_until(lambda: result(fleet, "calm"), "the calm training", 60)
    assert result(fleet, "disturbed") == result(fleet, "calm")
    fleet.cluster.wait_state(calm, "COMPLETED")
    assert victim.name not in {each.name for each in fleet.cloud.alive()}
    # Without a diary nobody knows of its checkpoints, so that all of the first attempt is lost.
    jobs = wait_until(lambda: told(fleet, job), "the accounting of both attempts")
    assert jobs[job].computing > 0 and jobs[job].lost > 0
    assert jobs[calm].lost == 0


def test_at_the_real_end_of_a_block_training_saves_leaves_and_goes_on_in_the_next(
    fleet: RecoveryFleet,
) -> None:
    # Slurm sends a signal up to a minute early; what counts is that it is before the end.
    job = submit(fleet, "block", 4000, "-N1", "--ntasks-per-node=2", "--signal=B:USR1@90")
    fleet.cluster.wait_state(job, "RUNNING")
    wait_until(lambda: saved(fleet, "block"), "a checkpoint")
    ends = datetime.now(UTC) + timedelta(minutes=2)
    # Jobs have ten minutes from when the block is left: all but two have passed.
    end = ends - timedelta(minutes=10) + timedelta(minutes=40)
    fleet.cloud.publish(3, end=end.isoformat(), drain_minutes=40)
    fleet.until(lambda: "saved step" in fleet.cluster.output("bob", job), "the save", 100)
    assert datetime.now(UTC) < ends
    fleet.until(lambda: fleet.job(job) == "PENDING", "the requeue")
    fleet.until(lambda: fleet.cloud.desired == 0, "the end of the nodes")
    said = fleet.cluster.output("bob", job)
    assert said.count("was asked to save") == 2
    last = saved(fleet, "block")[-1]
    assert f"saved step {int(last.name[-5:])} and ends" in said
    # The next block: its nodes are new, so they are checked, and the gate runs again.
    fleet.cloud.publish(3)
    fleet.cloud.desired = 3
    start_now(fleet, job)
    # Either rank may be the first whose words srun writes.
    for rank in range(2):
        words = f"rank {rank} goes on from {last.name}"
        fleet.until(partial(said_by, fleet, job, words), "the next block", 120)
    fleet.head.run("scancel", job)
    fleet.cluster.wait_state(job, "CANCELLED")


def test_a_failed_node_is_rebooted_and_replaced_when_it_fails_again(fleet: RecoveryFleet) -> None:
    victim = fleet.cloud.alive()[0]
    fault = "health: gpu_count [reboot] 7 of 8 GPUs"
    drain = ("scontrol", "update", f"nodename={victim.name}", "state=drain", f"reason={fault}")
    fleet.head.run(*drain)
    fleet.checking = False
    rebooted = victim.machine.files / "run" / "rebooted"
    fleet.until(rebooted.exists, "the reboot")
    boot_again(fleet, victim)
    fleet.checking = True
    fleet.until(lambda: fleet.state(victim.name) == "idle", "its return")
    assert fleet.told == []
    fleet.restart_recovery()
    fleet.head.run(*drain)
    fleet.until(lambda: ("terminate", victim.instance.id) in fleet.cloud.events, "its replacement")
    subject, text = fleet.told[0]
    assert subject == f"{victim.name} is replaced"
    assert "it failed again after a reboot: gpu_count [reboot] 7 of 8 GPUs" in text
    report = next((fleet.lab.work / "etc" / "records" / "reports").glob(f"{victim.name}-*"))
    assert f"instance: {victim.instance.id}" in report.read_text()
    fleet.until(lambda: fleet.idle() == 3, "three idle nodes")


def said_by(fleet: RecoveryFleet, job: str, words: str) -> bool:
    return words in fleet.cluster.output("bob", job)


def boot_again(fleet: RecoveryFleet, booted: Booted) -> None:
    """Start the node's slurmd as after a reboot; the machine itself goes on."""
    booted.machine.run("pkill", "-x", "slurmd")
    booted.machine.try_run("rm", "-f", "/run/trainshed/gate-checked")
    conf = keeper_fleet.NODE_CONF
    booted.machine.start(
        "slurmd", "-b", "-Z", "-N", booted.name, "--conf-server", "head", "--conf", conf
    )
