"""How a node is taken out of use in Slurm."""

from __future__ import annotations

from typing import Any

import pytest

from assets.node.health.checks.drain import DrainError, drain, reason
from assets.node.health.checks.probe import Said
from assets.node.health.checks.results import Result
from tests.fixtures.health.node import SaidNode

GOOD = Result("ecc", "ok", "monitor", "fine")
HOT = Result("clocks", "warn", "monitor", "slowed by heat")
LOST = Result("gpu_count", "fail", "reboot", '7 of 8 GPUs, "at" 00:53\n00:64')
WORN = Result("nvme", "fail", "isolate", "7 of 8 instance store disks")
SHOWN = "NodeName=train-1 State={state} ThreadsPerCore=2 Reason=none\n"


def slurm(state: str = "IDLE", update: dict[str, Any] | None = None) -> SaidNode:
    """Return a node whose Slurm shows it in a state."""
    answers = {
        "scontrol --oneliner show": {"out": SHOWN.format(state=state)},
        "scontrol update": update or {},
    }
    probe = SaidNode()
    probe._commands.update(
        {
            start: Said(said.get("code", 0), said.get("out", ""), said.get("err", ""))
            for start, said in answers.items()
        }
    )
    return probe


def updates(probe: SaidNode) -> list[str]:
    """Return what Slurm was told to change."""
    return [line for line in probe.ran if " update " in line]


def test_the_reason_has_the_worst_first_and_no_quotes() -> None:
    assert reason([GOOD, LOST, HOT, WORN]) == (
        "health: nvme [isolate] 7 of 8 instance store disks (+gpu_count)"
    )
    assert reason([LOST]) == "health: gpu_count [reboot] 7 of 8 GPUs, at 00:53 00:64"


def test_a_long_reason_is_cut_and_keeps_what_else_failed() -> None:
    long = Result("xid", "fail", "isolate", "x" * 400)
    said = reason([long, LOST])
    assert len(said) <= 180 and said.endswith("x (+gpu_count)")


def test_a_failed_check_drains_the_node_with_the_reason() -> None:
    probe = slurm()
    why = drain(probe, "train-1", [GOOD, LOST])
    assert why == "health: gpu_count [reboot] 7 of 8 GPUs, at 00:53 00:64"
    assert updates(probe) == [f"scontrol update nodename=train-1 state=drain reason={why}"]


@pytest.mark.parametrize("results", [[GOOD], [GOOD, HOT], []], ids=["well", "warned", "nothing"])
def test_a_node_without_a_failed_check_is_left_alone(results: list[Result]) -> None:
    probe = slurm()
    assert drain(probe, "train-1", results) == ""
    assert probe.ran == []


@pytest.mark.parametrize("state", ["IDLE+DRAIN", "MIXED+DRAIN", "DOWN*", "DOWN+POWERED_DOWN"])
def test_a_node_out_of_use_keeps_the_reason_that_it_has(state: str) -> None:
    probe = slurm(state)
    assert drain(probe, "train-1", [LOST]) == ""
    assert updates(probe) == []


@pytest.mark.parametrize(
    ("state", "drained"),
    [("DOWN", True), ("DOWN+CLOUD+NOT_RESPONDING", True), ("DOWN+DRAIN", False)],
)
def test_a_node_that_joins_is_drained_while_it_is_down(state: str, drained: bool) -> None:
    assert bool(drain(slurm(state), "train-1", [LOST], joining=True)) is drained


@pytest.mark.parametrize("state", ["IDLE", "ALLOCATED", "MIXED", "IDLE+CLOUD"])
def test_a_node_in_use_is_drained(state: str) -> None:
    assert drain(slurm(state), "train-1", [LOST])


def test_slurms_refusal_is_told() -> None:
    refused = slurm(update={"code": 1, "err": "slurm_update error: Invalid user id\n"})
    with pytest.raises(DrainError) as error:
        drain(refused, "train-1", [WORN])
    assert str(error.value) == (
        "train-1 is not drained (health: nvme [isolate] 7 of 8 instance store disks): "
        "slurm_update error: Invalid user id"
    )


def test_a_slurm_without_an_answer_is_told() -> None:
    with pytest.raises(DrainError, match="scontrol gave no answer"):
        drain(slurm(update={"code": None}), "train-1", [WORN])
