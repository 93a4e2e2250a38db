"""Scripts that are killed between two effects, and what the next run makes of it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.assets.programs import program
from trainshed._assets import asset

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    disk = tmp_path / "disk"
    with disk.open("wb") as file:
        file.truncate(64 << 20)
    return disk


def make_file_system(volume: Path) -> subprocess.CompletedProcess[str]:
    script = asset("node", "state_volume.sh")
    # All of it but the call of main.
    text = f"source <(sed '$d' '{script}'); make_file_system '{volume}' vol-1"
    return subprocess.run(
        ["/bin/bash", "-c", text, script],
        env={"PATH": f"{volume.parent}/bin:{PATH}", "ROOT_DIR": str(volume.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def note(volume: Path) -> Path:
    return volume.parent / "var/lib/trainshed/pending/format-vol-1"


def uuid(volume: Path) -> str:
    command = ["/usr/sbin/blkid", "-p", "-o", "value", "-s", "UUID", str(volume)]
    return subprocess.check_output(command, text=True)


def half_formatted(volume: Path) -> None:
    write = f"printf x | dd of='{volume}' bs=1 seek=8192 conv=notrunc status=none"
    mkfs = volume.parent / "bin/mkfs.ext4"
    program(mkfs, f"{write}\nkill -9 $PPID")
    assert make_file_system(volume).returncode
    mkfs.unlink()


def test_a_volume_that_was_formatted_by_half_is_formatted(volume: Path) -> None:
    half_formatted(volume)
    done = make_file_system(volume)
    assert done.returncode == 0, done.stderr
    assert not note(volume).exists()
    first = uuid(volume)
    assert make_file_system(volume).returncode == 0
    assert uuid(volume) == first


def test_the_same_data_from_others_is_not_touched(volume: Path) -> None:
    half_formatted(volume)
    note(volume).unlink()
    before = volume.read_bytes()
    done = make_file_system(volume)
    assert (done.returncode, done.stderr) == (
        1,
        f"state_volume: {volume} has data on it that is no file system; it is not touched\n",
    )
    assert volume.read_bytes() == before


def test_a_volume_that_is_formatted_is_not_formatted_again_for_a_note(volume: Path) -> None:
    assert make_file_system(volume).returncode == 0
    first = uuid(volume)
    note(volume).touch()
    assert make_file_system(volume).returncode == 0
    assert uuid(volume) == first and not note(volume).exists()


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    """A head node's files, and reconfigure.sh beside a dry run that takes all."""
    for folder in ("new", "live"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "slurm.conf").write_text(f"# {folder}\n")
    program(tmp_path / "bin/scontrol", f'echo "$*" >>"{tmp_path}/calls"; exit "${{CODE:-0}}"')
    program(tmp_path / "bin/dry_run.sh", "")
    shutil.copy(asset("node", "reconfigure.sh"), tmp_path / "bin/reconfigure.sh")
    return tmp_path


def reconfigure(slurm: Path, **variables: str) -> int:
    return subprocess.run(
        [slurm / "bin/reconfigure.sh", slurm / "new", slurm / "live"],
        env={"PATH": f"{slurm}/bin:{PATH}", **variables},
        check=False,
    ).returncode


def test_files_that_slurmctld_has_not_read_are_marked(slurm: Path) -> None:
    assert reconfigure(slurm, CODE="1") == 1
    assert (slurm / "live/slurm.conf").read_text() == "# new\n"
    assert (slurm / "live/.pending").exists()
    assert reconfigure(slurm) == 0
    assert sorted(path.name for path in (slurm / "live").iterdir()) == ["slurm.conf"]
    assert (slurm / "calls").read_text() == "reconfigure\n" * 2
