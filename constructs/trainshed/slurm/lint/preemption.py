"""Rules on tiers, preemption, signals and priority."""

from __future__ import annotations

from collections.abc import Iterator

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


RULES = (
    preempt_mode_without_effect,
    interactive_preempted,
    no_grace,
    signal_after_grace,
    tiers_equal,
    fairshare_cannot_matter,
    no_ageing,
)
