"""`make demo`: interrupted in its steps, then run to its end, and what it leaves on the machine."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.deploy.demonstrations import Blow, Demonstration, left, wait_for_its_end, written
from tests.deploy.emulator.process import ROOT

_INT, _TERM, _HUP, _KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
# What the fifth step says while machines boot.
_BOOTING = "fleet is"
BLOWS = [
    Blow(1, _INT),
    Blow(2, _KILL, to_all=False),
    Blow(3, _TERM),
    Blow(4, _INT),
    Blow(5, _KILL, told=_BOOTING),
]
if os.environ.get("TRAINSHED_SWEEP"):
    BLOWS += [Blow(step, each) for each in (_INT, _KILL) for step in range(1, 8)]
    BLOWS += [Blow(5, each, to_all=False, told=_BOOTING) for each in (_INT, _TERM, _HUP, _KILL)]


@dataclass
class Told:
    """The last run of a folder that others were interrupted in."""

    last: Demonstration
    status: int
    elsewhere: list[str]
    left: list[str]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder for demonstrations in the checkout, where the real one has its own."""
    folder = ROOT / ".cache" / f"demonstrations-{os.getpid()}"
    yield folder / "demo"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def told(place: Path) -> Iterator[Told]:
    """A demonstration with Slurm, after every blow, on a disk that tells what is written."""
    pids: set[int] = set()
    for blow in BLOWS:
        struck = Demonstration(place)
        status = struck.strike(blow)
        pids |= struck.pids
        assert status != 0, f"{blow}: {struck.said}"
        if blow.kills:
            wait_for_its_end(place)
        else:
            assert "interrupted; nothing is left running" in struck.said, f"{blow}: {struck.said}"
            assert left(place, struck.pids) == [], str(blow)
        assert struck.ports_that_answer() == [], str(blow)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        last = Demonstration(place, layers=Path(memory))
        status = last.finish()
        yield Told(last, status, written(Path(memory)), left(place, pids))


@pytest.mark.slurm
def test_it_runs_to_its_end_however_often_it_was_interrupted(told: Told) -> None:
    assert told.status == 0, told.last.said
    assert told.last.said.count("CREATE_COMPLETE") == 2
    assert "|COMPLETED|" in told.last.said
    assert "CRITICAL demo" in told.last.said


@pytest.mark.slurm
def test_it_leaves_no_process_mount_port_or_disk(told: Told) -> None:
    assert told.left == []
    assert told.last.ports_that_answer() == []
    assert not told.last.work.exists()


@pytest.mark.slurm
def test_it_writes_no_file_outside_the_checkout_but_caches(told: Told) -> None:
    caches = (f"{Path.home()}/.cache/", f"{Path.home()}/.npm/")
    others = [
        each
        for each in told.elsewhere
        if not each.startswith(caches) and "/__pycache__/" not in each
    ]
    assert others == []


def test_without_slurm_it_is_interrupted_at_its_end_and_runs_again(place: Path) -> None:
    work = place.with_name("alone")
    struck = Demonstration(work, "--without-slurm")
    assert struck.strike(Blow(7, _INT)) != 0, struck.said
    assert "interrupted; nothing is left running" in struck.said
    assert left(work, struck.pids) == []
    again = Demonstration(work, "--without-slurm")
    assert again.finish() == 0, again.said
    assert again.said.count("CREATE_COMPLETE") == 2
    assert "CRITICAL demo" in again.said
    assert left(work, again.pids) == []
    assert not work.exists()


def test_two_in_one_folder_are_refused(tmp_path: Path) -> None:
    work = tmp_path / "demo"
    command = [sys.executable, "scripts/demo.py", "--without-slurm", "--work", str(work)]
    with work.with_name(f"{work.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"another demonstration runs in {work}" in done.stdout
    assert not work.exists()
