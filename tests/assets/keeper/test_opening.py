"""What the status says while users are kept out of a fleet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper.document import Gate
from assets.node.keeper.first_job import FirstJob
from assets.node.keeper.opening import shut
from assets.node.keeper.recovery.gate import FAILED, OPENED, PASSED, Record
from assets.node.keeper.recovery.store import Store
from assets.node.keeper.recovery.words import HELD, REBOOT
from assets.node.keeper.slurm import Slurm
from assets.node.keeper.status import Known, build
from assets.node.keeper.view import View
from tests.assets.keeper.fleet import NOW, Fleet, name_of

TWO = (name_of(0), name_of(1))
BAD = "health: nvlink [reboot] GPU 4: link 7 of 18 down"
SLOW = "212.5 GB/s at 16 GiB, least 258.9"


def gated(fleet: Fleet) -> View:
    view = fleet.view
    return replace(view, document=replace(view.document, gate=Gate()))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, None)


def words(view: View, store: Store) -> tuple[str, ...]:
    done = {"id": 1, "ids": [1], "state": "COMPLETED"}
    known = Known(True, None, FirstJob(Slurm(), done), shut=shut(view, store))
    made: dict[str, Any] = build(view, known)
    return tuple(made[key] for key in ("phase", "step", "reason", "remedy"))


def keep(store: Store, verdict: str, text: str = "369 GB/s", names: tuple[str, ...] = TWO) -> None:
    store.keep("train", Record(NOW, verdict, names, text, "7"))


def test_without_a_gate_nothing_is_shut(store: Store) -> None:
    assert words(Fleet(2).drained("", 0).view, store)[0] == "ready"


def test_a_held_node_is_named_and_what_it_waits_for(store: Store) -> None:
    assert words(gated(Fleet(2).drained(HELD, 0)), store) == (
        "gate",
        "gate",
        f"queue train: 1 of 2 nodes are held; {TWO[0]}: its checks have not ended",
        "",
    )


def test_a_node_that_fails_its_checks_is_named_with_check_and_evidence(store: Store) -> None:
    view = gated(Fleet(2).drained(REBOOT + BAD.removeprefix("health: "), 1).drained("", 0))
    assert words(view, store)[2] == (
        f"queue train: 2 of 2 nodes are held; {TWO[1]}: health: rebooting: nvlink [reboot] GPU 4: "
        "link 7 of 18 down"
    )


def test_a_fault_of_many_nodes_needs_a_person(store: Store) -> None:
    phase, step, reason, remedy = words(gated(Fleet(4).drained(BAD, 0, 1, 2)), store)
    assert (phase, step) == ("gate-failed", "gate")
    assert reason == f"queue train: 3 nodes fail nvlink at once, {TWO[0]}: {BAD}"
    assert remedy == (
        "a common cause, so none is mended for it: mend it, then on the head node: scontrol update "
        f"nodename={TWO[0]},{TWO[1]},{name_of(2)} state=resume"
    )


def test_an_all_reduce_that_failed_is_told_with_nodes_and_remedy(store: Store) -> None:
    keep(store, FAILED, SLOW)
    assert words(gated(Fleet(2)), store) == (
        "gate-failed",
        "gate",
        f"queue train: nccl_gate over {TWO[0]}, {TWO[1]}: {SLOW}",
        "Mend it, then on the head node: sudo trainshed-gate; to let users in all the same: "
        "sudo trainshed-gate --open train",
    )


@pytest.mark.parametrize("file", ["running", "asked"])
def test_one_that_runs_again_has_not_failed(store: Store, file: str) -> None:
    keep(store, FAILED, SLOW)
    getattr(store, file)("train").touch()
    assert words(gated(Fleet(2)), store)[0] == "gate"


def test_one_that_failed_with_a_node_that_is_gone_is_made_again(store: Store) -> None:
    keep(store, FAILED, SLOW, (TWO[0], "train-0123456789abcdef0"))
    assert words(gated(Fleet(2)), store) == (
        "gate",
        "gate",
        "queue train: the all-reduce over its 2 nodes has not begun",
        "if that stays so: journalctl -u trainshed-recovery",
    )


@pytest.mark.parametrize("verdict", [PASSED, OPENED])
def test_an_open_queue_is_ready(store: Store, verdict: str) -> None:
    keep(store, verdict)
    assert words(gated(Fleet(2)), store)[0] == "ready"
    # A node that is being mended later on is no reason to close it.
    assert words(gated(Fleet(2).drained(BAD, 0)), store)[0] == "ready"


def test_a_node_that_joins_an_open_queue_is_waited_for(store: Store) -> None:
    keep(store, PASSED)
    assert words(gated(Fleet(3).drained("", 2)), store)[:3] == (
        "gate",
        "gate",
        f"queue train: 1 of 3 nodes are held; {name_of(2)}: its checks have not ended",
    )


def test_a_queue_whose_block_has_not_begun_is_waited_for_by_nobody(store: Store) -> None:
    assert shut(gated(Fleet(2, have=0, reserved=True)), store) == []


def test_the_node_is_told_with_what_it_waits_for(store: Store) -> None:
    view = gated(Fleet(2).drained(HELD, 0))
    [node] = build(view, Known(True, None, FirstJob(Slurm(), None)))["nodes"]
    assert (node["step"], node["reason"]) == ("gate", "held until its checks have passed")
    assert node["remedy"] == "journalctl -u trainshed-node-gate on the node, if that stays so"
