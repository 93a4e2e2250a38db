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

from scripts.demo import StepError
from tests.deploy.demonstrations import Blow, Demonstration, left, wait_for_its_end, written
from tests.deploy.emulator.process import ROOT
from tests.sweep import SWEEP

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
if SWEEP:
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
            wait_for_its_end(struck)
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
    # Of Python and the CDK, and of Node.
    caches = tuple(f"{Path.home()}/{each}/" for each in (".cache", ".cdk/cache", ".npm"))
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


def alone(work: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Run a demonstration to its end, by way of a command."""
    command = [*before, sys.executable, "scripts/demo.py", "--without-slurm", "--work", str(work)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_two_in_one_folder_are_refused(tmp_path: Path) -> None:
    work = tmp_path / "demo"
    with work.with_name(f"{work.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = alone(work)
    assert done.returncode == 1
    assert f"another demonstration runs in {work}" in done.stdout
    assert not work.exists()


# Whom file modes bind, as they do not bind root.
_BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.getuid() == 0 else ()


@pytest.mark.parametrize("made_before", [True, False], ids=["a run before", "no run before"])
def test_the_folder_of_another_user_is_refused(tmp_path: Path, made_before: bool) -> None:
    """As after a demonstration by root, whose lock and folder nobody else may write."""
    place = tmp_path / "my cache"
    place.mkdir()
    lock = place / "demo.lock"
    if made_before:
        lock.touch(0o400)
    place.chmod(0o555)
    done = alone(place / "demo", *_BOUND)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"step failed: hold the folder\n  [Errno 13] Permission denied: '{lock}'" in done.stdout
    assert f"""let '{place}' be yours (sudo chown -R "$USER" '{place}')""" in done.stdout
    place.chmod(0o755)


def test_what_cannot_be_cleared_is_named(tmp_path: Path) -> None:
    work = tmp_path / "demo"
    (work / "left").mkdir(parents=True)
    (work / "left" / "one").touch()
    (tmp_path / "demo.lock").touch()
    (work / "left").chmod(0o555)
    done = alone(work, *_BOUND)
    assert (done.returncode, done.stderr) == (1, "")
    assert "step failed: clear the folder\n  [Errno 13] Permission denied: 'one'" in done.stdout
    assert f"what to do: remove {work} by hand (sudo rm -rf)" in done.stdout
    (work / "left").chmod(0o755)


def test_a_full_disk_is_told() -> None:
    told = StepError("run a job", "OSError: [Errno 28] No space left on device", "read the log")
    assert told.remedy.startswith("make room on that disk")
    assert StepError("run a job", "it was cancelled", "read the log").remedy == "read the log"


def test_a_folder_of_somebodys_files_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    mine = tmp_path / "demo" / "thesis.tex"
    mine.touch()
    done = alone(tmp_path / "demo")
    assert (done.returncode, done.stderr) == (1, "")
    assert "has files that no demonstration made" in done.stdout
    assert [*tmp_path.rglob("*")] == [tmp_path / "demo", mine]
