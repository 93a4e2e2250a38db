"""What nodes of ParallelCluster get of trainshed's programs, and the documents that these read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config.capacity import CapacityBlock, drain_minutes, iso
from ..health import expected_hardware
from ..records import is_token
from ..slurm_fleet import Archive, archive
from .boot import topic_parameter_name
from .gate import gate_document, gated_queue

if TYPE_CHECKING:
    from ..config.fleet import Fleet, Queue
    from ..facts import InstanceType

HEAD_FILES = (
    "common.sh",
    "goodput_timers.sh",
    "install_resume.sh",
    "keeper",
    "pc_head.sh",
    "resume",
    "templates",
)
"""Files and folders of ``assets/node`` on a head node."""
COMPUTE_FILES = (
    "common.sh",
    "health",
    "install_resume.sh",
    "node_gate.py",
    "pc_basic_check.sh",
    "pc_compute.sh",
    "resume",
    "templates",
)
"""The same on a compute node. No more than it runs: another archive replaces the nodes."""


def release(folder: Path, names: Sequence[str]) -> Archive:
    """Return an archive of some files and folders.

    Args:
        folder: Where they are: ``assets/node``.
        names: Their names.
    """
    return archive(
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for name in names
            for path in _files(folder / name)
        }
    )


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from (each for each in path.rglob("*") if each.is_file() and _shipped(each))


def _shipped(path: Path) -> bool:
    return "__pycache__" not in path.parts


def head_document(
    fleet: Fleet,
    *,
    cluster_name: str,
    mount_dir: str,
    known_types: Mapping[str, InstanceType],
) -> dict[str, Any]:
    """Return what the programs of the head node read, beside the Region.

    Args:
        fleet: The fleet.
        cluster_name: Name of the cluster.
        mount_dir: Where every node mounts the file system.
        known_types: Facts of instance types by name.
    """
    return {
        "schema": 1,
        "cluster": cluster_name,
        # ParallelCluster's own CloudWatch agent listens to nobody.
        "agent": False,
        "alarm_topic_parameter": topic_parameter_name(cluster_name),
        "mounts": [{"path": mount_dir}],
        # Without a database Slurm keeps no account of jobs that are over.
        "accounting": fleet.accounting is not None,
        "queues": {
            name: {
                **_block(queue, known_types[queue.instance_type], moves=not _has_partitions(fleet)),
                **gated_queue(
                    fleet, queue, known_types[queue.instance_type], cluster_name=cluster_name
                ),
            }
            for name, queue in fleet.queues.items()
        },
        **gate_document(fleet),
    }


def _has_partitions(fleet: Fleet) -> bool:
    return bool(fleet.policy and fleet.policy.partitions)


def _block(queue: Queue, kind: InstanceType, *, moves: bool) -> dict[str, Any]:
    if not isinstance(queue.capacity, CapacityBlock):
        return {}
    # Jobs in a partition of the policy that has both queues go on by themselves.
    then = queue.capacity.next_queue if moves else None
    return {
        **({"next_queue": then} if then else {}),
        "reservation_id": queue.capacity.reservation_id,
        "end": iso(queue.capacity.end),
        "drain_minutes": drain_minutes(ultraserver=kind.ultraserver),
    }


def compute_document(
    queue: Queue, kind: InstanceType, *, cluster_name: str, mount_dir: str
) -> dict[str, Any]:
    """Return what the checks of a compute node expect.

    Args:
        queue: Its queue.
        kind: Facts of its instance type.
        cluster_name: Name of the cluster.
        mount_dir: Where it mounts the file system.
    """
    return expected_hardware(
        kind,
        cluster_name=cluster_name,
        mounts=[] if is_token(mount_dir) else [mount_dir],
        efa=queue.uses_efa(kind),
    )
