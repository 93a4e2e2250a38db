"""A configuration that could not be tried is told apart from one that Slurm does not take."""

from __future__ import annotations

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
            "echo 'unshare: unshare failed: No space left on device'; exit 1",
            2,
            "slurmctld did not come up: unshare: unshare failed: No space left on device\n",
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
