"""Rules on limits beside other limits, and beside the nodes there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..accounting import partition_groups, qos_groups
from ..nodes import NodeGroup
from ..policy import SlurmPolicy
from ..records import Partition, Qos
from ..references import ancestors
from ..texts import seconds
from .finding import Finding, Severity, Subject

# A limit, and those that it stays below where it has an effect.
_BELOW = {
    "max_jobs_per_user": ("max_submit_jobs_per_user", "group_jobs"),
    "max_jobs_per_account": ("max_submit_jobs_per_account", "group_jobs"),
    "gpus_per_job": ("gpus_per_user", "gpus_per_account", "group_gpus"),
    "gpus_per_user": ("gpus_per_account", "group_gpus"),
    "gpus_per_account": ("group_gpus",),
    "group_gpus": (),
    "gpu_minutes_per_job": ("group_gpu_minutes",),
}
_GPU_CAPS = ("gpus_per_job", "gpus_per_user", "gpus_per_account", "group_gpus")
_JOBS = (
    "max_jobs_per_user",
    "max_submit_jobs_per_user",
    "max_jobs_per_account",
    "max_submit_jobs_per_account",
    "group_jobs",
)

Bound = tuple[int, str]
"""A number, and the words that say what it is."""


def limit_never_binds(subject: Subject) -> Iterator[Finding]:
    """A limit that another limit of the same policy, or the fleet, always reaches first."""
    for name, qos in sorted(subject.policy.qos.items()):
        yield from _limits_of_qos(subject, name, qos)
    for name, partition in subject.open_partitions():
        yield from _nodes_of_partition(subject, name, partition)
    yield from _caps_of_accounts(subject)


def limit_stops_all(subject: Subject) -> Iterator[Finding]:
    """Limits that together let no job run, or none that takes the defaults."""
    policy = subject.policy
    for name, qos in sorted(policy.qos.items()):
        least = qos.min_gpus_per_job
        bound = _least([*_caps(qos, _GPU_CAPS), *_gpus_there(subject, name)])
        if least is not None and bound is not None and least > bound[0]:
            yield Finding(
                "limit-stops-all",
                "error",
                f"qos.{name}.min_gpus_per_job",
                f"{least} can no job have, {bound[1]} is {bound[0]}: all of them wait for ever",
                f"use {bound[0]} or less",
            )
        yield from _default_time_above(policy, name, qos)
        for key in _zeros(qos):
            yield Finding(
                "limit-stops-all",
                "warning",
                f"qos.{name}.{key}",
                "0 lets no job run",
                "use 1 or more, or null for no limit",
            )


def _default_time_above(policy: SlurmPolicy, name: str, qos: Qos) -> Iterator[Finding]:
    limit = seconds(qos.max_time) if qos.max_time else None
    for at, partition in sorted(policy.partitions.items()):
        written = partition.default_time or partition.max_time
        default = seconds(written)
        if partition.qos == name and limit is not None and (default is None or default > limit):
            yield Finding(
                "limit-stops-all",
                "error",
                f"qos.{name}.max_time",
                f"{qos.max_time} is below the {written} of a job without -t in partition {at}, "
                "which waits for ever",
                f"use {written} or more, or a shorter default_time",
            )


def _zeros(qos: Qos) -> Iterator[str]:
    for key in _JOBS:
        if getattr(qos, key) == 0:
            yield key
    # Without the CPUs that follow, a cap of no GPUs is that of a partition for jobs without any.
    if qos.cpus_follow_gpus:
        yield from (key for key in _GPU_CAPS if getattr(qos, key) == 0)


def _limits_of_qos(subject: Subject, name: str, qos: Qos) -> Iterator[Finding]:
    at = f"qos.{name}"
    there = list(_gpus_there(subject, name))
    for key, above in _BELOW.items():
        value = getattr(qos, key)
        bounds = list(_caps(qos, above))
        if key in _GPU_CAPS:
            bounds += there
        yield from _too_high(f"{at}.{key}", value, _least(bounds))
    gpus = _least([*_caps(qos, _GPU_CAPS), *there])
    yield from _minutes_never_bind(subject.policy, name, qos, gpus)
    longest = _longest(_partitions_of(subject.policy, name))
    limit = seconds(qos.max_time) if qos.max_time else None
    if limit is not None and longest is not None and limit > longest[0]:
        yield _never_binds(
            f"{at}.max_time", qos.max_time, "the partition's max_time", longest[1], "warning"
        )


def _minutes_never_bind(
    policy: SlurmPolicy, name: str, qos: Qos, gpus: Bound | None
) -> Iterator[Finding]:
    partitions = [p for p in policy.partitions.values() if p.qos == name]
    longest = _longest(partitions)
    if gpus is None or qos.gpu_minutes_per_job is None or longest is None:
        return
    most = gpus[0] * longest[0] // 60
    ours = gpus[1] in _GPU_CAPS
    if qos.gpu_minutes_per_job > most or (ours and qos.gpu_minutes_per_job == most):
        yield Finding(
            "limit-never-binds",
            "warning" if ours else "note",
            f"qos.{name}.gpu_minutes_per_job",
            f"{qos.gpu_minutes_per_job} is never exceeded, {gpus[0]} GPUs for the partition's "
            f"max_time are {most}",
            f"use less than {most}, or leave it out",
        )


def _nodes_of_partition(subject: Subject, name: str, partition: Partition) -> Iterator[Finding]:
    have = sum(group.count for group in partition_groups(partition, subject.groups))
    there = [(have, "the number of nodes of its queues")] if have else []
    at = f"partitions.{name}"
    yield from _too_high(f"{at}.nodes", partition.nodes, _least(there))
    own = [(partition.nodes, "nodes")] if partition.nodes is not None else []
    yield from _too_high(f"{at}.nodes_per_job", partition.nodes_per_job, _least([*own, *there]))


def _caps_of_accounts(subject: Subject) -> Iterator[Finding]:
    policy = subject.policy
    have = _gpus(subject.groups)
    for name, account in sorted(policy.accounts.items()):
        above = [other for other in ancestors(policy, name) if other != name]
        for key in ("gpus", "gpu_minutes"):
            bounds = [
                (value, f"{key} of account {other}")
                for other in above
                if (value := getattr(policy.accounts[other], key)) is not None
            ]
            if key == "gpus" and have:
                bounds.append((have, "the number of GPUs of the fleet"))
            yield from _too_high(f"accounts.{name}.{key}", getattr(account, key), _least(bounds))


def _too_high(key: str, value: int | None, bound: Bound | None) -> Iterator[Finding]:
    if value is not None and bound is not None and value > bound[0]:
        # Numbers that only the fleet is too small for may be meant for a larger one.
        severity: Severity = "note" if bound[1].startswith("the number of") else "warning"
        yield _never_binds(key, value, bound[1], bound[0], severity)


def _never_binds(key: str, value: object, other: str, bound: object, severity: Severity) -> Finding:
    return Finding(
        "limit-never-binds",
        severity,
        key,
        f"{value} is never reached, {other} is {bound}",
        f"use {bound} or less, or leave {key.rsplit('.', 1)[1]} out",
    )


def _caps(qos: Qos, keys: Iterable[str]) -> Iterator[Bound]:
    return ((value, key) for key in keys if (value := getattr(qos, key)) is not None)


def _least(bounds: Iterable[Bound]) -> Bound | None:
    return min(bounds, key=lambda bound: bound[0], default=None)


def _gpus_there(subject: Subject, name: str) -> Iterator[Bound]:
    """Yield how many GPUs the jobs of a QOS can have at most, for its partitions' nodes."""
    policy = subject.policy
    have = _gpus(qos_groups(policy, name, subject.groups))
    if have:
        yield have, "the number of GPUs of its partitions"
    for partition_name, partition in policy.partitions.items():
        groups = partition_groups(partition, subject.groups)
        most = max((group.shape.gpus for group in groups), default=0)
        if partition.qos == name and partition.nodes is not None and most:
            yield partition.nodes * most, f"the number of GPUs of partitions.{partition_name}.nodes"


def _gpus(groups: Sequence[NodeGroup]) -> int:
    return sum(group.count * group.shape.gpus for group in groups)


def _partitions_of(policy: SlurmPolicy, qos: str) -> list[Partition]:
    """Return the partitions with the QOS; where none has it, those that its jobs may be in."""
    having = [p for p in policy.partitions.values() if p.qos == qos]
    return having or list(policy.partitions.values())


def _longest(partitions: Iterable[Partition]) -> tuple[int, str] | None:
    """Return the longest time limit in seconds and as it is written; None without a longest."""
    times = [(seconds(partition.max_time), partition.max_time) for partition in partitions]
    limited = [(total, text) for total, text in times if total is not None]
    return max(limited) if limited and len(limited) == len(times) else None


RULES = (limit_never_binds, limit_stops_all)
