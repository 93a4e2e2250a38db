"""Rules on who reaches which partition, and with which QOS."""

from __future__ import annotations

from collections.abc import Iterator

from ..accounting import PARALLELCLUSTER_ACCOUNT
from ..records import Qos
from ..references import (
    BUILT_IN_QOS,
    ROOT_ACCOUNT,
    account_default_qos,
    account_qos,
    accounts_of,
    with_accounts_below,
)
from .finding import Finding, Subject

# Accounts that operating system images and packages make: base-passwd of Debian 12 and Ubuntu
# 24.04, setup of RHEL 9, and those of AWS's images and of ParallelCluster; read 2026-11-30.
_SYSTEM_USER_NAMES = """
_apt _chrony adm admin backup bin centos chrony daemon dbus dcv debian ec2-user fedora ftp games
gnats halt irc landscape list lp mail man messagebus munge mysql news nobody ntp nvidia-persistenced
operator pcluster-admin pcluster-scheduler-plugin pollinate polkitd postfix proxy root rocky rpc
rpcuser shutdown slurm sshd ssm-user sssd sync sys syslog tcpdump tss ubuntu usbmux uucp uuidd
www-data
"""
_SYSTEM_USERS = frozenset(_SYSTEM_USER_NAMES.split())
_SYSTEM_UIDS = {
    1000: "that of the image's own user, ubuntu or ec2-user",
    65534: "that of nobody",
    65535: "no user in 16 bits",
}


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


def no_default_qos(subject: Subject) -> Iterator[Finding]:
    """A job that names no QOS has Slurm's own, which its account may not have."""
    policy = subject.policy
    for name in sorted(policy.accounts):
        allowed = account_qos(policy, name)
        # Slurm takes an only one by itself.
        several = len(set(allowed)) > 1 and BUILT_IN_QOS not in allowed
        if several and account_default_qos(policy, name) is None:
            yield Finding(
                "no-default-qos",
                "error",
                f"accounts.{name}.default_qos",
                f"a job without --qos asks for Slurm's own QOS {BUILT_IN_QOS}, which its users may "
                "not have, and is refused",
                f"use one of {', '.join(allowed)}",
            )


def partition_nobody_may_use(subject: Subject) -> Iterator[Finding]:
    """A partition that no account of the policy can submit to."""
    policy = subject.policy
    for name, partition in subject.open_partitions():
        if not accounts_of(policy, partition):
            yield Finding(
                "partition-nobody-may-use",
                "error",
                f"partitions.{name}",
                "no account may use it",
                "add an account, or correct allow_accounts and allow_qos",
            )


def account_of_parallelcluster(subject: Subject) -> Iterator[Finding]:
    """ParallelCluster's own account, which its head node makes again at every start."""
    if subject.parallelcluster and PARALLELCLUSTER_ACCOUNT in subject.policy.accounts:
        yield Finding(
            "account-of-parallelcluster",
            "error",
            f"accounts.{PARALLELCLUSTER_ACCOUNT}",
            "ParallelCluster makes this account for itself, with its own users as administrators, "
            "who then have what the policy gives it",
            "take another name",
        )


def tier_open_to_all(subject: Subject) -> Iterator[Finding]:
    """A partition that preempts others and that everybody may use."""
    for name, partition in subject.open_partitions():
        victims = [n for n, _ in subject.open_partitions() if name in subject.preemptors(n)]
        everybody = not partition.allow_accounts or ROOT_ACCOUNT in partition.allow_accounts
        if victims and everybody and not partition.allow_qos:
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
        if name in _SYSTEM_USERS or name.startswith("systemd-"):
            yield Finding(
                "system-user",
                "error",
                f"users.{name}",
                "an account of the operating system, shared by whoever runs as it, may run jobs",
                "name people",
            )


def system_uid(subject: Subject) -> Iterator[Finding]:
    """A node cannot make a user whose uid the image has given already."""
    for name, user in sorted(subject.policy.users.items()):
        owner = _SYSTEM_UIDS.get(user.uid or 0)
        if owner is not None:
            yield Finding(
                "system-uid",
                "error",
                f"users.{name}.uid",
                f"{user.uid} is {owner}, and a node that is to make {name} does not boot",
                "use another one, such as 2001",
            )


RULES = (
    qos_must_be_typed,
    limits_of_two_qos,
    native_partition_open,
    built_in_qos,
    no_default_qos,
    partition_nobody_may_use,
    account_of_parallelcluster,
    tier_open_to_all,
    system_user,
    system_uid,
)
