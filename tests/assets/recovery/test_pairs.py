"""The all-reduce of a replaced node of ParallelCluster with one that has passed the gate."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from assets.node.keeper.recovery.gate import FAILED, PASSED, Record
from assets.node.keeper.slurm import SlurmError
from tests.assets.recovery.test_cluster_gate import FORGOTTEN, NOW, ONE, OTHER, World

RESERVED = f"reservationname=trainshed-pair-train nodes={OTHER},{ONE} users=root flags=MAINT"
COMPLETED = "JobState=COMPLETED Reason=None ExitCode=0:0"
LOST = "JobState=FAILED Reason=None ExitCode=1:0"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """An open queue, of which a node has been replaced."""
    world = World(tmp_path)
    where = ("10.0.0.1", "10.0.0.2")
    world.store.keep("train", Record(NOW, PASSED, (ONE, OTHER), "369 GB/s", "7", where))
    world.features = "static,gate_passed"
    world.addresses[OTHER] = "10.0.0.9"
    return world


def scripts(world: World) -> list[str]:
    return [ran for ran in world.ran if ran.startswith("sbatch")]


def ends(world: World, verdict: str, evidence: str, code: str) -> list[str]:
    """Let the job end, and return what the next round changes."""
    world.look()
    folder = world.store.shared
    assert folder is not None
    said = json.dumps({"check": "nccl_gate", "verdict": verdict, "evidence": evidence})
    (folder / "gate" / "nccl-gate-7.json").write_text(said if verdict else "")
    world.exit_code = code
    return world.look()


def test_a_new_node_has_its_all_reduce_with_one_that_passed_while_both_are_reserved(
    world: World,
) -> None:
    reserve, submit = (ran for ran in world.look() if "update" not in ran)
    assert RESERVED in reserve and reserve.endswith("starttime=now duration=40")
    assert "IGNORE_JOBS" not in reserve
    assert f"--nodelist={OTHER},{ONE} --nodes=2" in submit
    assert "--reservation=trainshed-pair-train" in submit


def test_two_whose_all_reduce_cannot_be_noted_are_not_kept_reserved(world: World) -> None:
    (world.store.running("train").parent / "running-train.json.new").mkdir()
    reserve, release = (ran for ran in world.look() if "update" not in ran)
    assert RESERVED in reserve
    assert release == "scontrol delete reservationname=trainshed-pair-train"


def test_two_whose_all_reduce_slurm_refuses_are_not_kept_reserved(world: World) -> None:
    slurm = world.cluster._run

    def run(command: Sequence[str], text: str) -> str:
        if command[0] == "sbatch":
            raise SlurmError("Invalid reservation")
        return slurm(command, text)

    world.cluster._run = run
    did = [ran for ran in world.look() if "update" not in ran]
    assert did[1:] == ["scontrol delete reservationname=trainshed-pair-train"]


def test_a_submission_that_was_cut_off_keeps_no_pair_from_running(world: World) -> None:
    world.store.note("train", {"nodes": [OTHER, ONE], "folder": "/fsx/gate", "pair": True})
    world.look()
    assert scripts(world)


@pytest.mark.parametrize("node", [ONE, OTHER])
@pytest.mark.parametrize("state", ["MIXED+CLOUD", "DOWN+CLOUD", "IDLE+CLOUD+DRAIN"])
def test_it_waits_until_neither_has_jobs(world: World, node: str, state: str) -> None:
    world.states[node] = state
    world.look()
    assert not scripts(world)


def test_without_a_gate_there_are_no_pairs(world: World) -> None:
    world.look(gate=None)
    assert not scripts(world)


def test_a_node_that_is_held_has_none(world: World) -> None:
    world.reservations = [f"ReservationName=trainshed-mend-{OTHER} Nodes={OTHER} Users=root"]
    world.look()
    assert not scripts(world)


def test_a_queue_whose_gate_did_not_pass_has_no_pairs(world: World) -> None:
    where = ("10.0.0.1", "10.0.0.2")
    world.store.keep("train", Record(NOW, FAILED, (ONE, OTHER), "x", "7", where))
    world.look()
    assert all("trainshed-pair" not in ran for ran in world.ran)


def test_one_that_passes_is_among_those_of_the_gate(world: World) -> None:
    assert "scontrol delete reservationname=trainshed-pair-train" in ends(
        world, "ok", "369 GB/s", COMPLETED
    )
    record = world.store.record("train")
    assert record is not None and record.text == "369 GB/s"
    assert (record.nodes, record.addresses) == ((ONE, OTHER), ("10.0.0.1", "10.0.0.9"))
    assert world.told == []
    world.look()
    assert not scripts(world)


def test_one_that_is_slow_is_held_and_told_and_not_tried_again(world: World) -> None:
    did = ends(world, "fail", "212.5 GB/s at 16 GiB, least=258.9", LOST)
    comment = (
        f"scontrol update nodename={OTHER} comment=trainshed: failed nccl_pair [monitor] "
        f"with {ONE}: 212.5 GB/s at 16 GiB, least 258.9"
    )
    assert comment in did
    held = f"reservationname=trainshed-mend-{OTHER} nodes={OTHER} starttime=now duration=UNLIMITED"
    assert any(held in ran for ran in did)
    assert "scontrol delete reservationname=trainshed-pair-train" in did
    assert world.told == [f"Queue train: the all-reduce of {OTHER} with {ONE} failed"]
    record = world.store.record("train")
    assert record is not None and record.addresses == ("10.0.0.1", "10.0.0.2")
    world.look()
    assert not scripts(world)
    world.addresses[OTHER] = "10.0.0.33"
    world.look()
    assert scripts(world)


@pytest.mark.parametrize("refused", [" comment=", "create reservationname=trainshed-mend-"])
def test_one_that_is_slow_is_held_once_slurm_answers_again(world: World, refused: str) -> None:
    slurm, refusing = world.cluster._run, True

    def run(command: Sequence[str], text: str) -> str:
        said = " ".join(command)
        if refusing and refused in said:
            raise SlurmError("Unable to contact slurm controller")
        return slurm(command, text)

    world.cluster._run = run
    ends(world, "fail", "212.5 GB/s", LOST)
    assert world.told == []
    world.exit_code = FORGOTTEN
    refusing = False
    did = world.look()
    assert any(f"nodename={OTHER} comment=trainshed: failed nccl_pair" in ran for ran in did)
    assert any(f"reservationname=trainshed-mend-{OTHER}" in ran for ran in did)
    assert world.told == [f"Queue train: the all-reduce of {OTHER} with {ONE} failed"]
    assert [event.action for event in world.store.history()] == ["pair"]
    assert not world.store.running("train").exists()


def test_one_that_is_held_already_is_told_all_the_same(world: World) -> None:
    world.look()
    world.reservations = [f"ReservationName=trainshed-mend-{OTHER} Nodes={OTHER} Users=root"]
    did = ends(world, "fail", "212.5 GB/s", LOST)
    assert not [ran for ran in did if "create reservationname=trainshed-mend" in ran]
    assert world.told == [f"Queue train: the all-reduce of {OTHER} with {ONE} failed"]


def test_an_all_reduce_that_could_not_be_made_holds_nobody(world: World) -> None:
    did = ends(world, "", "", LOST)
    assert not [ran for ran in did if "trainshed-mend" in ran or "nccl_pair" in ran]
    assert world.told == [f"Queue train: the all-reduce of {OTHER} with {ONE} failed"]
    world.look()
    assert not scripts(world)


def test_a_node_that_is_replaced_meanwhile_is_not_blamed(world: World) -> None:
    world.look()
    world.addresses[OTHER] = "10.0.0.44"
    did = ends(world, "fail", "212.5 GB/s", LOST)
    assert not [ran for ran in did if "trainshed-mend" in ran]
