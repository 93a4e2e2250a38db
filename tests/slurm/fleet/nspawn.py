"""A fleet lab whose machines are containers of systemd-nspawn."""

from __future__ import annotations

from pathlib import Path

from tests.waiting import wait_until

from .lab import FleetLab


class NspawnLab(FleetLab):
    """A fleet lab of containers: they have their own /dev, IPC, and fewer capabilities."""

    kind = "nspawn"

    def _first_process(self, pid: int) -> int:
        inner = wait_until(lambda: _systemd_below(pid), "systemd in a container")
        root = Path(f"/proc/{inner}/root")
        wait_until((root / "run/systemd/system").exists, "the start of a container's systemd")
        # What udev makes of disks; the lab has the links there.
        (root / "dev/disk/by-id").mkdir(parents=True)
        (root / "run/booted").touch()
        return inner


def _systemd_below(pid: int) -> int | None:
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        if Path(f"/proc/{child}/comm").read_text() == "systemd\n":
            return int(child)
    return None
