"""Rules of the image and the disks that start from it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..faults import KeyPath
from .faults import Fault

if TYPE_CHECKING:
    from .fleet import Fleet


def root_disks(fleet: Fleet) -> Iterator[tuple[KeyPath, int]]:
    """Yield the size in GiB of each root disk that the record sets, by its key below ``fleet``."""
    yield ("head_node", "root_volume", "gib"), fleet.head_node.root_volume.gib
    for name, queue in fleet.queues.items():
        yield ("queues", name, "root_volume", "gib"), queue.root_volume.gib


def root_disk_faults(fleet: Fleet) -> Iterator[Fault]:
    """Yield the root disks that are smaller than the image: EC2 starts no such instance."""
    lock = fleet.image.lock
    if lock is None or lock.root_gib is None:
        return
    for key_path, gib in root_disks(fleet):
        if gib < lock.root_gib:
            yield Fault(
                ("fleet", *key_path),
                f"{gib} GiB is less than the image {lock.ami_id} has, {lock.root_gib} "
                f"(fleet.image.lock.root_gib); use {lock.root_gib} or more",
            )
