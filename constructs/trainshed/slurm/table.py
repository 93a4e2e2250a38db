"""The policy as tables for people, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from .nodes import NodeGroup
from .policy import SlurmPolicy
from .records import Account, Partition, Qos
from .references import account_default_qos, account_qos, with_accounts_below
from .settings import partition_order


def policy_table(policy: SlurmPolicy, groups: Sequence[NodeGroup] = ()) -> str:
    """Return what users may do, as Markdown: partitions, limits and accounts.

    Args:
        policy: The policy.
        groups: Nodes of the cluster, to show how many a partition has.
    """
    partitions = [
        _partition(policy, name, policy.partitions[name], groups)
        for name in partition_order(policy)
    ]
    qos = [_qos(policy, name, policy.qos[name]) for name in sorted(policy.qos)]
    accounts = [_account(policy, name, policy.accounts[name]) for name in sorted(policy.accounts)]
    return "\n".join(
        [
            "## Partitions",
            "",
            *_table(
                "partition|nodes|time|without -t|tier|limits|accounts|a job is preempted by",
                partitions,
            ),
            "",
            "## Limits",
            "",
            *_table(
                "QOS|running jobs a user|submitted|GPUs a job|user|account|all|GPU hours a job"
                "|besides",
                qos,
            ),
            "",
            "## Accounts",
            "",
            *_table("account|description|below|share|QOS|default|GPUs|users|GPU hours", accounts),
            "",
        ]
    )


def _partition(
    policy: SlurmPolicy, name: str, partition: Partition, groups: Sequence[NodeGroup]
) -> list[str]:
    total = sum(g.count for g in groups if not partition.queues or g.name in partition.queues)
    nodes = partition.node_names or (str(total) if groups else "all")
    if partition.nodes is not None:
        nodes = f"{partition.nodes} of {nodes}"
    if partition.whole_node:
        nodes += ", whole"
    mode = partition.preempt_mode or policy.scheduler.preempt_mode
    above = [
        other
        for other in partition_order(policy)
        if policy.partitions[other].priority_tier > partition.priority_tier
    ]
    preempt_by = policy.scheduler.preempt_by
    preempted = ", ".join(above) if preempt_by == "partition_prio" and mode != "OFF" else ""
    if preempted:
        preempted += f" ({mode.lower()}, {partition.grace_seconds} s grace)"
    elif preempt_by == "qos":
        preempted = f"QOS, see below ({policy.scheduler.preempt_mode.lower()})"
    return [
        f"{name} (default)" if partition.default else name,
        nodes,
        partition.max_time,
        partition.default_time or partition.max_time,
        str(partition.priority_tier),
        partition.qos or ", ".join(f"--qos={q}" for q in partition.allow_qos),
        "root" if partition.root_only else _accounts(policy, partition),
        preempted or "nobody",
    ]


def _accounts(policy: SlurmPolicy, partition: Partition) -> str:
    return ", ".join(with_accounts_below(policy, partition.allow_accounts)) or "all"


# Limits that few policies have: one column has them all.
_BESIDES = {
    "max_jobs_per_account": "{} running jobs an account",
    "max_submit_jobs_per_account": "{} submitted an account",
    "group_jobs": "{} running jobs of all",
    "min_gpus_per_job": "at least {} GPUs a job",
    "max_time": "{} a job",
    "preempt_exempt_time": "not preempted for {}",
}


def _besides(policy: SlurmPolicy, qos: Qos) -> str:
    said = [
        text.format(f"{value:,}" if isinstance(value, int) else value)
        for key, text in _BESIDES.items()
        if (value := getattr(qos, key)) is not None
    ]
    if qos.group_gpu_minutes is not None:
        said.append(f"{qos.group_gpu_minutes // 60:,} GPU hours of all")
    if qos.preempts and policy.scheduler.preempt_by == "qos":
        said.append(f"preempts {', '.join(qos.preempts)}")
    return "; ".join(said)


def _qos(policy: SlurmPolicy, name: str, qos: Qos) -> list[str]:
    minutes = qos.gpu_minutes_per_job
    return [
        name,
        _limit(qos.max_jobs_per_user),
        _limit(qos.max_submit_jobs_per_user),
        _limit(qos.gpus_per_job),
        _limit(qos.gpus_per_user),
        _limit(qos.gpus_per_account),
        _limit(qos.group_gpus),
        _limit(None if minutes is None else minutes // 60),
        _besides(policy, qos),
    ]


def _account(policy: SlurmPolicy, name: str, account: Account) -> list[str]:
    users = sum(name in (u.account, *u.more_accounts) for u in policy.users.values())
    return [
        name,
        account.description,
        account.parent or "",
        str(account.fairshare),
        ", ".join(account_qos(policy, name)),
        account_default_qos(policy, name) or "",
        _limit(account.gpus),
        str(users),
        _limit(None if account.gpu_minutes is None else account.gpu_minutes // 60),
    ]


def _limit(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _table(head: str, rows: Sequence[Sequence[str]]) -> list[str]:
    columns = head.split("|")
    if not any(row[-1] for row in rows):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    lines = [columns, ["---"] * len(columns), *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
