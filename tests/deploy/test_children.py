"""Processes of a group that is ended: none of it runs once that is said."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.deploy.emulator.children import end_group, run_group
from tests.waiting import wait_until

# The kernel takes its time to end the second, which holds memory; the first is gone at once.
_HOLD = "import pathlib, sys, time; held = b'x' * 2**28; pathlib.Path(sys.argv[1]).touch()"
_PAIR = f'{sys.executable} -c "{_HOLD}; time.sleep(600)" $1 & echo $! >$1.pid; wait'


def _pair(file: Path) -> Sequence[str]:
    return ["bash", "-c", _PAIR, "pair", str(file)]


def _runs(file: Path) -> bool:
    pid = int(file.with_suffix(".pid").read_text())
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
def test_nothing_of_a_group_that_was_ended_runs(tmp_path: Path) -> None:
    held = tmp_path / "held"
    with subprocess.Popen(_pair(held), start_new_session=True) as leader:
        wait_until(held.exists, "the second to hold memory")
        assert _runs(held)
        end_group(leader.pid)
        assert not _runs(held)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked at in /proc")
def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    held = tmp_path / "held"
    with pytest.raises(subprocess.TimeoutExpired):
        run_group(_pair(held), seconds=3)
    assert not _runs(held)


def test_a_command_has_its_folder_and_environment(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "pwd; echo $WORD; echo wrong >&2; exit 3"]
    done = run_group(command, folder=tmp_path, environment={"WORD": "here"})
    assert (done.returncode, done.stdout) == (3, f"{tmp_path}\nhere\nwrong\n")
