from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper import document
from assets.node.keeper.act import Actor, Journal
from assets.node.keeper.apply import Apply
from assets.node.keeper.aws import AwsError
from assets.node.keeper.decide import EndJobs, Fence, Remove
from assets.node.keeper.first_job import FirstJob
from assets.node.keeper.loop import Keeper
from assets.node.keeper.probe import Probe
from assets.node.keeper.rounds import rounds
from assets.node.keeper.slurm import Slurm, SlurmError
from assets.node.keeper.view import Group, Instance, Replacement
from tests.assets.keeper.fleet import NOW, Fleet, id_of, name_of

KEEPER = Path(__file__).parents[3] / "assets" / "node" / "keeper"
TEXT = json.dumps(
    {
        "schema": 1,
        "cluster": "kait",
        "queues": {"train": {"asg": "kait-train", "version": "2", "nodes": 4, "gpus": 8}},
    }
)


class Cloud:
    """AWS as a dictionary; ``down`` names calls that fail."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.values: dict[str, tuple[str, datetime]] = {"fleet": (TEXT, NOW)}
        self.down: set[str] = set()
        self.did: list[tuple[Any, ...]] = []
        self.statuses: list[dict[str, Any]] = []
        self.records: dict[str, dict[str, Any]] = {}
        self.ends: dict[str, datetime] = {}
        self.warned: dict[str, datetime] = {}

    def _do(self, name: str, *what: Any) -> None:
        if name in self.down:
            raise AwsError(f"{name} was throttled")
        if what:
            self.did.append((name, *what))

    def parameters(self) -> dict[str, tuple[str, datetime]]:
        self._do("parameters")
        return self.values

    def put_status(self, text: str) -> None:
        self._do("put_status")
        self.statuses.append(json.loads(text))

    def failures(self) -> dict[str, dict[str, Any]]:
        self._do("failures")
        return self.records

    def forget_failures(self, instances: Sequence[str]) -> None:
        self._do("forget_failures", *instances)

    def groups(self, names: Sequence[str]) -> dict[str, Group]:
        self._do("groups")
        return dict(self.fleet.view.groups or {})

    def instances(self) -> dict[str, Instance] | None:
        self._do("instances")
        return dict(self.fleet.instances)

    def block_ends(self, reservations: Iterable[str]) -> dict[str, datetime]:
        self._do("block_ends")
        return {id: self.ends[id] for id in reservations if id in self.ends}

    def block_warnings(self, reservations: Iterable[str]) -> dict[str, datetime]:
        self._do("block_warnings")
        return {id: self.warned[id] for id in reservations if id in self.warned}

    def ended(self, instance: str) -> bool:
        self._do("ended", instance)
        return True

    def failed_launch(self, group: str, now: datetime) -> str:
        self._do("failed_launch", group)
        return "InsufficientInstanceCapacity"

    def fence(self, instance: str) -> None:
        self._do("fence", instance)
        self.fleet.state("shutting-down", int(instance[-1]))

    def terminate(self, instance: str, decrement: bool) -> None:
        self._do("terminate", instance, decrement)

    def set_desired(self, group: str, capacity: int) -> None:
        self._do("set_desired", group, capacity)


class Programs:
    """Slurm's programs over a fleet; its jobs are lines of squeue's columns."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.jobs: list[tuple[str, str]] = []
        self.ran: list[str] = []
        self.eligible = "N/A"
        self.down = False

    def __call__(self, command: Sequence[str], text: str) -> str:
        if self.down:
            raise SlurmError("connect failure")
        if command[:3] == ("scontrol", "--oneliner", "show"):
            if command[3] == "job":
                return "JobState=COMPLETED Reason=None"
            return "".join(
                f"NodeName={node.name} NodeAddr={node.address} State={'+'.join(sorted(node.flags))}"
                f" Reason={node.reason} [root@now]\n"
                for node in self.fleet.slurm.values()
            )
        if command[0] == "squeue":
            return "".join(
                f"{id:<24}{state:<16}{self.eligible:<24}{'N/A':<24}{'1-0':<24}{'(null)':<64}\n"
                for id, state in self.jobs
            )
        self.ran.append(" ".join(command))
        return "7\n" if command[0] == "sbatch" else ""


class Live(Apply):
    """Says that a document is live."""

    live = document.generation(TEXT)


class World:
    """A keeper with all that it sees."""

    def __init__(self, fleet: Fleet, path: Path) -> None:
        self.fleet = fleet
        self.cloud, self.programs = Cloud(fleet), Programs(fleet)
        self.silent: set[str] = set()
        self.path, self.seconds = path, 0.0
        self.apply: Apply = Live()
        self.restart()

    def restart(self) -> None:
        self.keeper = Keeper(
            self.cloud,
            Slurm(self.programs),
            self.apply,
            Probe(lambda node: node.name not in self.silent),
            Journal(self.path / "replacements.jsonl"),
            clock=lambda: self.seconds,
            now=lambda: NOW + timedelta(seconds=self.seconds),
            slurmdbd=("127.0.0.1", 9),
            send=lambda cluster, found: None,
            freed=self.path / "freed",
            head="i-0ead",
        )

    def rounds(self, count: int = 1) -> dict[str, Any]:
        for _ in range(count):
            self.seconds += 10
            self.keeper.round()
        return self.cloud.statuses[-1] if self.cloud.statuses else {}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(Fleet(), tmp_path)


def test_the_first_job_runs_once_and_is_remembered_by_the_status(world: World) -> None:
    # A round's status is written before its slowest part, so the fleet is ready a round later.
    assert world.rounds(3)["phase"] == "ready"
    assert [command for command in world.programs.ran if "sbatch" in command] != []
    submitted = len(world.programs.ran)
    world.cloud.values["status"] = (json.dumps(world.cloud.statuses[-1]), NOW)
    world.restart()
    assert world.rounds(3)["first_job"]["state"] == "COMPLETED"
    assert len(world.programs.ran) == submitted


def test_a_status_is_told_when_it_changes_and_each_minute(world: World) -> None:
    world.rounds(3)
    told = len(world.cloud.statuses)
    world.rounds(4)
    assert len(world.cloud.statuses) == told
    world.rounds(3)
    assert len(world.cloud.statuses) == told + 1


def test_every_status_says_which_head_node_wrote_it(world: World) -> None:
    world.rounds(2)
    world.programs.down = True
    world.rounds(2)
    assert len(world.cloud.statuses) > 1
    assert {status["head"] for status in world.cloud.statuses} == {"i-0ead"}


def test_silence_counts_from_round_to_round_and_not_by_the_clock(world: World) -> None:
    world.rounds(3)
    world.silent = {name_of(1)}
    world.rounds()
    world.seconds += 3600  # the head node was stopped meanwhile
    world.rounds()
    assert world.cloud.did == []
    world.rounds(11)
    assert ("fence", id_of(1)) in world.cloud.did


@pytest.mark.parametrize("part", ["groups", "instances"])
def test_without_an_answer_of_aws_a_lost_node_is_only_told(world: World, part: str) -> None:
    world.rounds(3)
    world.cloud.down = {part}
    world.silent = {name_of(1)}
    assert world.rounds(20)["phase"] == "waiting"
    assert world.cloud.did == []
    world.cloud.down = set()
    world.rounds()
    assert world.cloud.did == [("fence", id_of(1))]


def test_without_slurm_nothing_is_done(world: World) -> None:
    world.rounds(3)
    world.programs.down = True
    world.fleet.state("terminated", 1)
    assert world.rounds(20)["reason"] == "nodes cannot be read: connect failure"
    assert world.cloud.did == []


def test_without_parameters_the_last_document_holds_and_takes_nobody_away(world: World) -> None:
    world.rounds(3)
    world.cloud.down = {"parameters", "put_status"}
    world.fleet.desired = 6
    world.silent = {name_of(1)}
    world.rounds(14)
    assert [call for call in world.cloud.did if call[0] != "failed_launch"] == [("fence", id_of(1))]


def test_a_keeper_that_never_saw_a_document_waits(world: World) -> None:
    world.cloud.values.clear()
    assert world.rounds(2) == {}
    world.cloud.values["fleet"] = ("{}", NOW)
    assert world.rounds(2) == {}


def test_the_hours_replacements_outlive_a_restart(world: World) -> None:
    world.rounds(3)
    for number in range(1, 6):
        world.restart()
        world.silent = {name_of(number)}
        world.rounds(14)
        world.fleet.launch(number + 3).node(number + 3)
    assert world.cloud.did == [("fence", id_of(number)) for number in range(1, 5)]
    assert "4 nodes were replaced within an hour" in world.rounds()["reason"]


def test_a_fence_that_was_noted_and_not_made_is_made_later_and_counts_once(world: World) -> None:
    world.rounds(3)
    world.silent, world.cloud.down = {name_of(1)}, {"fence"}
    for _ in range(6):
        world.rounds(14)
        world.restart()
    world.cloud.down = set()
    world.rounds(14)
    assert world.cloud.did == [("fence", id_of(1))]
    assert "1 nodes were" not in world.rounds()["reason"]


def test_jobs_of_a_lost_node_are_looked_after_by_the_next_process(world: World) -> None:
    world.rounds(3)
    world.fleet.busy(1).state("terminated", 1)
    world.programs.jobs = [("7", "COMPLETING")]
    world.rounds()
    world.fleet.node(1, "DOWN")
    world.restart()
    world.programs.ran.clear()
    world.rounds()
    assert world.programs.ran == [], "22.05 does not survive that the node is deleted now"
    world.restart()
    world.programs.jobs = [("7", "PENDING")]
    later = NOW + timedelta(seconds=world.seconds + 120)
    world.programs.eligible = later.astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    world.rounds()
    assert "scontrol update jobid=7 starttime=now+3" in world.programs.ran


def test_a_state_volume_that_takes_nothing_keeps_no_job_waiting(world: World) -> None:
    (world.path / "freed.new").mkdir()
    world.rounds(3)
    world.fleet.busy(1).state("terminated", 1)
    world.programs.jobs = [("7", "RUNNING")]
    world.rounds()
    assert any(f"nodename={name_of(1)} state=down" in ran for ran in world.programs.ran)


def test_a_round_that_is_not_finished_is_told_and_the_next_one_counts_on() -> None:
    told: list[str] = []
    counted: list[int] = []

    def once_wrong() -> None:
        counted.append(1)
        raise RuntimeError("can't start new thread")

    assert rounds(once_wrong, lambda told_, **more: told.append(more["reason"]), once=True) == 1
    assert counted and "can't start new thread" in told[0]


def test_a_node_that_ec2_has_forgotten_is_asked_for_by_its_id(world: World) -> None:
    del world.fleet.instances[id_of(1)]
    world.silent = {name_of(1)}
    world.rounds(4)
    drain = f"scontrol update nodename={name_of(1)} state=drain reason=trainshed: silent"
    assert drain in world.programs.ran, "no job is sent to it meanwhile"
    world.rounds(56)
    assert world.cloud.did == []
    world.rounds(3)
    assert ("ended", id_of(1)) in world.cloud.did
    assert any(f"nodename={name_of(1)} state=down" in ran for ran in world.programs.ran)


def test_the_record_of_a_terminated_instance_is_deleted(world: World) -> None:
    world.cloud.records = {id_of(1): {}, id_of(2): {}, "i-other": {}}
    world.fleet.state("terminated", 1)
    world.rounds()
    assert world.cloud.did == [("forget_failures", id_of(1))]


def test_why_instances_are_missing_is_asked_now_and_then(tmp_path: Path) -> None:
    fleet = Fleet(4, have=3)
    fleet.desired = 4
    world = World(fleet, tmp_path)
    assert "InsufficientInstanceCapacity" in world.rounds(6)["reason"]
    assert world.cloud.did == [("failed_launch", "kait-train")] * 2


def test_the_command_of_a_deletion_gives_jobs_time_from_its_age(world: World) -> None:
    world.fleet.busy(1)
    world.cloud.values["command"] = ('{"drain": true, "grace_seconds": 600}', NOW)
    status = world.rounds()
    assert (status["phase"], status["reason"]) == (
        "waiting",
        "jobs on 1 nodes have until 2026-11-29T12:10:00+00:00",
    )
    world.cloud.values["command"] = ("nonsense", NOW)
    assert world.rounds()["step"] != "drain"


def test_nothing_is_told_of_a_fleet_that_is_deleted(world: World) -> None:
    """The provider deletes status and command, and this head node only then."""
    world.rounds(3)
    values = world.cloud.values
    values |= {"status": ("{}", NOW), "command": ('{"drain": true, "grace_seconds": 600}', NOW)}
    assert world.rounds()["phase"] == "drained"
    told = len(world.cloud.statuses)
    world.fleet.state("terminated", 1)
    world.rounds(8)
    del values["status"], values["command"]
    world.rounds(8)
    assert len(world.cloud.statuses) == told


def test_a_deletion_that_is_taken_back_is_told(world: World) -> None:
    values = world.cloud.values
    values |= {"status": ("{}", NOW), "command": ('{"drain": true, "grace_seconds": 600}', NOW)}
    assert world.rounds()["phase"] == "drained"
    del values["command"]
    assert world.rounds(3)["phase"] == "ready"


class Asked(Apply):
    """Notes which documents it is asked to apply."""

    live = ""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[str] = []

    def step(self, wanted: str, now: datetime) -> bool:
        self.wanted.append(wanted)
        return False


WITHOUT = json.dumps({"schema": 1, "cluster": "kait", "queues": {}})


@pytest.mark.parametrize(
    ("change", "phase"),
    [
        (lambda world: world.fleet.busy(1, 2), "failed"),
        (lambda world: world.cloud.down.add("instances"), "applying"),
        (lambda world: setattr(world.programs, "down", True), "applying"),
    ],
    ids=["busy", "instances unseen", "nodes unseen"],
)
def test_a_document_without_a_queue_whose_nodes_may_have_jobs_is_not_applied(
    world: World, change: Callable[[World], object], phase: str
) -> None:
    world.apply = asked = Asked()
    world.restart()
    world.cloud.values["fleet"] = (WITHOUT, NOW)
    change(world)
    status = world.rounds(2)
    assert status["phase"] == phase
    assert asked.wanted == []
    if phase == "failed":
        assert (status["step"], status["reason"], status["remedy"]) == (
            "queues",
            "queue train is removed while 2 of its nodes have jobs",
            "an update ends no job: drain those nodes, wait until they have no jobs, deploy again",
        )
        assert [ran for ran in world.programs.ran if "state=down" in ran] == []


def test_a_document_without_a_queue_that_has_no_jobs_is_applied(world: World) -> None:
    world.apply = asked = Asked()
    world.restart()
    world.cloud.values["fleet"] = (WITHOUT, NOW)
    world.rounds()
    assert asked.wanted == [document.generation(WITHOUT)]
    drained = [ran for ran in world.programs.ran if "state=drain reason=trainshed: queue" in ran]
    assert len(drained) == 4


@pytest.mark.parametrize(
    ("seconds", "spared"), [(120, True), (4, True), (3, False), (-1, False)], ids=str
)
def test_a_requeued_job_is_spared_its_two_minutes_once(
    world: World, seconds: int, spared: bool
) -> None:
    world.programs.jobs = [("7", "COMPLETING")]
    slurm = Slurm(world.programs)
    actor = Actor(slurm, world.cloud, Journal(world.path / "r"), lambda told, **more: None)
    actor.act(world.fleet.view, [Remove(name_of(1), id_of(1))])
    world.programs.ran.clear()
    eligible = (NOW + timedelta(seconds=seconds)).astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    world.programs.jobs = [("7", "PENDING")]
    world.programs.eligible = eligible
    actor.act(world.fleet.view, [])
    assert world.programs.ran == ["scontrol update jobid=7 starttime=now+3"] * spared


def acted(world: World, *actions: Any, **changes: Any) -> list[str]:
    slurm = Slurm(world.programs)
    actor = Actor(slurm, world.cloud, Journal(world.path / "r"), lambda told, **more: None)
    world.programs.ran.clear()
    actor.act(replace(world.fleet.view, **changes), actions)
    return world.programs.ran


def test_a_node_is_forgotten_only_once_its_jobs_have_ended_everywhere(world: World) -> None:
    remove, name = Remove(name_of(1), id_of(1)), name_of(1)
    world.programs.jobs = [("7", "RUNNING")]
    assert acted(world, remove) == [
        f"scontrol update nodename={name} state=down reason=trainshed: instance {id_of(1)} is gone"
    ]
    world.fleet.node(1, "DOWN")
    world.programs.jobs = [("7", "COMPLETING")]
    assert acted(world, remove) == []
    world.programs.jobs = []
    assert acted(world, remove) == [f"scontrol delete nodename={name}"]


def test_jobs_end_after_their_warning_and_are_requeued_or_cancelled(world: World) -> None:
    world.programs.jobs = [("7", "RUNNING"), ("8", "PENDING")]
    end = EndJobs((name_of(1),), NOW + timedelta(minutes=10), requeue=True)
    assert [ran.split()[:3] for ran in acted(world, end)] == [["scontrol", "update", "jobid=7"]]
    late = NOW + timedelta(minutes=9)
    assert acted(world, end, now=late) == ["scontrol requeue 7"]
    cancel = replace(end, requeue=False)
    assert acted(world, cancel, now=NOW + timedelta(minutes=10)) == ["scancel 7"]


def test_an_action_that_fails_keeps_no_other_from_being_done(world: World) -> None:
    world.cloud.down = {"fence"}
    world.programs.jobs = []
    world.fleet.node(2, "DOWN")
    ran = acted(world, Fence(id_of(1), "train", "x"), Remove(name_of(2), id_of(2)))
    assert ran == [f"scontrol delete nodename={name_of(2)}"]


@pytest.mark.parametrize("how", ["end", "event"])
def test_a_block_is_left_when_aws_says_that_it_ends_sooner(
    world: World, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    end = (NOW + timedelta(days=7)).isoformat()
    values = json.loads(TEXT)
    values["queues"]["train"] |= {"reservation_id": "cr-1", "end": end, "drain_minutes": 40}
    world.cloud.values["fleet"] = (json.dumps(values), NOW)
    monkeypatch.setattr(Live, "live", document.generation(json.dumps(values)))
    world.rounds(3)
    assert not [ran for ran in world.programs.ran if "state=drain" in ran]
    if how == "end":
        world.cloud.ends = {"cr-1": NOW + timedelta(minutes=40)}
    else:
        world.cloud.warned = {"cr-1": NOW}
    world.cloud.down = {"block_ends", "block_warnings"}
    world.rounds(6)
    assert not [ran for ran in world.programs.ran if "state=drain" in ran]
    world.cloud.down = set()
    world.rounds(6)
    # What was known once holds while AWS gives no answer.
    world.cloud.down = {"block_ends", "block_warnings"}
    world.programs.ran.clear()
    world.rounds(12)
    assert [ran for ran in world.programs.ran if "state=drain reason=trainshed: block ends" in ran]


def test_a_journal_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "keeper" / "r.jsonl")
    journal.write(Replacement(NOW - timedelta(hours=2), "train", "old"))
    journal.write(Replacement(NOW, "train", "x"))
    with (tmp_path / "keeper" / "r.jsonl").open("a") as file:
        file.write('{"at": "2026')
    assert journal.read(NOW) == (Replacement(NOW, "train", "x"),)


@pytest.mark.parametrize(
    ("told", "done", "failed"),
    [
        (None, False, False),
        ({"ids": [1], "state": "PENDING Resources"}, False, False),
        ({"ids": [1], "state": "COMPLETED"}, True, False),
        ({"ids": [1], "state": "TIMEOUT"}, False, True),
    ],
)
def test_how_the_first_job_stands(told: Any, done: bool, failed: bool) -> None:
    job = FirstJob(Slurm(), told)
    assert (job.done, job.failed) == (done, failed)


def test_it_starts_as_the_unit_starts_it_and_says_what_it_cannot_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(KEEPER), "--once"],
        env={
            "TRAINSHED_CLUSTER": "kait",
            "TRAINSHED_REGION": "us-east-2",
            "TRAINSHED_STATE_DIR": str(tmp_path),
            "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    said = [json.loads(line)["keeper"] for line in done.stdout.splitlines()]
    assert said == ["cannot read", "no document"]


@pytest.mark.parametrize("path", sorted(KEEPER.glob("*.py")), ids=lambda path: path.stem)
def test_python_3_10_can_read_it(path: Path) -> None:
    ast.parse(path.read_text(), feature_version=(3, 10))
