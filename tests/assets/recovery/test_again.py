"""trainshed-gate: what a person asks for, and how the wait for it ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.node.keeper.recovery import again
from assets.node.keeper.recovery.gate import FAILED, PASSED, Record
from assets.node.keeper.recovery.store import Store

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DOCUMENT: dict[str, Any] = {
    "queues": {"prep": {"gpus": 0}, "dev": {"gpus": 8}, "train": {"gpus": 8}},
    "gate": {"minutes": 25},
}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path, None)


def ends(store: Store, queue: str, verdict: str, at: datetime = NOW) -> None:
    store.keep(queue, Record(at, verdict, ("train-a", "train-b"), "369.86 GB/s", "7"))


def waited(
    store: Store, queues: list[str], meanwhile: Callable[[], None] = lambda: None
) -> tuple[int, int]:
    """Wait without waiting; return the code, and how often it looked anew."""
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        meanwhile()

    clock = iter(range(0, 10_000, 10))
    code = again.wait(store, queues, NOW, 60, clock=lambda: float(next(clock)), sleep=sleep)
    return code, len(slept)


def test_an_old_record_is_not_the_answer(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    ends(store, "train", FAILED, NOW - timedelta(days=1))
    code, looks = waited(store, ["train"], lambda: ends(store, "train", PASSED))
    assert (code, looks) == (0, 1)
    assert capsys.readouterr().out == "train: passed: 369.86 GB/s; train-a, train-b\n"


def test_one_that_fails_decides(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    ends(store, "dev", FAILED)
    ends(store, "train", PASSED)
    assert waited(store, ["dev", "train"]) == (1, 0)
    assert capsys.readouterr().out.splitlines()[0].startswith("dev: failed: 369.86 GB/s")


@pytest.mark.parametrize(
    ("runs", "why"),
    [(True, "the all-reduce still runs"), (False, "it waits for released nodes without jobs")],
    ids=["runs", "waits"],
)
def test_one_that_is_not_over_is_told(
    store: Store, capsys: pytest.CaptureFixture[str], runs: bool, why: str
) -> None:
    if runs:
        store.running("train").write_text("{}")
    assert waited(store, ["train"])[0] == 3
    assert capsys.readouterr().out == f"train: not over after 1 minutes: {why}\n"


def test_every_queue_with_gpus_is_asked_for(store: Store) -> None:
    assert again.main([], DOCUMENT, store) == 0
    assert [store.asked(name).exists() for name in ("prep", "dev", "train")] == [False, True, True]


def test_it_waits_for_what_was_asked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ends(store, "train", PASSED)
    monkeypatch.setattr(again, "utc_now", lambda: NOW + timedelta(microseconds=5))
    assert again.main(["--wait", "1", "train"], DOCUMENT, store) == 0
    assert "train: passed" in capsys.readouterr().out
    assert not store.asked("dev").exists()


def test_a_queue_is_opened_by_hand(store: Store) -> None:
    assert again.main(["--open", "train", "--wait", "1"], DOCUMENT, store) == 0
    record = store.record("train")
    assert record is not None and record.verdict == "opened by hand"


@pytest.mark.parametrize(
    ("arguments", "document", "told"),
    [
        (["prep"], DOCUMENT, "no queue prep with GPUs; there are dev, train"),
        (["--open", "x"], DOCUMENT, "no queue x with GPUs; there are dev, train"),
        ([], {**DOCUMENT, "gate": None}, "this fleet has no gate (fleet.slurm.gate.enabled)"),
    ],
    ids=["no GPUs", "unknown", "no gate"],
)
def test_what_cannot_be_run_is_refused(
    store: Store,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    document: dict[str, Any],
    told: str,
) -> None:
    with pytest.raises(SystemExit) as ended:
        again.main(arguments, document, store)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
