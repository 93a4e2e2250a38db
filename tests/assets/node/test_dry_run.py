"""A configuration that could not be tried is told apart from one that Slurm does not take."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.assets.programs import program
from trainshed._assets import asset


@pytest.fixture
def tried(tmp_path: Path) -> Path:
    """A configuration, and programs that try it."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "slurm.conf").write_text("SlurmctldHost=head\nNodeName=n1\n")
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "chroot", "")
    return tmp_path


def run(tried: Path, root: str = "/") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [asset("node", "dry_run.sh"), tried / "conf", root],
        env={"PATH": f"{tried}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("slurmctld", "code", "said"),
    [
        pytest.param("echo 'Running as primary controller'; sleep 60", 0, "", id="it comes up"),
        pytest.param(
            "echo 'slurmctld: error: no such key'; exit 1",
            1,
            "error: no such key\n",
            id="complains",
        ),
        pytest.param("kill -SEGV $$", 1, "fatal: slurmctld ended with code 139\n", id="it crashes"),
        pytest.param(
            "echo 'slurmctld: error: Error writing file x, No space left on device'; exit 1",
            2,
            "slurmctld: error: Error writing file x, No space left on device\n",
            id="the disk is full",
        ),
        pytest.param(
            "echo loading; kill -KILL $$", 2, "slurmctld did not come up: loading\n", id="killed"
        ),
        pytest.param(
            "echo 'unshare: unshare failed: Invalid argument'; exit 1",
            2,
            "unshare: unshare failed: Invalid argument\n",
            id="it cannot be started",
        ),
    ],
)
def test_the_exit_code_says_whether_it_is_the_configuration(
    tried: Path, slurmctld: str, code: int, said: str
) -> None:
    program(tried / "bin" / "unshare", slurmctld)
    done = run(tried)
    assert (done.returncode, done.stdout) == (code, said)


def test_without_room_for_a_copy_nothing_is_said_of_a_configuration(tried: Path) -> None:
    done = run(tried, root=str(tried / "full"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "mktemp" in done.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (1, "slurmctld does not take these files"),
        (2, "these files could not be tried"),
    ],
)
def test_what_was_refused_or_not_tried_does_not_reach_a_live_slurmctld(
    tmp_path: Path, code: int, said: str
) -> None:
    shutil.copy(asset("node", "reconfigure.sh"), tmp_path)
    program(tmp_path / "dry_run.sh", f"echo why; exit {code}")
    program(tmp_path / "bin" / "scontrol", f"touch {tmp_path}/called")
    for folder in ("new", "live"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "slurm.conf").write_text(folder)
    done = subprocess.run(
        [tmp_path / "reconfigure.sh", tmp_path / "new", tmp_path / "live"],
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (
        code,
        f"reconfigure.sh: {said}, nothing was changed:\nwhy\n",
    )
    assert [*(tmp_path / "live").iterdir()] == [tmp_path / "live" / "slurm.conf"]
    assert (tmp_path / "live" / "slurm.conf").read_text() == "live"
    assert not (tmp_path / "called").exists()
