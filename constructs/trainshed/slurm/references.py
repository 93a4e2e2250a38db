"""Whether the names in a policy refer to something, and its values go together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from .texts import seconds

if TYPE_CHECKING:
    from .policy import SlurmPolicy
    from .records import Partition

BUILT_IN_QOS = "normal"
"""The QOS that slurmdbd makes itself; it has no limits."""
# A priority has 32 bits; slurmctld: "PriorityWeight values too high, job priority value may
# overflow", every version.
_MOST_PRIORITY = 2**32 - 1
ROOT_ACCOUNT = "root"
"""The account above all others, which slurmdbd makes itself."""


def reference_faults(policy: SlurmPolicy) -> list[str]:
    """Return what a policy names that does not exist or contradicts itself, a line each."""
    return [
        *_partition_faults(policy),
        *_qos_faults(policy),
        *_account_faults(policy),
        *_user_faults(policy),
        *_scheduler_faults(policy),
    ]


def ancestors(policy: SlurmPolicy, account: str) -> Iterator[str]:
    """Yield an account and those above it, up to the root, which is left out."""
    seen: set[str] = set()
    at: str | None = account
    while at is not None and at in policy.accounts and at not in seen:
        seen.add(at)
        yield at
        at = policy.accounts[at].parent


def account_qos(policy: SlurmPolicy, account: str) -> tuple[str, ...]:
    """Return the QOS that users of an account may have, inherited ones included."""
    for name in ancestors(policy, account):
        if policy.accounts[name].qos:
            return policy.accounts[name].qos
    return (BUILT_IN_QOS,)


def account_default_qos(policy: SlurmPolicy, account: str) -> str | None:
    """Return the QOS of a job of an account that asks for none."""
    for name in ancestors(policy, account):
        if policy.accounts[name].default_qos:
            return policy.accounts[name].default_qos
    return None


def with_accounts_below(policy: SlurmPolicy, accounts: Iterable[str]) -> tuple[str, ...]:
    """Return the accounts and all those below them, sorted."""
    wanted = set(accounts)
    if ROOT_ACCOUNT in wanted:
        return tuple(sorted({*policy.accounts, ROOT_ACCOUNT}))
    return tuple(sorted(a for a in policy.accounts if wanted & set(ancestors(policy, a))))


def accounts_of(policy: SlurmPolicy, partition: Partition) -> list[str]:
    """Return the accounts whose jobs may enter a partition."""
    allowed = with_accounts_below(policy, partition.allow_accounts)
    return [
        account
        for account in sorted(policy.accounts)
        if (not allowed or account in allowed)
        and (
            not partition.allow_qos or set(partition.allow_qos) & set(account_qos(policy, account))
        )
    ]


def _unknown(key: str, names: Iterable[str | None], known: Iterable[str], what: str) -> list[str]:
    have = sorted(known)
    return [
        f"{key} names {name}, which is no {what}; use one of {', '.join(have) or 'none: add one'}"
        for name in names
        if name is not None and name not in have
    ]


def _partition_faults(policy: SlurmPolicy) -> Iterator[str]:
    qos = {*policy.qos, BUILT_IN_QOS}
    for name, partition in policy.partitions.items():
        key = f"partitions.{name}"
        yield from _unknown(f"{key}.qos", [partition.qos], policy.qos, "QOS of this policy")
        yield from _unknown(f"{key}.allow_qos", partition.allow_qos, qos, "QOS of this policy")
        yield from _unknown(
            f"{key}.allow_accounts",
            partition.allow_accounts,
            {*policy.accounts, ROOT_ACCOUNT},
            "account of this policy",
        )
        if partition.queues and partition.node_names:
            yield f"{key} has queues and node_names; use queues alone"
        longest = seconds(partition.max_time)
        default = seconds(partition.default_time) if partition.default_time else 0
        if longest is not None and (default is None or default > longest):
            yield (
                f"{key}.default_time is {partition.default_time}, longer than max_time "
                f"{partition.max_time}; use {partition.max_time} or less"
            )
        sharing = [n for n, p in policy.partitions.items() if p.qos and p.qos == partition.qos]
        if partition.nodes is not None and sharing != [name]:
            yield (
                f"{key}.nodes is {partition.nodes}, which is a limit of the partition's QOS; "
                "give it a qos that no other partition has"
            )
    defaults = [name for name, partition in policy.partitions.items() if partition.default]
    if len(defaults) > 1:
        yield f"partitions {', '.join(defaults)} are all default; keep default on one"


def _qos_faults(policy: SlurmPolicy) -> Iterator[str]:
    for name, qos in policy.qos.items():
        key = f"qos.{name}.preempts"
        yield from _unknown(key, qos.preempts, policy.qos, "QOS of this policy")
    graph = {name: qos.preempts for name, qos in policy.qos.items()}
    for name in graph:
        if name in _reachable(graph, name):
            yield f"qos.{name}.preempts leads back to {name}; leave one of the circle out"


def _reachable(graph: Mapping[str, tuple[str, ...]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph.get(start, ()))
    while waiting:
        at = waiting.pop()
        if at not in found:
            found.add(at)
            waiting.extend(graph.get(at, ()))
    return found


def _account_faults(policy: SlurmPolicy) -> Iterator[str]:
    parents = {name: (account.parent,) for name, account in policy.accounts.items()}
    graph = {name: tuple(p for p in parent if p) for name, parent in parents.items()}
    for name, account in policy.accounts.items():
        key = f"accounts.{name}"
        if name == ROOT_ACCOUNT:
            yield f"{key}: Slurm makes the account {ROOT_ACCOUNT} itself; choose another name"
        yield from _unknown(
            f"{key}.parent", [account.parent], policy.accounts, "account of this policy"
        )
        yield from _unknown(
            f"{key}.qos", account.qos, {*policy.qos, BUILT_IN_QOS}, "QOS of this policy"
        )
        if name in _reachable(graph, name):
            yield f"{key}.parent leads back to {name}; one account of the circle has no parent"
        allowed = account_qos(policy, name)
        default = account_default_qos(policy, name)
        if default is not None and default not in allowed:
            inherited = "" if account.default_qos else " from the account above"
            yield (
                f"{key}.default_qos is {default}{inherited}, which its users may not have; "
                f"use one of {', '.join(allowed)}"
            )


def _user_faults(policy: SlurmPolicy) -> Iterator[str]:
    for name, user in policy.users.items():
        key = f"users.{name}"
        yield from _unknown(
            f"{key}.account", [user.account], policy.accounts, "account of this policy"
        )
        yield from _unknown(
            f"{key}.more_accounts", user.more_accounts, policy.accounts, "account of this policy"
        )
        twice = [a for a, n in Counter((user.account, *user.more_accounts)).items() if n > 1]
        if twice:
            yield f"{key} has the account {', '.join(twice)} twice; name each once"
    uids = Counter(user.uid for user in policy.users.values() if user.uid is not None)
    for uid, count in uids.items():
        if count > 1:
            owners = sorted(n for n, user in policy.users.items() if user.uid == uid)
            yield f"users {', '.join(owners)} have the same uid {uid}; give each its own"


def _scheduler_faults(policy: SlurmPolicy) -> Iterator[str]:
    scheduler = policy.scheduler
    if scheduler.preempt_by != "none" and scheduler.preempt_mode == "OFF":
        # slurmctld: "PreemptType and PreemptMode values incompatible", on every version.
        yield (
            f"scheduler.preempt_mode is OFF while preempt_by is {scheduler.preempt_by}; "
            "use preempt_by none, or preempt_mode OFF on the partitions that are safe"
        )
    weights = scheduler.weights
    total = weights.partition + weights.qos + weights.fairshare + weights.age + weights.job_size
    if total > _MOST_PRIORITY:
        yield (
            f"scheduler.weights are {total} together, and a job's priority ends at "
            f"{_MOST_PRIORITY}; make all of them smaller"
        )
