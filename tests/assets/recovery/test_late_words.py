"""A gate whose words can be read only long after its job: one verdict, of then, and of nobody else.

A folder in the place of a file is what gives an I/O error.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper.cluster import Cluster
from assets.node.keeper.document import Document, Gate, Queue
from assets.node.keeper.recovery.again import ask
from assets.node.keeper.recovery.gate import FAILED, OPENED, PASSED, Record
from assets.node.keeper.recovery.queues import REMEDY, Queues
from assets.node.keeper.recovery.slurm import Slurm
from assets.node.keeper.recovery.store import Store
from assets.node.keeper.recovery.words import RESET
from assets.node.keeper.slurm import SlurmError
from assets.node.keeper.view import Node
from tests.assets.recovery.test_cluster_gate import FORGOTTEN, GATED, NOW, ONE, World

COMPLETED = "JobState=COMPLETED Reason=None ExitCode=0:0"
LOST = "JobState=FAILED Reason=None ExitCode=1:0"
UNMEASURED = "200 GB/s at 16 GiB is not judged: nobody has measured 2 x 8 GPUs of p6-b200.48xlarge"


def said(verdict: str, evidence: str) -> str:
    return json.dumps({"check": "nccl_gate", "verdict": verdict, "evidence": evidence})


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A closed queue, whose gate runs and writes where nobody can read."""
    world = World(tmp_path)
    world.reservations = [GATED]
    world.look()
    words(world).mkdir()
    return world


def words(world: World) -> Path:
    return world.store.gate_folder / "nccl-gate-7.json"


def ends(world: World, code: str = COMPLETED) -> list[str]:
    """Let the job end; Slurm forgets it."""
    world.exit_code = code
    changed = world.look()
    world.exit_code = FORGOTTEN
    return changed


def come(world: World, text: str) -> list[str]:
    """Let the words be read."""
    words(world).rmdir()
    words(world).write_text(text)
    return world.look()


def record(world: World) -> Record:
    return record_of(world.store)


def record_of(store: Store) -> Record:
    found = store.record("train")
    assert found is not None
    return found


def test_a_job_that_slurm_has_forgotten_ended_as_it_was_seen_to_end(world: World) -> None:
    assert ends(world) == []
    assert world.look() == [] and world.store.record("train") is None
    come(world, said("warn", UNMEASURED))
    assert record(world).verdict == PASSED, record(world).text
    assert not world.store.running("train").exists()


def test_a_job_that_slurm_has_forgotten_before_anybody_looked_has_not_passed(world: World) -> None:
    ends(world, FORGOTTEN)
    come(world, said("warn", UNMEASURED))
    assert record(world).verdict == FAILED


def test_a_gate_is_announced_once(world: World) -> None:
    ends(world)
    come(world, said("ok", "369 GB/s"))
    world.look()
    assert world.told == ["Queue train: the all-reduce over 2 nodes passed"]


def test_a_late_failure_keeps_nobody_out_of_what_a_person_has_opened(world: World) -> None:
    ends(world, LOST)
    ask(world.store, ["train"], ["train"], NOW)
    come(world, said("fail", "212 GB/s"))
    found = record(world)
    assert found.verdict == OPENED
    assert found.text == "opened by hand; before: no gate; then the gate: 212 GB/s"
    assert world.told == ["Queue train: the all-reduce over 2 nodes failed"]


def test_a_late_pass_is_the_verdict_of_what_a_person_has_opened(world: World) -> None:
    ends(world)
    ask(world.store, ["train"], ["train"], NOW)
    come(world, said("ok", "369 GB/s"))
    assert (record(world).verdict, record(world).text) == (PASSED, "369 GB/s")


@pytest.mark.parametrize(
    ("verdict", "by_hand", "told"),
    [
        ("ok", False, "369 GB/s."),
        ("fail", False, f"369 GB/s. Users are kept out. {REMEDY}"),
        ("fail", True, "opened by hand; before: no gate; then the gate: 369 GB/s."),
    ],
    ids=["passed", "failed", "failed and open"],
)
def test_people_are_told_that_users_are_kept_out_where_they_are(
    world: World, verdict: str, by_hand: bool, told: str
) -> None:
    texts: list[str] = []
    world.cluster = Cluster(world.store, world, lambda _, text: texts.append(text), now=lambda: NOW)
    ends(world)
    ask(world.store, ["train"] * by_hand, ["train"], NOW)
    come(world, said(verdict, "369 GB/s"))
    assert texts == [told]


def test_a_gate_that_is_asked_for_after_that_has_the_last_word(tmp_path: Path) -> None:
    world = World(tmp_path)
    ask(world.store, ["train"], ["train"], NOW)
    ask(world.store, ["train"], [], NOW)
    world.look()
    words(world).mkdir()
    ends(world, LOST)
    come(world, said("fail", "212 GB/s"))
    assert record(world).verdict == FAILED


def test_a_gate_that_cannot_be_noted_is_not_submitted(world: World) -> None:
    world.store.running("train").unlink()
    (world.store.running("train").parent / "running-train.json.new").mkdir()
    assert world.look() == []


def test_a_job_that_slurm_refuses_is_not_noted(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.reservations = [GATED]
    told = world.cluster._run

    def refuse(command: Sequence[str], text: str) -> str:
        if command[0] == "sbatch":
            raise SlurmError("Invalid reservation")
        return told(command, text)

    world.cluster._run = refuse
    world.look()
    assert not world.store.running("train").exists()


def test_a_job_of_which_slurm_says_nothing_puts_off_the_verdict_and_no_mending(
    world: World,
) -> None:
    world.reservations += [f"ReservationName=trainshed-mend-{ONE} Nodes={ONE} Users=root"]
    world.comments = {ONE: "trainshed: failed nvme [isolate] 7 of 8 disks"}
    did = ends(world, "slurm_load_jobs error: Socket timed out on send/recv operation")
    assert [ran for ran in did if f"nodename={ONE} state=drain" in ran]
    assert world.store.record("train") is None
    world.exit_code = COMPLETED
    come(world, said("ok", "369 GB/s"))
    assert record(world).verdict == PASSED


def test_a_state_folder_that_takes_nothing_puts_off_the_verdict_and_no_mending(
    world: World,
) -> None:
    (world.store.running("train").parent / "running-train.json.new").mkdir()
    world.reservations += [f"ReservationName=trainshed-mend-{ONE} Nodes={ONE} Users=root"]
    world.comments = {ONE: "trainshed: failed nvme [isolate] 7 of 8 disks"}
    assert [ran for ran in ends(world) if f"nodename={ONE} state=drain" in ran]
    assert world.store.record("train") is None


@pytest.mark.parametrize(
    "torn",
    [
        "",
        "{",
        "[]",
        '{"job": "7"}',
        '{"job": "7", "nodes": ["n"]}',
        '{"job": "7", "folder": "/fsx/gate"}',
        '{"job": "7", "nodes": [], "folder": "/fsx/gate"}',
        '{"job": "7", "nodes": ["n"], "folder": ""}',
        '{"nodes": ["n"], "folder": "/fsx/gate"}',
    ],
)
def test_a_torn_note_keeps_no_gate_from_running(world: World, torn: str) -> None:
    world.store.running("train").write_text(torn)
    world.exit_code = COMPLETED
    assert [ran.split()[0] for ran in world.look()] == ["sbatch"]


class Bare:
    """Slurm's programs over the nodes of a bare fleet."""

    def __init__(self) -> None:
        self.commented: list[str] = []

    def __call__(self, command: Sequence[str], text: str) -> str:
        if "show job" in " ".join(command):
            return COMPLETED
        if command[1:2] == ("update",) and command[-1].startswith("comment="):
            self.commented.append(command[2])
        return ""


def test_a_late_gate_releases_no_node_that_waits_for_its_reset(tmp_path: Path) -> None:
    """Its comment, that it waits, is by what it resets; "passed" there would let users in."""
    slurm, store = Bare(), Store(tmp_path / "state", tmp_path / "shared")
    well, bad = "train-0123456789abcdef0", "train-0123456789abcdef1"
    store.prepare_gate({"nccl-gate-7.json": said("ok", "369 GB/s")})
    noted: dict[str, Any] = {"job": "7", "nodes": [well, bad], "folder": str(store.gate_folder)}
    store.note("train", noted)
    nodes = {
        well: Node(well, well, frozenset({"IDLE"}), ""),
        bad: Node(bad, bad, frozenset({"IDLE", "DRAIN"}), f"{RESET}xid [reset] Xid 95"),
    }
    queues = Queues(Slurm(slurm), store, lambda *_: None, lambda *_, **__: None)
    fleet = {"train": Queue(name="train", group="", version="", nodes=2, gpus=8)}
    queues.round(Document("kait", "", fleet, timedelta(), Gate()), nodes, NOW)
    assert record_of(store).verdict == PASSED
    assert slurm.commented == [f"nodename={well}"]
