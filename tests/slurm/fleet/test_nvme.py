"""nvme_scratch.sh on real disks and a real md driver, which User-Mode Linux has."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.sweep import SWEEP
from trainshed._assets import ASSETS

from .image import BASE

_HERE = Path(__file__).resolve().parent
_MODULES = Path("/usr/lib/uml/modules")
_MIB = 1024**2
# Less what ext4 keeps for itself.
_THREE_DISKS = "169M"
SCRATCH = "/lab/node/nvme_scratch.sh /opt/scratch"


@dataclass
class Instance:
    """An instance whose disks keep what they have from one start to the next.

    Args:
        work: Its directory.
        disks: Its instance store's disks.
    """

    work: Path
    disks: list[Path] = field(default_factory=list)

    def add_disks(self, count: int) -> None:
        """Give it empty disks."""
        for number in range(count):
            path = self.work / f"disk{number}"
            with path.open("wb") as file:
                file.truncate(64 * _MIB)
            self.disks.append(path)

    def start(self, script: str) -> tuple[int, str]:
        """Start it, run a shell script on it, switch it off; return the script's code and words."""
        lab = self.work / "upper/lab"
        shutil.rmtree(lab, ignore_errors=True)
        shutil.copytree(ASSETS / "node", lab / "node")
        shutil.copy(_HERE / "nvme_init.sh", lab / "init")
        modules = next(_MODULES.iterdir()) / "kernel/drivers/md"
        (lab / "modules").mkdir()
        for name in ("md-mod.ko", "raid0.ko"):
            shutil.copy(modules / name, lab / "modules")
        (lab / "script.sh").write_text(script)
        for name in ("overlay", "root"):
            (self.work / name).mkdir(exist_ok=True)
        options = f"lowerdir={BASE},upperdir={self.work}/upper,workdir={self.work}/overlay"
        kernel = [
            "linux.uml",
            "mem=256M",
            "rootfstype=hostfs",
            f"rootflags={self.work}/root",
            "rw",
            "init=/lab/init",
            "con=null",
            "con0=null,fd:1",
            "ssl=null",
            f"uml_dir={self.work}/uml",
            *(f"ubd{number}={disk}" for number, disk in enumerate(self.disks, 1)),
        ]
        mount = 'mount -t overlay -o "$1" none "$2"; shift 2; exec env TMPDIR=/dev/shm "$@"'
        inside = ["bash", "-euc", mount, "--", options, str(self.work / "root"), *kernel]
        ended = subprocess.run(
            ["unshare", "--mount", *inside],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        said = lab / "said"
        assert said.exists(), ended.stdout + ended.stderr
        text, _, code = said.read_text().rstrip("\n").rpartition("rc=")
        return int(code), text


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    """An instance without disks yet."""
    return Instance(tmp_path)


def test_disks_are_one_scratch_that_a_second_boot_and_a_reboot_keep(instance: Instance) -> None:
    instance.add_disks(3)
    code, said = instance.start(
        f"{SCRATCH}\necho kept >/opt/scratch/tmp/file\n{SCRATCH}\n"
        "findmnt -no SOURCE,FSTYPE,SIZE /opt/scratch\ncat /sys/class/block/md127/md/level\n"
        "stat -c '%a %U' /opt/scratch/enroot/cache"
    )
    assert code == 0, said
    lines = said.splitlines()
    assert lines.count(f"nvme_scratch: /opt/scratch has {_THREE_DISKS}") == 2
    assert "raid0" in lines and "1777 root" in lines
    code, said = instance.start(f"{SCRATCH}\ncat /opt/scratch/tmp/file")
    assert code == 0 and said.splitlines()[-1] == "kept", said


def test_one_disk_is_scratch_without_an_array(instance: Instance) -> None:
    instance.add_disks(1)
    code, said = instance.start(f"{SCRATCH}\nfindmnt -no SOURCE,FSTYPE /opt/scratch\n")
    assert (code, said.split()[-2:]) == (0, ["/dev/ubdb", "ext4"]), said


# Kills the script, with all that it has started, before or after a program has done its work.
_KILLED = """\
killed_at() {
  local program=$1 words=$2 when=$3
  mkdir -p /run/shims
  cat >"/run/shims/$program" <<SHIM
#!/bin/bash
PATH=\\${PATH#*:}
if [[ "\\$*" == *"$words"* ]]; then
  [[ $when == before ]] || $program "\\$@"
  kill -9 0
fi
exec $program "\\$@"
SHIM
  chmod 0755 "/run/shims/$program"
  if PATH="/run/shims:$PATH" setsid --wait SCRIPT; then
    return 1
  fi
  rm "/run/shims/$program"
}
"""
_MOMENTS = (("mdadm", "--create"), ("wipefs", "--all"), ("mkfs.ext4", "-q"), ("mount", "noatime"))
# What looks like a file system, or a part of one, lies where that of the array will begin.
_DIRT = "for disk in /dev/ubd[b-d]; do mkfs.ext4 -q -F $disk; done"


_CASES = [(when, reboots) for when in ("after", "before") for reboots in (True, False)]


@pytest.mark.parametrize(("when", "reboots"), _CASES if SWEEP else _CASES[:1])
def test_scratch_is_whole_wherever_the_step_was_killed(
    tmp_path: Path, when: str, reboots: bool
) -> None:
    for program, words in _MOMENTS:
        work = tmp_path / program
        work.mkdir()
        instance = Instance(work)
        instance.add_disks(3)
        kill = _KILLED.replace("SCRIPT", SCRATCH) + f"{_DIRT}\nkilled_at {program} {words} {when}\n"
        whole = f"{SCRATCH}\necho kept >/opt/scratch/tmp/file\n{SCRATCH}\ncat /opt/scratch/tmp/file"
        code, said = instance.start(kill + ("" if reboots else whole))
        if reboots:
            assert code == 0, said
            code, said = instance.start(whole)
        assert code == 0 and said.splitlines()[-1] == "kept", f"{program}: {said}"
        assert said.count(f"nvme_scratch: /opt/scratch has {_THREE_DISKS}") == 2, said
        shutil.rmtree(work)


def test_an_instance_without_disks_is_named(instance: Instance) -> None:
    code, said = instance.start(SCRATCH)
    assert code == 1
    assert said.splitlines()[-1] == (
        "nvme_scratch: this instance has no NVMe disk of its own; set nvme_dir to null"
    )


def test_the_rest_of_an_array_gives_way_to_a_new_one(instance: Instance) -> None:
    instance.add_disks(3)
    assert instance.start(SCRATCH)[0] == 0
    # One disk is another than before, and udev has put together what there is.
    with instance.disks[1].open("wb") as file:
        file.truncate(64 * _MIB)
    code, said = instance.start(
        "mdadm --incremental /dev/ubdb\ncat /sys/class/block/md*/md/array_state\n"
        f"{SCRATCH}\nls /opt/scratch"
    )
    assert code == 0, said
    assert "inactive" in said.splitlines()
    assert f"nvme_scratch: /opt/scratch has {_THREE_DISKS}" in said


def test_an_array_that_nobody_put_together_and_that_lost_a_disk_gives_way(
    instance: Instance,
) -> None:
    instance.add_disks(2)
    assert instance.start(SCRATCH)[0] == 0
    with instance.disks[0].open("wb") as file:
        file.truncate(64 * _MIB)
    code, said = instance.start(SCRATCH)
    assert code == 0, said


def test_a_volume_that_the_image_has_made_of_all_disks_is_used(instance: Instance) -> None:
    instance.add_disks(2)
    code, said = instance.start(
        "mdadm --create /dev/md/image --run --level=0 --raid-devices=2 /dev/ubdb /dev/ubdc\n"
        "mkfs.ext4 -q /dev/md/image\nmkdir -p /opt/image\nmount /dev/md/image /opt/image\n"
        f"echo here >/opt/image/file\n{SCRATCH}\ncat /opt/scratch/file"
    )
    assert code == 0 and said.splitlines()[-1] == "here", said


def test_disks_that_are_partly_in_use_are_left_alone(instance: Instance) -> None:
    instance.add_disks(3)
    code, said = instance.start(
        "mdadm --create /dev/md/other --run --level=0 --raid-devices=2 /dev/ubdb /dev/ubdc\n"
        f"{SCRATCH}"
    )
    assert code == 1
    assert said.splitlines()[-1] == (
        "nvme_scratch: md127 uses some of the instance's NVMe disks (/dev/ubdb /dev/ubdc "
        "/dev/ubdd) and not all; free them, or set nvme_dir to null"
    )


def test_another_file_system_is_not_formatted(instance: Instance) -> None:
    instance.add_disks(1)
    code, said = instance.start(f"mkswap /dev/ubdb\n{SCRATCH}")
    assert code == 1
    assert said.splitlines()[-1] == (
        "nvme_scratch: /dev/ubdb has swap on it, which is none of ours; empty it with wipefs, or "
        "set nvme_dir to null"
    )
