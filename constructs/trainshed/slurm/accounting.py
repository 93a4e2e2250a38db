"""What the accounting database should hold, as the JSON document the head node applies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypedDict

from .nodes import NodeGroup, with_gpus
from .policy import SlurmPolicy
from .records import Account, Partition, Qos, User
from .texts import UNLIMITED

# aws-parallelcluster-cookbook, config_slurm_accounting.rb, read 2026-11-29: the head node puts the
# user slurm and its default user there, both administrators of the database.
PARALLELCLUSTER_ACCOUNT = "pcdefault"
"""The account that ParallelCluster makes for itself in the accounting database."""

DOCUMENT_FORMAT = 1
"""Raised when a head node of an earlier release could not read the document."""


class AccountEntry(TypedDict):
    """One account of the document."""

    parent: str
    description: str
    organization: str
    settings: dict[str, str]


class UserEntry(TypedDict):
    """One user of the document."""

    default_account: str
    admin: str
    accounts: list[str]
    fairshare: int
    uid: int | None


class AccountingDocument(TypedDict):
    """The document: settings under sacctmgr's own names, values as sacctmgr takes them.

    A setting that is absent has no limit; the reconcile clears it in the database.
    """

    format: int
    cluster: str
    keep_accounts: list[str]
    qos: dict[str, dict[str, str]]
    accounts: dict[str, AccountEntry]
    users: dict[str, UserEntry]


def accounting_document(
    policy: SlurmPolicy,
    groups: Sequence[NodeGroup],
    *,
    cluster: str,
    keep_accounts: Iterable[str] = (),
) -> AccountingDocument:
    """Return what the accounting database should hold.

    Args:
        policy: The policy.
        groups: Nodes of the cluster; caps that follow nodes or GPUs are computed from them.
        cluster: Name of the cluster in the database.
        keep_accounts: Accounts that something else looks after, with the users that are in no
            other account, such as ``PARALLELCLUSTER_ACCOUNT``. They are neither reported nor
            deleted.

    Raises:
        ValueError: A cap follows nodes or GPUs and no group has any.
    """
    return {
        "format": DOCUMENT_FORMAT,
        # slurmdbd keeps the name in lower case.
        "cluster": cluster.lower(),
        "keep_accounts": sorted(keep_accounts),
        "qos": {name: qos_settings(policy, name, groups) for name in sorted(policy.qos)},
        "accounts": {
            name: _account(name, account) for name, account in sorted(policy.accounts.items())
        },
        "users": {name: _user(user) for name, user in sorted(policy.users.items())},
    }


def qos_settings(policy: SlurmPolicy, name: str, groups: Sequence[NodeGroup]) -> dict[str, str]:
    """Return the settings of one QOS under sacctmgr's names, without those that are not limited."""
    qos = policy.qos[name]
    numbers = {
        "MaxJobsPerUser": qos.max_jobs_per_user,
        "MaxSubmitJobsPerUser": qos.max_submit_jobs_per_user,
        "MaxJobsPerAccount": qos.max_jobs_per_account,
        "MaxSubmitJobsPerAccount": qos.max_submit_jobs_per_account,
        "GrpJobs": qos.group_jobs,
    }
    settings = {key: str(value) for key, value in numbers.items() if value is not None}
    settings["Priority"] = str(qos.priority)
    caps = {
        "MaxTRESPerJob": qos.gpus_per_job,
        "MaxTRESPerUser": qos.gpus_per_user,
        "MaxTRESPerAccount": qos.gpus_per_account,
        "GrpTRES": qos.group_gpus,
    }
    for key, gpus in caps.items():
        if gpus is not None:
            own = qos_groups(policy, name, groups)
            settings[key] = tres(_gpu_cap(f"qos.{name}", gpus, qos, own))
    for partition_name, partition in policy.partitions.items():
        if partition.qos == name and partition.nodes is not None:
            cap = _node_cap(f"partitions.{partition_name}.nodes", partition, groups)
            if qos.group_gpus is not None:
                cap["gres/gpu"] = min(qos.group_gpus, cap.get("gres/gpu", qos.group_gpus))
            settings["GrpTRES"] = tres(cap)
    settings.update(_minutes_and_times(qos))
    return dict(sorted(settings.items()))


def tres(amounts: dict[str, int]) -> str:
    """Write amounts of resources as sacctmgr takes them, memory in MiB."""
    return ",".join(f"{k}={v}{'M' if k == 'mem' else ''}" for k, v in sorted(amounts.items()))


def _minutes_and_times(qos: Qos) -> dict[str, str]:
    settings = {}
    if qos.min_gpus_per_job is not None:
        settings["MinTRESPerJob"] = tres({"gres/gpu": qos.min_gpus_per_job})
    if qos.gpu_minutes_per_job is not None:
        settings["MaxTRESMinsPerJob"] = tres({"gres/gpu": qos.gpu_minutes_per_job})
    if qos.group_gpu_minutes is not None:
        settings["GrpTRESMins"] = tres({"gres/gpu": qos.group_gpu_minutes})
    if qos.max_time is not None and qos.max_time != UNLIMITED:
        settings["MaxWall"] = qos.max_time
    if qos.preempt_exempt_time is not None:
        settings["PreemptExemptTime"] = qos.preempt_exempt_time
    if qos.preempts:
        settings["Preempt"] = ",".join(sorted(qos.preempts))
    if qos.deny_on_limit:
        settings["Flags"] = "DenyOnLimit"
    return settings


def _gpu_cap(key: str, gpus: int, qos: Qos, groups: Sequence[NodeGroup]) -> dict[str, int]:
    cap = {"gres/gpu": gpus}
    if qos.cpus_follow_gpus:
        shapes = [group.shape for group in with_gpus(groups)]
        if not shapes:
            raise ValueError(
                f"{key}.cpus_follow_gpus needs nodes with GPUs, and no queue of its partitions "
                "has any; leave it out"
            )
        cap["cpu"] = gpus * max(shape.cpus_per_gpu for shape in shapes)
        cap["mem"] = gpus * max(shape.memory_per_gpu_mib for shape in shapes)
    return cap


def _node_cap(key: str, partition: Partition, groups: Sequence[NodeGroup]) -> dict[str, int]:
    nodes = partition.nodes or 0
    shapes = [group.shape for group in partition_groups(partition, groups)]
    if not shapes:
        raise ValueError(f"{key} is {nodes}, and the partition has no queue; name one in queues")
    cap = {
        "cpu": nodes * max(shape.cpus for shape in shapes),
        "mem": nodes * max(shape.schedulable_memory_mib for shape in shapes),
    }
    gpus = nodes * max(shape.gpus for shape in shapes)
    if gpus:
        cap["gres/gpu"] = gpus
    return cap


def partition_groups(partition: Partition, groups: Iterable[NodeGroup]) -> list[NodeGroup]:
    """Return the groups whose nodes a partition has; with nodes by name, all of them."""
    return [g for g in groups if not partition.queues or g.name in partition.queues]


def qos_groups(policy: SlurmPolicy, name: str, groups: Sequence[NodeGroup]) -> list[NodeGroup]:
    """Return the groups whose nodes jobs under a QOS may be on: those of its partitions.

    A QOS that no partition has is one of jobs anywhere.
    """
    partitions = [partition for partition in policy.partitions.values() if partition.qos == name]
    if not partitions:
        return list(groups)
    return [g for g in groups if any(g in partition_groups(p, groups) for p in partitions)]


def _account(name: str, account: Account) -> AccountEntry:
    settings = {"Fairshare": str(account.fairshare)}
    if account.qos:
        settings["QOS"] = ",".join(sorted(account.qos))
    if account.default_qos is not None:
        settings["DefaultQOS"] = account.default_qos
    if account.gpus is not None:
        settings["GrpTRES"] = tres({"gres/gpu": account.gpus})
    if account.gpu_minutes is not None:
        settings["GrpTRESMins"] = tres({"gres/gpu": account.gpu_minutes})
    return {
        "parent": account.parent or "root",
        "description": _lower(account.description),
        "organization": _lower(account.organization or name),
        "settings": settings,
    }


def _lower(text: str) -> str:
    # slurmdbd keeps it in lower case, where it is of the letters A to Z: "École" stays.
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _user(user: User) -> UserEntry:
    return {
        "default_account": user.account,
        "admin": user.admin,
        "accounts": sorted({user.account, *user.more_accounts}),
        "fairshare": user.fairshare,
        # For whoever makes Unix users; the database has none.
        "uid": user.uid,
    }
