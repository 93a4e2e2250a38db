"""When a queue is open, and what brings it there."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper.recovery.again import ask
from assets.node.keeper.recovery.decide import Event
from assets.node.keeper.recovery.gate import (
    FAILED,
    OPENED,
    PASSED,
    Adopt,
    Open,
    QueueState,
    Record,
    Reserve,
    Run,
    Step,
    feature,
    is_open,
    judge,
    steps,
)
from assets.node.keeper.recovery.store import Store

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
TWO = ("train-a", "train-b")


def record(verdict: str = PASSED, nodes: tuple[str, ...] = TWO) -> Record:
    return Record(NOW, verdict, nodes, "369 GB/s")


def queue(**given: Any) -> QueueState:
    values: dict[str, Any] = {"wanted": 2, "gpus": 8, "alive": TWO, "ready": TWO}
    values["released"] = given.get("ready", TWO)
    return QueueState("train", **{**values, **given})


TABLE: dict[str, tuple[QueueState, list[Step]]] = {
    "no node yet": (queue(alive=(), ready=()), []),
    "first node": (queue(alive=("train-a",), ready=()), [Reserve("train", ("train-a",))]),
    "second node": (
        queue(ready=("train-a",), reserved=("train-a",)),
        [Reserve("train", TWO)],
    ),
    "not all are checked": (queue(ready=("train-a",), reserved=TWO), []),
    "not all are there": (
        queue(wanted=3, reserved=TWO),
        [],
    ),
    "all are there": (queue(reserved=TWO), [Run("train", TWO, 8)]),
    "one more than wanted is being checked": (
        queue(alive=(*TWO, "train-c"), reserved=(*TWO, "train-c")),
        [],
    ),
    "under way": (queue(reserved=TWO, job="7"), []),
    "failed": (queue(reserved=TWO, record=record(FAILED)), []),
    "failed, with another node since": (
        queue(reserved=TWO, record=record(FAILED, ("train-a", "train-x"))),
        [Run("train", TWO, 8)],
    ),
    "failed, asked again": (
        queue(reserved=TWO, record=record(FAILED), again=True),
        [Run("train", TWO, 8)],
    ),
    "passed": (queue(reserved=TWO, record=record()), [Open("train")]),
    "open": (queue(record=record()), []),
    "open, asked again while busy": (
        queue(ready=(), released=TWO, record=record(), again=True),
        [Run("train", TWO, 8)],
    ),
    "asked again while one node is drained": (
        queue(ready=("train-a",), record=record(), again=True),
        [Run("train", ("train-a",), 8)],
    ),
    "asked again while all are drained": (queue(ready=(), record=record(), again=True), []),
    "in use before there was a gate": (
        queue(ready=(), released=("train-b",)),
        [Adopt("train", ("train-b",))],
    ),
    "open, one node replaced": (queue(record=record(nodes=("train-a", "train-x"))), []),
    "all nodes replaced": (
        queue(record=record(nodes=("train-x", "train-y"))),
        [Reserve("train", TWO)],
    ),
    "opened by hand": (queue(reserved=TWO, record=record(OPENED)), [Open("train")]),
    "opened before there was a node": (
        queue(reserved=TWO, record=record(OPENED, ())),
        [Open("train")],
    ),
    "without GPUs": (queue(gpus=0), []),
    "block is over": (queue(wanted=0, alive=(), ready=(), record=record()), []),
}


@pytest.mark.parametrize(("state", "expected"), TABLE.values(), ids=TABLE)
def test_what_is_done_for_a_queue(state: QueueState, expected: list[Step]) -> None:
    assert steps(state) == expected


def said(verdict: str, evidence: str) -> str:
    return json.dumps({"check": "nccl_gate", "verdict": verdict, "evidence": evidence})


UNMEASURED = "200 GB/s at 16 GiB is not judged: nobody has measured 2 x 8 GPUs of p6-b200.48xlarge"


@pytest.mark.parametrize(
    ("code", "line", "verdict", "text"),
    [
        (0, said("ok", "369 GB/s"), PASSED, "369 GB/s"),
        (1, said("fail", "212 GB/s, least 258.9"), FAILED, "212 GB/s, least 258.9"),
        (0, said("warn", UNMEASURED), PASSED, "bandwidth is not judged, no row of the table"),
        (0, said("warn", f"{UNMEASURED}; odd"), FAILED, "200 GB/s"),
        (0, said("warn", "odd"), FAILED, "odd"),
        (1, said("warn", UNMEASURED), FAILED, "200 GB/s"),
        (2, "nccl_gate: all_reduce_perf is not there", FAILED, "the all-reduce could not be made"),
        (0, "", FAILED, "the all-reduce could not be made (code 0): "),
    ],
    ids=["good", "slow", "unmeasured", "two warnings", "warning", "failed", "no program", "mute"],
)
def test_a_row_of_the_table_is_strict_and_its_absence_is_said(
    code: int, line: str, verdict: str, text: str
) -> None:
    made = judge(code, line, TWO, NOW, "7")
    assert (made.verdict, made.nodes, made.job) == (verdict, TWO, "7")
    assert made.text.startswith(text)


def test_records_survive_a_restart_and_a_torn_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "state", tmp_path / "shared")
    assert store.record("train") is None and store.history() == ()
    store.keep("train", record())
    store.add(Event(NOW, "train-a", "reboot", "x"))
    with (tmp_path / "state" / "history.jsonl").open("ab") as file:
        file.write(b'{"at": "2026\xff')
    again = Store(tmp_path / "state", tmp_path / "shared")
    assert again.record("train") == record()
    assert again.history() == (Event(NOW, "train-a", "reboot", "x"),)
    kept = json.loads((tmp_path / "shared/gate/20261129T120000-train.json").read_text())
    assert kept["verdict"] == "passed"


def test_a_person_may_open_a_queue_or_ask_for_its_gate(tmp_path: Path) -> None:
    store = Store(tmp_path, None)
    store.keep("train", record(FAILED))
    ask(store, ["train"], ["train"], NOW)
    opened = store.record("train")
    assert opened is not None and opened.verdict == OPENED
    assert opened.text == "opened by hand; before: 369 GB/s"
    assert is_open(queue(record=opened))
    ask(store, ["train"], [], NOW)
    assert store.asked("train").exists()


@pytest.mark.parametrize(
    ("state", "node", "expected"),
    [
        (queue(), "train-a", ""),
        (queue(record=record()), "train-a", "gate_passed"),
        (queue(record=record(FAILED)), "train-b", "gate_failed"),
        (queue(record=record(OPENED)), "train-a", "gate_opened"),
        (queue(record=record()), "train-c", ""),
    ],
    ids=["no gate yet", "passed", "failed", "opened", "a replacement"],
)
def test_a_node_has_the_result_of_its_gate_as_a_feature(
    state: QueueState, node: str, expected: str
) -> None:
    assert feature(state, node) == expected
