"""Rules about paths, and about where a file system may be mounted.

Key paths start at the record that has the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..facts import parallelcluster
from ..records import is_token
from .faults import Fault

# Kernel and run-time file systems and /tmp: nothing below them outlives a boot.
_EMPTIED_AT_BOOT = ("/dev", "/proc", "/run", "/sys", "/tmp")  # noqa: S108  refused, not used
# What lies below these is the system's, root's, Slurm's or ParallelCluster's own.
_SYSTEM_TREES = (
    "/bin",
    "/boot",
    "/etc",
    "/lib",
    "/lib64",
    "/opt/amazon",
    "/opt/aws",
    "/opt/intel",
    "/opt/parallelcluster",
    "/opt/slurm",
    "/root",
    "/sbin",
    "/usr",
    "/var",
)
# FSx API, FileSystemPath of CreateDataRepositoryAssociation, botocore 1.44.8; Linux has the same.
MOST_PATH_CHARACTERS = 4095


def mount_dir_faults(mount_dir: str, key: str = "mount_dir") -> Iterator[Fault]:
    """Return why nothing should be mounted at a directory.

    Args:
        mount_dir: The directory.
        key: The key that names it.
    """
    instead = "such as /fsx" if key == "mount_dir" else "such as /opt/dlami/nvme"
    if is_token(mount_dir):
        return
    if has_dots(mount_dir):
        yield Fault.at(key, reason=f"{mount_dir} has '.' or '..' in it; write it out")
        return
    if len(mount_dir) > MOST_PATH_CHARACTERS:
        reason = f"has {len(mount_dir)} characters; a path has {MOST_PATH_CHARACTERS} at most"
        yield Fault.at(key, reason=reason)
    outer = next((root for root in _EMPTIED_AT_BOOT if lies_in(root, mount_dir)), None)
    trees = (root for root in _SYSTEM_TREES if lies_in(root, mount_dir))
    if mount_dir in parallelcluster.RESERVED_MOUNT_DIRS:
        yield Fault.at(key, reason=f"{mount_dir} belongs to the system; use another, {instead}")
    elif outer:
        yield Fault.at(
            key,
            reason=f"{mount_dir} lies below {outer}, which is emptied at each boot; "
            f"use another, {instead}",
        )
    elif tree := next(trees, None):
        yield Fault.at(
            key,
            reason=f"{mount_dir} belongs to the system, as all of {tree} does; "
            f"use another, {instead}",
        )


def nvme_dir_faults(nvme_dir: str) -> Iterator[Fault]:
    """Return why a node's own disks should not be mounted at a directory."""
    if lies_in("/home", nvme_dir):
        yield Fault.at(
            "nvme_dir",
            reason=f"{nvme_dir} would hide the users' homes; use another, such as /opt/dlami/nvme",
        )
    else:
        yield from mount_dir_faults(nvme_dir, "nvme_dir")


def lies_in(outer: str, inner: str) -> bool:
    """Tell whether the inner path is the outer or below it: /a/b is in /a, /ab is not."""
    return f"{inner}/".startswith(f"{outer}/")


def overlap(one: str, other: str) -> bool:
    """Tell whether one of two paths lies in the other."""
    return lies_in(one, other) or lies_in(other, one)


def has_dots(path: str) -> bool:
    """Tell whether a path goes through ``.`` or ``..``, so that it is not what it looks like."""
    return not is_token(path) and any(part in (".", "..") for part in path.split("/"))
