"""EBS volumes of the lab: block devices on the machine that EC2 says they are attached to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .lab import FleetLab

_SIZE = 2 * 1024**3
_MEMORY = Path("/dev/shm")


class Volumes:
    """The volumes of a lab."""

    def __init__(self, lab: FleetLab) -> None:
        self._lab = lab
        self._devices: dict[str, str] = {}
        _detach_dead()

    def create(self, volume: str) -> None:
        """Make an empty block device for a volume."""
        # In memory: a database flushes with each change. The process in the name lets the next lab
        # clear up after one that was killed.
        path = _MEMORY / f"trainshed-volume-{os.getpid()}-{volume}"
        with path.open("wb") as file:
            file.truncate(_SIZE)
        self._devices[volume] = _losetup("--find", "--show", str(path)).strip()

    @property
    def only(self) -> tuple[str, str]:
        """The lab's one volume, and its block device on the host."""
        return next(iter(self._devices.items()))

    def show(self) -> None:
        """Give each running machine the devices that EC2 says it has, and no others."""
        described = self._lab.ec2.describe_volumes(VolumeIds=list(self._devices))["Volumes"]
        for volume in described:
            holders = {attachment["InstanceId"] for attachment in volume["Attachments"]}
            for node in self._lab.nodes.values():
                if node.machine.alive:
                    self._set(
                        node.machine.files / "dev", volume["VolumeId"], node.instance_id in holders
                    )

    def _set(self, dev: Path, volume: str, attached: bool) -> None:
        link = dev / "disk/by-id" / f"nvme-Amazon_Elastic_Block_Store_{volume.replace('-', '')}"
        disk = dev / "nvme1n1"
        if attached and not link.exists():
            number = Path(self._devices[volume]).stat().st_rdev
            os.mknod(disk, 0o60600, number)
            link.symlink_to("../../nvme1n1")
        elif not attached and link.is_symlink():
            link.unlink()
            disk.unlink()

    def remove(self) -> None:
        """Give the block devices back."""
        for volume in list(self._devices):
            self.delete(volume)

    def delete(self, volume: str) -> None:
        """Give a volume's block device back."""
        # Where a machine that is going still holds it, the kernel detaches it after that.
        _losetup("--detach", self._devices.pop(volume))
        (_MEMORY / f"trainshed-volume-{os.getpid()}-{volume}").unlink()


def _detach_dead() -> None:
    for path in _MEMORY.glob("trainshed-volume-*"):
        owner = path.name.split("-")[2]
        if not Path(f"/proc/{owner}").exists():
            for line in _losetup("--associated", str(path)).splitlines():
                _losetup("--detach", line.split(":")[0])
            path.unlink()


def _losetup(*arguments: str) -> str:
    done = subprocess.run(["losetup", *arguments], capture_output=True, text=True, check=True)
    return done.stdout
