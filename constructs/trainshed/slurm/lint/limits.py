"""Rules on caps, times and nodes."""

from __future__ import annotations

from collections.abc import Iterator

from ..accounting import partition_groups
from ..policy import SlurmPolicy
from ..records import Partition, Qos
from ..texts import seconds
from .finding import Finding, Subject


def no_gpu_cap(subject: Subject) -> Iterator[Finding]:
    """T4: limits on the number of jobs do not limit GPUs."""
    for name, partition in subject.open_partitions():
        uncapped = [n for n, qos in _qos_of(subject.policy, partition) if not _caps_gpus(qos)]
        if uncapped and partition.nodes is None:
            yield Finding(
                "no-gpu-cap",
                "error",
                f"qos.{uncapped[0]}",
                f"one job in partition {name} may take every GPU for {partition.max_time}",
                "set gpus_per_user, gpus_per_job, gpus_per_account or gpu_minutes_per_job",
            )


def cpus_uncapped(subject: Subject) -> Iterator[Finding]:
    """T9: CPUs and memory per GPU are defaults, not caps."""
    for name, partition in subject.open_partitions():
        open_ended = [
            n for n, qos in _qos_of(subject.policy, partition) if not qos.cpus_follow_gpus
        ]
        if open_ended and not partition.whole_node:
            yield Finding(
                "cpus-uncapped",
                "warning",
                f"qos.{open_ended[0]}.cpus_follow_gpus",
                f"a job with one GPU in partition {name} may take all CPUs and memory of its node "
                "and leave the other GPUs idle",
                "set it to true, with a cap on GPUs",
            )


def limit_never_binds(subject: Subject) -> Iterator[Finding]:
    """A limit that another limit of the same policy always reaches first."""
    policy = subject.policy
    for name, qos in sorted(policy.qos.items()):
        for key, value, other, bound in (
            (
                "max_jobs_per_user",
                qos.max_jobs_per_user,
                "max_submit_jobs_per_user",
                qos.max_submit_jobs_per_user,
            ),
            (
                "max_jobs_per_account",
                qos.max_jobs_per_account,
                "max_submit_jobs_per_account",
                qos.max_submit_jobs_per_account,
            ),
            ("gpus_per_user", qos.gpus_per_user, "gpus_per_account", qos.gpus_per_account),
            ("gpus_per_account", qos.gpus_per_account, "group_gpus", qos.group_gpus),
            ("gpus_per_job", qos.gpus_per_job, "gpus_per_user", qos.gpus_per_user),
        ):
            if value is not None and bound is not None and value > bound:
                yield Finding(
                    "limit-never-binds",
                    "warning",
                    f"qos.{name}.{key}",
                    f"{value} is never reached, {other} is {bound}",
                    f"use {bound} or less, or leave {key} out",
                )
        yield from _minutes_never_bind(policy, name, qos)
    for name, partition in subject.open_partitions():
        have = sum(group.count for group in partition_groups(partition, subject.groups))
        if partition.nodes is not None and 0 < have < partition.nodes:
            yield Finding(
                "limit-never-binds",
                "warning",
                f"partitions.{name}.nodes",
                f"{partition.nodes} is never reached, its queues have {have} nodes",
                f"use {have} or less, or leave nodes out",
            )


def _minutes_never_bind(policy: SlurmPolicy, name: str, qos: Qos) -> Iterator[Finding]:
    gpus = qos.gpus_per_job if qos.gpus_per_job is not None else qos.gpus_per_user
    times = [seconds(p.max_time) for p in policy.partitions.values() if p.qos == name]
    longest = max((t or 0 for t in times), default=0)
    if gpus is None or qos.gpu_minutes_per_job is None or not longest or None in times:
        return
    most = gpus * longest // 60
    if qos.gpu_minutes_per_job >= most:
        yield Finding(
            "limit-never-binds",
            "warning",
            f"qos.{name}.gpu_minutes_per_job",
            f"{qos.gpu_minutes_per_job} is never exceeded, {gpus} GPUs for the partition's "
            f"max_time are {most}",
            f"use less than {most}, or leave it out",
        )


def no_default_time(subject: Subject) -> Iterator[Finding]:
    """T12b: a job that gives no time takes the longest one."""
    for name, partition in subject.open_partitions():
        if partition.default_time is None:
            yield Finding(
                "no-default-time",
                "warning",
                f"partitions.{name}.default_time",
                f"a job without -t claims {partition.max_time}; backfill fits nothing around it",
                "set what most jobs need",
            )


def nodes_by_name(subject: Subject) -> Iterator[Finding]:
    """T12: a list of node names is wrong after the next change of the fleet."""
    for name, partition in sorted(subject.policy.partitions.items()):
        if partition.node_names is not None:
            yield Finding(
                "nodes-by-name",
                "error",
                f"partitions.{name}.node_names",
                f"nodes beyond {partition.node_names} are out of its reach, and a renamed or "
                "removed node stops slurmctld",
                "leave it out, and set queues and nodes",
            )


def unreachable_nodes(subject: Subject) -> Iterator[Finding]:
    """Nodes that are paid for and that no partition has."""
    reached = {
        group.name
        for _, partition in subject.open_partitions()
        if partition.node_names is None
        for group in partition_groups(partition, subject.groups)
    }
    named = any(p.node_names for _, p in subject.open_partitions())
    for group in subject.groups:
        if group.name not in reached and not named:
            yield Finding(
                "unreachable-nodes",
                "error",
                f"queues.{group.name}",
                f"no partition for users has its {group.count} nodes",
                f"add {group.name} to the queues of a partition",
            )


def shared_exclusive(subject: Subject) -> Iterator[Finding]:
    """T5: a partition called exclusive that shares its nodes."""
    for name, partition in subject.open_partitions():
        if "exclusive" in name.lower() and not partition.whole_node:
            yield Finding(
                "shared-exclusive",
                "error",
                f"partitions.{name}.whole_node",
                "other users' jobs run on the same nodes beside its jobs",
                "set whole_node to true and preempt_mode to OFF",
            )


def _qos_of(policy: SlurmPolicy, partition: Partition) -> list[tuple[str, Qos]]:
    """Return the QOS of the policy whose limits hold for jobs in a partition."""
    names = (partition.qos,) if partition.qos else partition.allow_qos
    return [(name, policy.qos[name]) for name in names if name in policy.qos]


def _caps_gpus(qos: Qos) -> bool:
    caps = (
        qos.gpus_per_job,
        qos.gpus_per_user,
        qos.gpus_per_account,
        qos.group_gpus,
        qos.gpu_minutes_per_job,
        qos.group_gpu_minutes,
    )
    return any(cap is not None for cap in caps)


RULES = (
    no_gpu_cap,
    cpus_uncapped,
    limit_never_binds,
    no_default_time,
    nodes_by_name,
    unreachable_nodes,
    shared_exclusive,
)
