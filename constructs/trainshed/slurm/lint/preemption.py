"""Rules on tiers, preemption, signals and priority."""

from __future__ import annotations

from collections.abc import Iterator

from ..references import account_qos
from ..texts import seconds
from .finding import Finding, Subject

_INTERACTIVE_SECONDS = 3600
_MOST_TIMES_FAIRSHARE = 10


def preempt_mode_without_effect(subject: Subject) -> Iterator[Finding]:
    """T6: preempt_mode says how a partition's own jobs are preempted."""
    partitions = subject.policy.partitions
    highest = max((p.priority_tier for p in partitions.values()), default=0)
    for name, partition in sorted(partitions.items()):
        mode = partition.preempt_mode
        if mode not in (None, "OFF") and partition.priority_tier == highest:
            yield Finding(
                "preempt-mode-without-effect",
                "warning",
                f"partitions.{name}.preempt_mode",
                f"{mode} says how its own jobs are preempted, and no partition has a higher tier: "
                "it gives no privilege",
                "use OFF; the tiers decide who preempts whom",
            )


def preemption_without_effect(subject: Subject) -> Iterator[Finding]:
    """Finding 7: what is written for another way to preempt than the policy's is not looked at."""
    policy = subject.policy
    by_qos = policy.scheduler.preempt_by == "qos"
    own = {qos for account in policy.accounts for qos in account_qos(policy, account)}
    for name, qos in sorted(policy.qos.items()):
        if qos.preempts and not by_qos:
            yield _without_effect(
                f"qos.{name}.preempts",
                f"preempt_by is {policy.scheduler.preempt_by}: its jobs preempt nobody by it",
                "use preempt_by qos, or leave it out",
            )
        elif qos.preempts and policy.accounts and not ({name} & own and {*qos.preempts} & own):
            yield _without_effect(
                f"qos.{name}.preempts",
                "a job's own QOS counts here and not its partition's, and no account has both "
                f"{name} and one of {', '.join(qos.preempts)} to give to jobs",
                "add them to the qos of accounts",
            )
    for name, partition in sorted(policy.partitions.items()) if by_qos else []:
        for key in ("preempt_mode", "grace_seconds"):
            if getattr(partition, key):
                yield _without_effect(
                    f"partitions.{name}.{key}",
                    "preempt_by is qos, which looks at the QOS of the jobs alone",
                    "leave it out, or use preempt_by partition_prio",
                )


def _without_effect(key: str, consequence: str, fix: str) -> Finding:
    return Finding("preemption-without-effect", "warning", key, consequence, fix)


def interactive_preempted(subject: Subject) -> Iterator[Finding]:
    """T7, finding 9: an interactive job is killed, not requeued."""
    for name, partition in subject.open_partitions():
        preemptors = subject.preemptors(name)
        time = seconds(partition.max_time)
        if preemptors and time is not None and time <= _INTERACTIVE_SECONDS:
            yield Finding(
                "interactive-preempted",
                "error",
                f"partitions.{name}.preempt_mode",
                f"srun and salloc in it are killed, not requeued, when {', '.join(preemptors)} "
                "needs the node",
                "use OFF",
            )


def no_grace(subject: Subject) -> Iterator[Finding]:
    """T8, finding 6: kill_wait is all the time a preempted job has."""
    scheduler = subject.policy.scheduler
    for name, partition in subject.open_partitions():
        if subject.preemptors(name) and partition.grace_seconds == 0:
            yield Finding(
                "no-grace",
                "warning",
                f"partitions.{name}.grace_seconds",
                f"a preempted job has {scheduler.kill_wait_seconds} s from SIGTERM to SIGKILL; "
                f"unkillable_timeout_seconds {scheduler.unkillable_timeout_seconds} gives it none",
                "set the time that writing a checkpoint takes",
            )
    for name, qos in sorted(subject.policy.qos.items()) if scheduler.preempt_by == "qos" else []:
        if qos.preempts:
            yield Finding(
                "no-grace",
                "warning",
                f"qos.{name}.preempts",
                f"a preempted job has {scheduler.kill_wait_seconds} s from SIGTERM to SIGKILL; the "
                "grace time is the partition's, which counts under preempt_by partition_prio alone",
                "use preempt_by partition_prio, or a longer kill_wait_seconds",
            )


def signal_after_grace(subject: Subject) -> Iterator[Finding]:
    """T8: the batch shell hears of its preemption only when the grace time is over."""
    graced = [
        name
        for name, partition in subject.open_partitions()
        if subject.preemptors(name) and partition.grace_seconds
    ]
    if graced and not subject.policy.scheduler.send_user_signal:
        yield Finding(
            "signal-after-grace",
            "warning",
            "scheduler.send_user_signal",
            f"a job of {', '.join(graced)} with --signal gets it only after the grace time",
            "set it to true",
        )


def tiers_equal(subject: Subject) -> Iterator[Finding]:
    """Finding 7: preemption by partition looks at the tier only."""
    partitions = subject.policy.partitions
    tiers = {partition.priority_tier for partition in partitions.values()}
    factors = {partition.priority_job_factor for partition in partitions.values()}
    if len(partitions) < 2:
        return
    if subject.policy.scheduler.preempt_by == "partition_prio" and len(tiers) == 1:
        yield Finding(
            "tiers-equal",
            "warning",
            "partitions.*.priority_tier",
            "all are equal, so no job is ever preempted; priority_job_factor does not count here",
            "give the partitions different tiers, or use preempt_by none",
        )
    if subject.policy.scheduler.weights.partition and len(factors) == 1:
        yield Finding(
            "tiers-equal",
            "warning",
            "partitions.*.priority_job_factor",
            "all are equal, so weights.partition changes no order",
            "give the partitions different factors, or the weight 0",
        )


def fairshare_cannot_matter(subject: Subject) -> Iterator[Finding]:
    """T12c: a weight that is lost beside another one."""
    weights = subject.policy.scheduler.weights
    largest = max(weights.partition, weights.qos)
    if weights.fairshare and weights.fairshare * _MOST_TIMES_FAIRSHARE < largest:
        yield Finding(
            "fairshare-cannot-matter",
            "warning",
            "scheduler.weights.fairshare",
            f"{weights.fairshare} is lost beside {largest}: shares decide between equal jobs only",
            f"use {largest // _MOST_TIMES_FAIRSHARE} or more",
        )


def no_ageing(subject: Subject) -> Iterator[Finding]:
    """T12c, finding 11: without age a job of a low priority may wait for ever."""
    if subject.policy.scheduler.weights.age == 0:
        yield Finding(
            "no-ageing",
            "warning",
            "scheduler.weights.age",
            "it is 0: a job does not rise while it waits, and within a tier it may wait for ever",
            "give it a weight, such as a tenth of weights.partition",
        )


def qos_priority_without_effect(subject: Subject) -> Iterator[Finding]:
    """The priority of a job's own QOS counts, and that of its partition's does not."""
    policy, weights = subject.policy, subject.policy.scheduler.weights
    if not weights.qos or weights.qos * _MOST_TIMES_FAIRSHARE < weights.partition:
        return
    own = {qos for account in policy.accounts for qos in account_qos(policy, account)}
    for name, qos in sorted(policy.qos.items()):
        if qos.priority and name not in own:
            yield Finding(
                "qos-priority-without-effect",
                "warning",
                f"qos.{name}.priority",
                "a job's own QOS counts here and not its partition's, and no account has this one",
                "use priority_job_factor of the partition, or add it to the qos of accounts",
            )


RULES = (
    preempt_mode_without_effect,
    preemption_without_effect,
    interactive_preempted,
    no_grace,
    signal_after_grace,
    tiers_equal,
    fairshare_cannot_matter,
    no_ageing,
    qos_priority_without_effect,
)
