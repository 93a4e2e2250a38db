"""GPU time that was kept, waited for and lost."""

from __future__ import annotations

import json
import os
import pwd
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assets.node.keeper.recovery.goodput import (
    Attempt,
    Entry,
    Goodput,
    by_job,
    digest,
    of_attempt,
    read_attempts,
)
from assets.node.keeper.recovery.weekly import read_diaries, week

HOUR = 3600.0
SINCE, UNTIL = 0.0, 100 * HOUR


def attempt(
    state: str,
    start: float | None = 2,
    end: float | None = 12,
    *,
    eligible: float = 2,
    gpus: int = 8,
) -> Attempt:
    began, ended = (None if each is None else each * HOUR for each in (start, end))
    return Attempt("7", "bob", eligible * HOUR, began, ended, state, gpus)


def note(at: float, event: str, saved: float = 0) -> Entry:
    return Entry(at * HOUR, event, saved * HOUR)


TABLE = {
    "completed": (attempt("COMPLETED"), [], Goodput(80)),
    "runs": (attempt("RUNNING", end=None), [], Goodput(784)),
    "cancelled": (attempt("CANCELLED"), [], Goodput(80)),
    "failed without a checkpoint": (attempt("FAILED"), [], Goodput(0, 0, 80)),
    "node died an hour after a checkpoint": (
        attempt("NODE_FAIL"),
        [note(2, "start"), note(11.5, "passed over", 11)],
        Goodput(72, 0, 8),
    ),
    "node died, and the next attempt tells what was saved": (
        attempt("NODE_FAIL"),
        [note(2, "start"), note(12.2, "start", 11)],
        Goodput(72, 0, 8),
    ),
    "a checkpoint of the next attempt saves nothing of this one": (
        attempt("NODE_FAIL"),
        [note(2, "start"), note(12.2, "start"), note(15, "end", 15)],
        Goodput(0, 0, 80),
    ),
    "noted a second after Slurm's end": (
        attempt("COMPLETED", 2, 2.5),
        [note(2, "start"), note(2.5 + 1 / HOUR, "again")],
        Goodput(0, 0, 4),
    ),
    "left with a checkpoint at the end of a block": (
        attempt("REQUEUED"),
        [note(2, "start"), note(12, "requeue", 12)],
        Goodput(80),
    ),
    "ran out of time": (attempt("TIMEOUT"), [note(9, "x", 7)], Goodput(40, 0, 40)),
    "a step failed and was started again": (
        attempt("COMPLETED"),
        [note(2, "start"), note(6, "again", 5), note(6, "start", 5), note(12, "end", 12)],
        Goodput(72, 0, 8),
    ),
    "a step failed before it had saved": (
        attempt("COMPLETED"),
        [note(2, "start"), note(4, "again"), note(4, "start"), note(12, "end", 12)],
        Goodput(64, 0, 16),
    ),
    "a failed step of a failed job counts once": (
        attempt("FAILED"),
        [note(2, "start"), note(6, "again"), note(6, "start")],
        Goodput(0, 0, 80),
    ),
    "waited": (attempt("COMPLETED", eligible=0), [], Goodput(80, 16)),
    "waits": (attempt("PENDING", None, None, eligible=98), [], Goodput(0, 16)),
    "was cancelled before it began": (attempt("CANCELLED", None, 12), [], Goodput()),
    "began before the week": (attempt("COMPLETED", -5, 5, eligible=-9), [], Goodput(40)),
    "failed, saved in an earlier attempt": (
        attempt("FAILED"),
        [note(3, "x", 1)],
        Goodput(0, 0, 80),
    ),
}


@pytest.mark.parametrize(("given", "diary", "expected"), TABLE.values(), ids=TABLE)
def test_an_attempt(given: Attempt, diary: list[Entry], expected: Goodput) -> None:
    assert of_attempt(given, diary, SINCE, UNTIL) == expected


def test_attempts_of_a_job_add_up_and_jobs_without_gpus_do_not_count() -> None:
    attempts = [
        attempt("NODE_FAIL", 0, 10, eligible=0),
        attempt("COMPLETED", 11, 21, eligible=10),
        Attempt("8", "bob", 0, 0, HOUR, "COMPLETED", 0),
    ]
    jobs = by_job(attempts, {"7": [note(10, "passed over", 9)]}, SINCE, UNTIL)
    assert jobs == {"7": Goodput(152, 8, 8)}
    assert jobs["7"].percent == 95


SACCT = """\
7|bob|2026-11-29T10:00:00|2026-11-29T11:00:00|2026-11-29T12:00:00|NODE_FAIL|billing=8,cpu=8,gres/gpu:h200=8,gres/gpu=8,mem=1G,node=1|gres/gpu=8
7|bob|2026-11-29T12:02:00|2026-11-29T12:02:00|Unknown|RUNNING|billing=8,gres/gpu=8|gres/gpu=8
9|bob|Unknown|Unknown|Unknown|PENDING||gres/gpu=4
11|bob|2026-11-29T10:00:00|Unknown|Unknown|PENDING||cpu=1,gres/gpu=4
10|amy|2026-11-29T10:00:00|None|2026-11-29T12:00:00|CANCELLED by 2001||
"""


def test_what_sacct_prints_is_read() -> None:
    first, second, waits, cancelled = read_attempts(SACCT)
    assert (first.state, first.gpus, first.start is not None) == ("NODE_FAIL", 8, True)
    assert (second.state, second.end) == ("RUNNING", None)
    assert (waits.start, waits.gpus) == (None, 4)
    assert (cancelled.state, cancelled.start, cancelled.gpus) == ("CANCELLED", None, 0)


def test_a_diary_of_another_user_is_not_believed(tmp_path: Path) -> None:
    me = pwd.getpwuid(os.getuid()).pw_name
    line = json.dumps({"at": 5, "event": "start", "restart": 0, "saved_at": 4})
    (tmp_path / "7.jsonl").write_text(f"{line}\ntorn {{\n[]\n")
    (tmp_path / "8.jsonl").write_text(line)
    (tmp_path / "9.jsonl").symlink_to(tmp_path / "7.jsonl")
    owners = {"7": me, "8": "daemon", "9": me, "10": me, "11": "nobody-here"}
    assert read_diaries(tmp_path, owners) == {"7": [Entry(5, "start", 4)]}


def test_a_week_is_asked_of_the_accounting(tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def run(command: object, text: str) -> str:
        asked.append(list(command))  # type: ignore[call-overload]
        return SACCT

    jobs = week(run, None, datetime.now(UTC))
    assert "--duplicates" in asked[0] and "--allusers" in asked[0]
    assert set(jobs) == {"7", "11"}


def test_the_digest_has_the_fleet_and_the_jobs_that_lost_most() -> None:
    jobs = {"7": Goodput(900, 50, 100), "8": Goodput(1000), "9": Goodput(0, 0, 20)}
    assert digest(jobs, 0).splitlines() == [
        "Goodput since 01 Jan: 94.1 % of 2,020 GPU hours were kept, 120 lost to failures; "
        "50 waited for",
        "job 7: 100 GPU hours lost",
        "job 9: 20 GPU hours lost",
    ]
    assert digest({}, 0) == "Goodput since 01 Jan: no GPU was used"
