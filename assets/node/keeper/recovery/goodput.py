"""How much GPU time was kept, waited for, and lost, from accounting and checkpoints. Pure.

Of an attempt of a job that completed, or still runs, or was cancelled, all time is kept. Of one
that failed, was preempted, ran out of time or lost its node, what came after the last checkpoint is
lost, and all of it without one. Diaries of trainshed-resume say when checkpoints were written, and
which steps failed within an attempt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

FIELDS = ("JobIDRaw", "User", "Eligible", "Start", "End", "State", "AllocTRES", "ReqTRES")
"""Columns of sacct that are read, with --duplicates: an attempt of a job each."""
_KEPT = {"COMPLETED", "RUNNING", "CANCELLED", "COMPLETING", "SUSPENDED"}


@dataclass(frozen=True)
class Attempt:
    """One run of a job, from its start to its end or its requeue. Times are in seconds of Unix.

    Args:
        job: Its id.
        user: Whose it is.
        eligible: Since when it could have run.
        start: When it started. None: it waits.
        end: When it ended. None: it has not.
        state: How, in Slurm's words.
        gpus: GPUs that it had, or waits for.
    """

    job: str
    user: str
    eligible: float
    start: float | None
    end: float | None
    state: str
    gpus: int


@dataclass(frozen=True)
class Entry:
    """A line of a diary.

    Args:
        at: When.
        event: What, such as ``start`` or ``again``.
        saved_at: When the newest complete checkpoint was written; 0 if there was none.
    """

    at: float
    event: str
    saved_at: float


@dataclass(frozen=True)
class Goodput:
    """GPU hours.

    Args:
        computing: Kept.
        waiting: Waited for.
        lost: Spent, and to be computed again or given up.
    """

    computing: float = 0.0
    waiting: float = 0.0
    lost: float = 0.0

    def __add__(self, other: Goodput) -> Goodput:
        return Goodput(
            self.computing + other.computing, self.waiting + other.waiting, self.lost + other.lost
        )

    @property
    def percent(self) -> float | None:
        """Share of the GPU time spent that was kept; None if none was spent."""
        spent = self.computing + self.lost
        return 100 * self.computing / spent if spent else None


def read_attempts(said: str) -> list[Attempt]:
    """Read what sacct prints with ``--parsable2 --noheader`` and :data:`FIELDS`."""
    found = []
    for line in said.splitlines():
        cells = line.split("|")
        eligible = _time(cells[2]) if len(cells) == len(FIELDS) else None
        if eligible is None:
            continue
        # A job that waits has been given nothing yet.
        gpus = re.search(r"gres/gpu=(\d+)", cells[6] or cells[7])
        start, end = _time(cells[3]), _time(cells[4])
        state = (cells[5].split() or [""])[0]
        count = int(gpus[1]) if gpus else 0
        found.append(Attempt(cells[0], cells[1], eligible, start, end, state, count))
    return found


def _time(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def of_attempt(attempt: Attempt, diary: Sequence[Entry], since: float, until: float) -> Goodput:
    """Return the goodput of an attempt within a span of time."""
    started = until if attempt.start is None else attempt.start
    waiting = _within(attempt.eligible, started, since, until)
    if attempt.start is None:
        return _hours(0, waiting if attempt.state == "PENDING" else 0, 0, attempt.gpus)
    end = until if attempt.end is None else attempt.end
    mine = sorted((e for e in diary if attempt.start <= e.at <= end + 1), key=lambda e: e.at)
    spans = _failed_steps(mine, attempt.start)
    if attempt.state not in _KEPT:
        # Whoever died with its node notes nothing more: the next attempt tells what was saved.
        saved = [e.saved_at for e in diary if attempt.start <= e.saved_at <= end]
        spans.append((max([attempt.start, *saved]), end))
    spent = _within(attempt.start, end, since, until)
    lost = sum(_within(first, min(last, end), since, until) for first, last in _joined(spans))
    return _hours(spent - lost, waiting, lost, attempt.gpus)


def _failed_steps(diary: Sequence[Entry], start: float) -> list[tuple[float, float]]:
    """Return the spans that failures within an attempt cost."""
    spans, began = [], start
    for entry in diary:
        if entry.event == "start":
            began = entry.at
        elif entry.event == "again":
            spans.append((max(began, entry.saved_at), entry.at))
    return spans


def _joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _within(first: float, last: float, since: float, until: float) -> float:
    return max(0.0, min(last, until) - max(first, since))


def _hours(computing: float, waiting: float, lost: float, gpus: int) -> Goodput:
    return Goodput(*(seconds * gpus / 3600 for seconds in (computing, waiting, lost)))


def by_job(
    attempts: Iterable[Attempt],
    diaries: Mapping[str, Sequence[Entry]],
    since: float,
    until: float,
) -> dict[str, Goodput]:
    """Return the goodput of each job that had, or waits for, a GPU."""
    found: dict[str, Goodput] = {}
    for attempt in attempts:
        if attempt.gpus:
            made = of_attempt(attempt, diaries.get(attempt.job, ()), since, until)
            found[attempt.job] = found.get(attempt.job, Goodput()) + made
    return found


def digest(jobs: Mapping[str, Goodput], since: float) -> str:
    """Return the lines of the weekly digest."""
    fleet = sum(jobs.values(), Goodput())
    day = datetime.fromtimestamp(since, timezone.utc).strftime("%d %b")  # noqa: UP017
    if fleet.percent is None:
        return f"Goodput since {day}: no GPU was used"
    lines = [
        f"Goodput since {day}: {fleet.percent:.1f} % of {fleet.computing + fleet.lost:,.0f} GPU "
        f"hours were kept, {fleet.lost:,.0f} lost to failures; {fleet.waiting:,.0f} waited for"
    ]
    worst = sorted(jobs.items(), key=lambda item: -item[1].lost)[:3]
    lines += [f"job {job}: {made.lost:,.0f} GPU hours lost" for job, made in worst if made.lost]
    return "\n".join(lines)
