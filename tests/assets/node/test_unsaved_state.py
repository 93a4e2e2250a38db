"""A first start of slurmctld that was cut off is forgotten; a state that was saved never is."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.assets.programs import program
from trainshed._assets import asset

AT_ONCE = ("last_config_lite", "last_config_lite.old", "priority_last_decay_ran")
SAVED = (
    *("assoc_mgr_state", "assoc_usage", "dbd.messages", "fed_mgr_state", "job_state", "last_tres"),
    *("node_state", "part_state", "qos_usage", "resv_state", "trigger_state", "hash.0"),
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """What slurmctld has written when it ends before it saves."""
    folder = tmp_path / "state"
    folder.mkdir()
    for name in ("clustername", *AT_ONCE):
        (folder / name).write_text("kait|44")
    return folder


def run(state: Path) -> subprocess.CompletedProcess[str]:
    """Run the script as slurmctld's drop-in does."""
    return subprocess.run(
        [asset("node", "unsaved_state.sh"), str(state), "kait"],
        capture_output=True,
        text=True,
        check=False,
    )


def files(state: Path) -> set[str]:
    return {path.name for path in state.iterdir()}


@pytest.mark.parametrize("name", ["kait|44", "kait", "kait\n", ""])
def test_the_name_of_a_state_that_was_never_saved_goes(state: Path, name: str) -> None:
    (state / "clustername").write_text(name)
    done = run(state)
    assert (done.returncode, done.stdout) == (
        0,
        "unsaved_state: slurmctld ended before it had saved anything, and begins anew\n",
    )
    assert files(state) == set(AT_ONCE), "nothing else does"
    again = run(state)
    assert (again.returncode, again.stdout + again.stderr) == (0, "")


@pytest.mark.parametrize("end", ["", ".old", ".new"])
@pytest.mark.parametrize("name", SAVED)
def test_it_stays_where_anything_was_saved(state: Path, name: str, end: str) -> None:
    (state / f"{name}{end}").touch()
    before = files(state)
    done = run(state)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert files(state) == before


def test_it_stays_beside_a_file_that_nobody_knows(state: Path) -> None:
    (state / ".of-another-release\nlast_config_lite").touch()
    run(state)
    assert (state / "clustername").read_text() == "kait|44"


def test_the_name_of_another_cluster_is_slurms_to_refuse(state: Path) -> None:
    (state / "clustername").write_text("kait2|44")
    run(state)
    assert (state / "clustername").read_text() == "kait2|44"


def test_it_stays_where_the_state_cannot_be_listed(state: Path) -> None:
    program = state.parent / "bin/ls"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho clustername\nexit 2\n")
    program.chmod(0o755)
    done = subprocess.run(
        [asset("node", "unsaved_state.sh"), str(state), "kait"],
        env={"PATH": f"{program.parent}:/usr/bin:/bin"},
        check=False,
    )
    assert done.returncode == 2
    assert (state / "clustername").exists()


def test_no_state_at_all_is_nothing_to_do(tmp_path: Path) -> None:
    done = run(tmp_path / "not there")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_it_stays_where_what_else_is_there_cannot_be_told(state: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "grep", "exit 2")
    path = f"{tmp_path}/bin:{os.environ['PATH']}"
    done = subprocess.run(
        [asset("node", "unsaved_state.sh"), str(state), "kait"], env={"PATH": path}, check=False
    )
    assert done.returncode
    assert "clustername" in files(state)
