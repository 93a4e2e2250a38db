"""What becomes of a step that has ended."""

from __future__ import annotations

import pytest

from assets.node.resume.rules import Ended, failures_now, next_step

TABLE = {
    "done": (Ended(0), "end", "the step is done"),
    "fails": (Ended(1), "again", "failure 1 of 3 without a new checkpoint"),
    "killed": (Ended(-9, failures=3), "again", "failure 3 of 3 without a new checkpoint"),
    "fails too often": (
        Ended(1, failures=4),
        "end",
        "4 failures without a new checkpoint between them",
    ),
    "no retries": (
        Ended(1, retries=0),
        "end",
        "1 failures without a new checkpoint between them",
    ),
    "on a bad node": (Ended(1, bad_nodes=("a", "b")), "requeue", "a, b left service"),
    "on a bad node, may not leave it": (
        Ended(1, bad_nodes=("a",), may_requeue=False),
        "again",
        "failure 1 of 3 without a new checkpoint",
    ),
    "too often on a bad node": (
        Ended(1, bad_nodes=("a",), failures=4),
        "end",
        "4 failures without a new checkpoint between them",
    ),
    "saved and left": (Ended(0, asked_to_save=True), "requeue", "the checkpoint signal came"),
    "died of the signal": (Ended(-10, asked_to_save=True), "requeue", "the checkpoint signal came"),
    "saved, may not be requeued": (
        Ended(0, asked_to_save=True, may_requeue=False),
        "end",
        "the checkpoint is written, and the job may not be requeued",
    ),
    "cancelled": (Ended(-15, asked_to_end=True, job_runs=False), "end", "Slurm ends the job"),
    "preempted": (Ended(-15, asked_to_end=True), "requeue", "the checkpoint signal came"),
    "done while it was asked to end": (
        Ended(0, asked_to_end=True),
        "end",
        "the step ended well after the signal to end",
    ),
    "warned, then cancelled": (
        Ended(0, asked_to_save=True, asked_to_end=True, job_runs=False),
        "end",
        "Slurm ends the job",
    ),
}


@pytest.mark.parametrize(("ended", "decision", "why"), TABLE.values(), ids=TABLE)
def test_what_is_next(ended: Ended, decision: str, why: str) -> None:
    assert next_step(ended) == (decision, why)


@pytest.mark.parametrize(
    ("before", "then", "now", "count"),
    [
        (0, (-2, 0), (-2, 0), 1),
        (2, (1, 0), (1, 0), 3),
        (3, (1, 0), (2, 0), 1),
        (3, (2, 0), (1, 0), 4),
        (3, (2, 0), (-2, 0), 4),
        (3, (-1, 50), (-1, 60), 1),
    ],
    ids=["first", "no progress", "progress", "back", "gone", "written anew"],
)
def test_progress_forgives_earlier_failures(
    before: int, then: tuple[int, float], now: tuple[int, float], count: int
) -> None:
    assert failures_now(before, then, now) == count
