"""Reads accounting and diaries, and tells the goodput: a metric each hour, a digest each week."""

from __future__ import annotations

import json
import pwd
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from ..slurm import Run
from .goodput import FIELDS, Entry, Goodput, by_job, read_attempts

WEEK = timedelta(days=7)


def week(
    run: Run, diaries: Path | None, until: datetime, span: timedelta = WEEK
) -> dict[str, Goodput]:
    """Return the goodput of each job of the last week.

    Args:
        run: What runs commands.
        diaries: Folder of the diaries. None: there is none.
        until: The time.
        span: How far to look back.

    Raises:
        SlurmError: The accounting does not answer.
    """
    since = until - span
    local = since.astimezone().strftime("%Y-%m-%dT%H:%M:%S")
    command = ["sacct", "--allusers", "--allocations", "--duplicates", "--parsable2", "--noheader"]
    command += [f"--starttime={local}", "--endtime=now", f"--format={','.join(FIELDS)}"]
    attempts = read_attempts(run(command, ""))
    owners = {attempt.job: attempt.user for attempt in attempts}
    found = read_diaries(diaries, owners) if diaries else {}
    return by_job(attempts, found, since.timestamp(), until.timestamp())


def read_diaries(folder: Path, owners: Mapping[str, str]) -> dict[str, list[Entry]]:
    """Return the diaries of jobs; one that another than the job's user wrote is not believed."""
    found: dict[str, list[Entry]] = {}
    for job, user in owners.items():
        path = folder / f"{job}.jsonl"
        try:
            if path.is_symlink() or path.stat().st_uid != pwd.getpwnam(user).pw_uid:
                continue
            lines = path.read_text().splitlines()
        except (OSError, KeyError):
            continue
        found[job] = [entry for line in lines for entry in _entry(line)]
    return found


def _entry(line: str) -> list[Entry]:
    try:
        said = json.loads(line)
        return [Entry(float(said["at"]), str(said["event"]), float(said.get("saved_at") or 0))]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
