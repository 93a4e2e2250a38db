"""Rules on caps, times and nodes."""

from __future__ import annotations

from collections.abc import Iterator

from ..accounting import partition_groups
from ..policy import SlurmPolicy
from ..records import Partition, Qos
from ..references import accounts_of, ancestors
from .finding import Finding, Subject


def no_gpu_cap(subject: Subject) -> Iterator[Finding]:
    """T4: limits on the number of jobs do not limit GPUs."""
    policy = subject.policy
    for name, partition in subject.open_partitions():
        if partition.nodes is not None or _accounts_cap_gpus(policy, partition):
            continue
        has_qos = bool(partition.qos or partition.allow_qos)
        uncapped = [n for n, qos in _qos_of(policy, partition) if not _caps_gpus(qos)]
        if uncapped or not has_qos:
            yield Finding(
                "no-gpu-cap",
                # Without any QOS it promises no limit, as a laboratory of its own may want.
                "error" if has_qos else "warning",
                f"qos.{uncapped[0]}" if has_qos else f"partitions.{name}.qos",
                f"one job in partition {name} may take every GPU for {partition.max_time}",
                "set gpus_per_user, gpus_per_job, gpus_per_account or gpu_minutes_per_job"
                if has_qos
                else "give it a qos with a cap on GPUs",
            )


def _accounts_cap_gpus(policy: SlurmPolicy, partition: Partition) -> bool:
    accounts = accounts_of(policy, partition)
    return bool(accounts) and all(
        any(policy.accounts[above].gpus is not None for above in ancestors(policy, account))
        for account in accounts
    )


def cpus_uncapped(subject: Subject) -> Iterator[Finding]:
    """T9: CPUs and memory per GPU are defaults, not caps."""
    for name, partition in subject.open_partitions():
        if partition.whole_node:
            continue
        has_qos = bool(partition.qos or partition.allow_qos)
        open_ended = [
            n for n, qos in _qos_of(subject.policy, partition) if not qos.cpus_follow_gpus
        ]
        if open_ended or not has_qos:
            key = f"qos.{open_ended[0]}.cpus_follow_gpus" if has_qos else f"partitions.{name}.qos"
            yield Finding(
                "cpus-uncapped",
                "warning",
                key,
                f"a job with one GPU in partition {name} may take all CPUs and memory of its node "
                "and leave the other GPUs idle",
                "set it to true, with a cap on GPUs"
                if has_qos
                else "give it a qos with cpus_follow_gpus and a cap on GPUs",
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
    no_default_time,
    nodes_by_name,
    unreachable_nodes,
    shared_exclusive,
)
