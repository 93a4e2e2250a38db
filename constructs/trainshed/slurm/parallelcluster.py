"""A policy as settings of an AWS ParallelCluster configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..facts.parallelcluster import SLURM_VERSION, denied_settings
from .nodes import NodeGroup
from .policy import SlurmPolicy
from .settings import (
    Setting,
    cluster_settings,
    parameters,
    partition_order,
    partition_settings,
)

# Written by ParallelCluster's own slurm.conf; a second SchedulerParameters line replaces the first.
_OWN_SCHEDULER_PARAMETERS = ("nohold_on_prolog_fail",)

_YEAR, _MONTH, *_ = SLURM_VERSION.split(".")
_SLURM_VERSION = (int(_YEAR), int(_MONTH))

CustomSetting = dict[str, str | int]


def parallelcluster_settings(
    policy: SlurmPolicy,
    queues: Sequence[NodeGroup],
    *,
    database: bool = True,
    with_qos: bool = True,
    slurm_version: tuple[int, int] = _SLURM_VERSION,
) -> tuple[list[CustomSetting], dict[str, CustomSetting]]:
    """Return ``CustomSlurmSettings`` of the cluster and of each queue.

    Partitions of the policy lie over the node sets ``<queue>_nodes`` that ParallelCluster makes.
    The partition it makes of each queue has no limits, so the queue settings close it to users.

    Args:
        policy: The policy.
        queues: Nodes of each queue.
        database: The configuration has ``SlurmSettings/Database``; ParallelCluster then writes the
            connection to slurmdbd. False: the policy's own lines for a slurmdbd on the head node.
        with_qos: Partitions name their QOS. slurmctld does not start with a QOS that the database
            lacks; False renders the partitions closed and without QOS, for a first start.
        slurm_version: Version of Slurm. Default: the one ParallelCluster's images carry.

    Raises:
        ValueError: A partition names a queue that is not there, or a setting is one that
            ParallelCluster keeps for itself.
    """
    lines: list[list[Setting]] = [[setting] for setting in cluster_settings(policy, queues)]
    scheduler = policy.scheduler
    own = _OWN_SCHEDULER_PARAMETERS
    lines += [[line] for line in parameters(scheduler, slurm_version, own)]
    if not database:
        lines += [
            [("AccountingStorageType", "accounting_storage/slurmdbd")],
            [("AccountingStorageHost", "localhost")],
            [("AccountingStoragePort", 6819)],
            [("JobAcctGatherType", f"jobacct_gather/{scheduler.usage_gatherer}")],
        ]
    if scheduler.job_completion_file is not None:
        lines += [
            [("JobCompType", "jobcomp/filetxt")],
            [("JobCompLoc", scheduler.job_completion_file)],
        ]
    for name in partition_order(policy):
        lines.append(partition_settings(policy, name, queues, with_qos=with_qos))
    custom = [dict(line) for line in lines]
    for setting in custom:
        refuse_denied(setting, database=database)
    return custom, {queue.name: _queue_settings(policy, queue) for queue in queues}


def _queue_settings(policy: SlurmPolicy, queue: NodeGroup) -> CustomSetting:
    if queue.name in policy.partitions:
        raise ValueError(
            f"partitions.{queue.name} has the name of a queue, whose partition ParallelCluster "
            "makes itself; slurmctld stops at the second one: rename the partition or the queue"
        )
    settings: CustomSetting = {}
    if any(partition.default for partition in policy.partitions.values()):
        # ParallelCluster makes the first queue's partition the default one.
        settings["Default"] = "NO"
    if policy.scheduler.close_native_partitions:
        settings |= {"RootOnly": "YES", "Hidden": "YES"}
    return settings


def refuse_denied(setting: Mapping[str, str | int], *, database: bool) -> None:
    """Check one entry of ``CustomSlurmSettings``.

    ParallelCluster itself leaves entries with more than one key unchecked.

    Raises:
        ValueError: A key is one that ParallelCluster keeps for itself.
    """
    denied = denied_settings(setting, "SlurmConf", database=database)
    if denied:
        raise ValueError(
            f"CustomSlurmSettings has {', '.join(denied)}, which ParallelCluster keeps for itself; "
            "leave it out"
        )
