"""Rules on who reaches which partition, and with which QOS."""

from __future__ import annotations

from collections.abc import Iterator

from ..records import Qos
from ..references import (
    BUILT_IN_QOS,
    account_default_qos,
    account_qos,
    with_accounts_below,
)
from .finding import Finding, Subject

# Accounts that operating system images and packages make.
_SYSTEM_USER_NAMES = """
root admin centos debian ec2-user fedora munge mysql nobody rocky slurm ssm-user ubuntu
"""
_SYSTEM_USERS = frozenset(_SYSTEM_USER_NAMES.split())


def qos_must_be_typed(subject: Subject) -> Iterator[Finding]:
    """T1: a job that names no QOS has one that its partition does not allow."""
    policy = subject.policy
    for name, partition in subject.open_partitions():
        if not partition.allow_qos or partition.qos:
            continue
        wrong = sorted(
            account
            for account in policy.accounts
            if set(partition.allow_qos) & set(account_qos(policy, account))
            and account_default_qos(policy, account) not in partition.allow_qos
        )
        if wrong:
            yield Finding(
                "qos-must-be-typed",
                "error",
                f"partitions.{name}.allow_qos",
                f"a job of account {', '.join(wrong)} without --qos has another QOS than "
                f"{', '.join(partition.allow_qos)} and waits for ever",
                f"set qos to {partition.allow_qos[0]} in place of allow_qos, and allow_accounts",
            )


def limits_of_two_qos(subject: Subject) -> Iterator[Finding]:
    """A job is held to the limits of its own QOS as well as to those of its partition's."""
    policy = subject.policy
    for name, partition in subject.open_partitions():
        allowed = with_accounts_below(policy, partition.allow_accounts) or tuple(policy.accounts)
        defaults = {account_default_qos(policy, a) for a in allowed if a in policy.accounts}
        for qos in sorted(defaults & set(policy.qos) - {partition.qos, None}, key=str):
            if partition.qos and limited(policy.qos[str(qos)]):
                yield Finding(
                    "limits-of-two-qos",
                    "error",
                    f"partitions.{name}.qos",
                    f"jobs in it have {qos} as their own QOS, whose limits count here too and are "
                    "used up by them",
                    "give accounts a default_qos without limits, and limits to the partitions' QOS",
                )


def native_partition_open(subject: Subject) -> Iterator[Finding]:
    """T2: the partition ParallelCluster makes of each queue has no limits."""
    if subject.parallelcluster and not subject.policy.scheduler.close_native_partitions:
        yield Finding(
            "native-partition-open",
            "error",
            "scheduler.close_native_partitions",
            "any user's job of any length and size runs in the partition of the queue itself",
            "set it to true",
        )


def built_in_qos(subject: Subject) -> Iterator[Finding]:
    """T3, finding 10: Slurm's own QOS has no limits."""
    policy = subject.policy
    for name in sorted(policy.accounts):
        if BUILT_IN_QOS in account_qos(policy, name) and BUILT_IN_QOS not in policy.qos:
            yield Finding(
                "built-in-qos",
                "error",
                f"accounts.{name}.qos",
                f"its users may ask for --qos={BUILT_IN_QOS}, which Slurm makes without limits",
                "list exactly the QOS of this policy",
            )


def partition_nobody_may_use(subject: Subject) -> Iterator[Finding]:
    """A partition that no account of the policy can submit to."""
    policy = subject.policy
    for name, partition in subject.open_partitions():
        allowed = with_accounts_below(policy, partition.allow_accounts)
        if not any(
            (not allowed or account in allowed)
            and (
                not partition.allow_qos
                or set(partition.allow_qos) & set(account_qos(policy, account))
            )
            for account in policy.accounts
        ):
            yield Finding(
                "partition-nobody-may-use",
                "error",
                f"partitions.{name}",
                "no account may use it",
                "add an account, or correct allow_accounts and allow_qos",
            )


def tier_open_to_all(subject: Subject) -> Iterator[Finding]:
    """A partition that preempts others and that everybody may use."""
    for name, partition in subject.open_partitions():
        victims = [n for n, _ in subject.open_partitions() if name in subject.preemptors(n)]
        if victims and not partition.allow_accounts and not partition.allow_qos:
            yield Finding(
                "tier-open-to-all",
                "error",
                f"partitions.{name}.allow_accounts",
                f"every user's job in it may preempt the jobs of {', '.join(victims)}",
                "name the accounts, or set preempt_mode OFF on the partitions below it",
            )


def limited(qos: Qos) -> bool:
    """Tell whether a QOS limits anything."""
    return any(
        value is not None
        for key, value in qos
        if key not in ("priority", "preempts", "cpus_follow_gpus", "deny_on_limit")
    )


def system_user(subject: Subject) -> Iterator[Finding]:
    """T12d: an account of the operating system is no user of the cluster."""
    for name in sorted(subject.policy.users):
        if name in _SYSTEM_USERS:
            yield Finding(
                "system-user",
                "error",
                f"users.{name}",
                "an account of the operating system, shared by whoever runs as it, may run jobs",
                "name people",
            )


RULES = (
    qos_must_be_typed,
    limits_of_two_qos,
    native_partition_open,
    built_in_qos,
    partition_nobody_may_use,
    tier_open_to_all,
    system_user,
)
