"""The fleet document: all that nodes, head node and custom resource know of a fleet. Pure.

It is the value of one SSM parameter. A change of it alone is live; docs/bare-slurm.md says who
reads what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..config.capacity import CapacityBlock, TargetedReservation, drain_minutes, iso
from ..slurm.fleet_rules import node_groups
from . import names
from .gate import gate_document
from .shapes import Types, node_conf

if TYPE_CHECKING:
    from ..config.accounting import AccountingDatabase
    from ..config.fleet import Fleet, Queue
    from ..facts import InstanceType

SCHEMA = 1
"""Raised when nodes of an earlier release could not read the document."""
SLURM_VERSION = "23.11"
"""Ubuntu 24.04's."""
_MYSQL_PORT = 3306


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object in S3 whose content is known.

    Args:
        bucket: Bucket.
        key: Key.
        sha256: SHA-256 of the content, in hexadecimal.
    """

    bucket: str
    key: str
    sha256: str

    def written(self) -> dict[str, str]:
        """Return it as the document has it."""
        return {"bucket": self.bucket, "key": self.key, "sha256": self.sha256}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """The shared file system as nodes mount it.

    Args:
        path: Where.
        dns_name: Host of the file system.
        mount_name: Name of the Lustre file system on it.
        efa: Nodes can reach it over EFA.
    """

    path: str
    dns_name: str
    mount_name: str
    efa: bool

    def written(self) -> dict[str, Any]:
        """Return it as the document has it."""
        return {
            "path": self.path,
            "dns_name": self.dns_name,
            "mount_name": self.mount_name,
            "efa": self.efa,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The Auto Scaling group of a queue.

    Args:
        asg: Its name.
        launch_template: Id of its launch template.
        version: Version of the template that nodes should have.
        reservation_id: Reservation or block that it launches into. Default: none.
    """

    asg: str
    launch_template: str
    version: str
    reservation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a fleet document says beside the fleet's record; values may be CDK tokens.

    Args:
        cluster_name: Name of the cluster.
        region: AWS Region.
        scripts: Archive of ``assets/node``.
        files: Archive of the files of this cluster.
        state_volume_id: EBS volume of the head node's state.
        munge_secret_arn: Secret whose text is the munge key.
        mounts: Shared file systems.
        groups: Auto Scaling groups by queue.
        alarm_topic_arn: Topic that the head node may publish to. Default: none.
    """

    cluster_name: str
    region: str
    scripts: StoredObject
    files: StoredObject
    state_volume_id: str
    munge_secret_arn: str
    mounts: tuple[Mount, ...]
    groups: Mapping[str, Group]
    alarm_topic_arn: str | None = None


def fleet_document(fleet: Fleet, around: Surroundings, *, types: Types) -> dict[str, Any]:
    """Return the document of a fleet.

    Args:
        fleet: The fleet.
        around: What it says beside.
        types: Facts of instance types by name.
    """
    cluster = around.cluster_name
    packages = fleet.slurm.packages
    return {
        "schema": SCHEMA,
        "cluster": cluster,
        "region": around.region,
        "scripts": around.scripts.written(),
        "files": around.files.written(),
        "packages": packages
        and {"bucket": packages.bucket, "key": packages.key, "sha256": packages.sha256},
        "slurm_version": SLURM_VERSION,
        "containers": fleet.slurm.containers,
        "gate": gate_document(fleet),
        "image": _image(fleet),
        "head": {
            "host": names.head_host(cluster),
            "state_volume_id": around.state_volume_id,
            # The head node lets the file system grow when this has changed.
            "state_volume_gib": fleet.slurm.state_volume_gib,
        },
        "munge_secret_arn": around.munge_secret_arn,
        "accounting": _accounting(fleet.accounting) if fleet.accounting else None,
        "mounts": [mount.written() for mount in around.mounts],
        "queues": _queues(fleet, around.groups, types),
        "boot_timeout_minutes": fleet.slurm.boot_timeout_minutes,
        "log_group": names.log_group_name(cluster),
        "alarm_topic_arn": around.alarm_topic_arn,
    }


def written(document: Mapping[str, Any]) -> str:
    """Return the text of a document: keys sorted, no blanks."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def _image(fleet: Fleet) -> dict[str, str | None] | None:
    lock = fleet.image.lock
    if lock is None:
        return None
    return {
        "kernel": lock.kernel,
        "nvidia_driver": lock.nvidia_driver,
        "efa_installer": lock.efa_installer,
    }


def _accounting(database: AccountingDatabase) -> dict[str, Any]:
    host, _, port = database.host.partition(":")
    return {
        "host": host,
        "port": int(port or _MYSQL_PORT),
        "user": database.user,
        "password_secret_arn": database.password_secret_arn,
        "database": database.database,
    }


def _queues(fleet: Fleet, groups: Mapping[str, Group], types: Types) -> dict[str, Any]:
    return {
        group.name: {
            **_launched(groups[group.name]),
            **_capacity(fleet.queues[group.name], types[fleet.queues[group.name].instance_type]),
            "nodes": group.count,
            "node_conf": node_conf(group),
        }
        for group in node_groups(fleet, types)
    }


def _launched(group: Group) -> dict[str, Any]:
    return {
        "asg": group.asg,
        "launch_template": group.launch_template,
        "version": group.version,
        "reservation_id": group.reservation_id,
    }


def _capacity(queue: Queue, kind: InstanceType) -> dict[str, Any]:
    block = queue.capacity if isinstance(queue.capacity, CapacityBlock) else None
    return {
        "instance_type": queue.instance_type,
        "gpus": kind.gpus,
        "efa": queue.uses_efa(kind),
        "nvme_dir": queue.scratch_dir(kind),
        "nvlink": kind.nvlink,
        "start": iso(block.start) if block and block.start else None,
        "end": iso(block.end) if block else None,
        "drain_minutes": drain_minutes(ultraserver=kind.ultraserver),
    }


def reservation_id_of(queue: Queue, made: Mapping[str, str], name: str) -> str | None:
    """Return the reservation or block that a queue launches into; None where it has none.

    Args:
        queue: The queue.
        made: Reservations that the app makes, by queue.
        name: Name of the queue.
    """
    match queue.capacity:
        case CapacityBlock(reservation_id=block):
            return block
        case TargetedReservation(reservation_id=reservation):
            return reservation or made.get(name)
        case _:
            return None
