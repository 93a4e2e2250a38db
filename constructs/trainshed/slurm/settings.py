"""The lines of slurm.conf that a policy decides, the same for every backend."""

from __future__ import annotations

from collections.abc import Sequence

from .accounting import partition_groups
from .nodes import NodeGroup, with_gpus
from .policy import SlurmPolicy
from .records import Partition
from .references import with_accounts_below
from .scheduler import Scheduler, Weights

Setting = tuple[str, str | int]
"""A key of slurm.conf and its value."""

# The key is fatal to 22.05; 24.11 and 26.05 no longer look at the older scheduler parameter.
_PREEMPT_PARAMETERS = (23, 2)


def cluster_settings(policy: SlurmPolicy, groups: Sequence[NodeGroup]) -> list[Setting]:
    """Return the settings of the whole cluster, in a fixed order."""
    scheduler = policy.scheduler
    return [
        ("SchedulerType", "sched/backfill"),
        *_preemption(scheduler),
        *_priority(scheduler.weights),
        ("EnforcePartLimits", scheduler.enforce_partition_limits),
        ("KillWait", scheduler.kill_wait_seconds),
        ("UnkillableStepTimeout", scheduler.unkillable_timeout_seconds),
        *_defaults(scheduler, groups),
        ("ReturnToService", scheduler.return_to_service),
        *_optional("MailProg", scheduler.mail_program),
        ("AccountingStorageEnforce", ",".join(sorted(scheduler.enforce_accounting)) or "none"),
        ("AccountingStorageTRES", ",".join(tracked_resources(scheduler))),
    ]


def tracked_resources(scheduler: Scheduler) -> list[str]:
    """Return every resource in accounting, Slurm's own first."""
    own = ["cpu", "mem", "energy", "node", "billing"]
    return own + sorted(set(scheduler.tracked_resources) - set(own))


def parameters(
    scheduler: Scheduler, slurm_version: tuple[int, int], own: Sequence[str] = ()
) -> list[Setting]:
    """Return PreemptParameters and SchedulerParameters, if there is anything to say.

    Args:
        scheduler: The scheduler's settings.
        slurm_version: Version of Slurm, such as ``(23, 11)``.
        own: Scheduler parameters that the backend writes itself and a second line would lose.
    """
    lines: list[Setting] = []
    options = list(scheduler.parameters)
    if scheduler.send_user_signal and slurm_version >= _PREEMPT_PARAMETERS:
        lines.append(("PreemptParameters", "send_user_signal"))
    elif scheduler.send_user_signal:
        options.insert(0, "preempt_send_user_signal")
    if options:
        lines.append(("SchedulerParameters", ",".join(dict.fromkeys([*own, *options]))))
    return lines


def partition_settings(
    policy: SlurmPolicy, name: str, groups: Sequence[NodeGroup], *, with_qos: bool = True
) -> list[Setting]:
    """Return the line of one partition.

    Args:
        policy: The policy.
        name: Name of the partition.
        groups: Nodes of the cluster.
        with_qos: Name QOS and accounts. False: the partition is closed instead, for a first start
            before the database has them.

    Raises:
        ValueError: The partition names a queue that is not there, or has no nodes.
    """
    partition = policy.partitions[name]
    line: list[Setting] = [
        ("PartitionName", name),
        ("Nodes", _nodes(name, partition, groups)),
        ("Default", _yes(partition.default)),
        ("State", "UP" if with_qos else "DOWN"),
        ("MaxTime", partition.max_time),
        *_optional("DefaultTime", partition.default_time),
        *_optional("MaxNodes", partition.nodes_per_job),
        ("PriorityTier", partition.priority_tier),
        ("PriorityJobFactor", partition.priority_job_factor),
        ("OverSubscribe", "EXCLUSIVE" if partition.whole_node else "NO"),
    ]
    # The cluster's defaults fit on its leanest node; a partition of richer ones has its own.
    everywhere = _defaults(policy.scheduler, groups)
    own = _defaults(policy.scheduler, partition_groups(partition, groups))
    line += [default for default in own if default not in everywhere]
    if policy.scheduler.preempt_by == "partition_prio":
        line += _optional("PreemptMode", partition.preempt_mode)
    line += [("GraceTime", partition.grace_seconds)]
    if with_qos:
        line += _optional("QOS", partition.qos)
        line += _list("AllowQos", partition.allow_qos)
        line += _list("AllowAccounts", with_accounts_below(policy, partition.allow_accounts))
    line += [("RootOnly", _yes(partition.root_only)), ("Hidden", _yes(partition.hidden))]
    return line


def partition_order(policy: SlurmPolicy) -> list[str]:
    """Return the partitions, lowest tier first, then by name."""
    return sorted(policy.partitions, key=lambda n: (policy.partitions[n].priority_tier, n))


def _preemption(scheduler: Scheduler) -> list[Setting]:
    if scheduler.preempt_by == "none":
        return [("PreemptType", "preempt/none"), ("PreemptMode", "OFF")]
    settings: list[Setting] = [
        ("PreemptType", f"preempt/{scheduler.preempt_by}"),
        ("PreemptMode", scheduler.preempt_mode),
    ]
    return settings + _optional("PreemptExemptTime", scheduler.preempt_exempt_time)


def _priority(weights: Weights) -> list[Setting]:
    return [
        ("PriorityType", "priority/multifactor"),
        ("PriorityDecayHalfLife", weights.decay_half_life),
        ("PriorityMaxAge", weights.max_age),
        ("PriorityWeightAge", weights.age),
        ("PriorityWeightFairshare", weights.fairshare),
        ("PriorityWeightJobSize", weights.job_size),
        ("PriorityWeightPartition", weights.partition),
        ("PriorityWeightQOS", weights.qos),
    ]


def _defaults(scheduler: Scheduler, groups: Sequence[NodeGroup]) -> list[Setting]:
    """Defaults must fit on the leanest node, so the smallest share of any group is taken."""
    shapes = [group.shape for group in groups]
    gpu_shapes = [group.shape for group in with_gpus(groups)]
    cpus = scheduler.cpus_per_gpu
    gpu_memory = scheduler.memory_per_gpu_mib
    cpu_memory = scheduler.memory_per_cpu_mib
    if cpus is None:
        cpus = min((shape.cpus_per_gpu for shape in gpu_shapes), default=None)
    if gpu_memory is None:
        gpu_memory = min((shape.memory_per_gpu_mib for shape in gpu_shapes), default=None)
    if cpu_memory is None:
        cpu_memory = min((s.schedulable_memory_mib // s.cpus for s in shapes), default=None)
    return [
        *_optional("DefCpuPerGPU", cpus),
        *_optional("DefMemPerCPU", cpu_memory or None),
        *_optional("DefMemPerGPU", gpu_memory),
    ]


def _nodes(name: str, partition: Partition, groups: Sequence[NodeGroup]) -> str:
    if partition.node_names is not None:
        return partition.node_names
    known = [group.name for group in groups]
    unknown = [queue for queue in partition.queues if queue not in known]
    if unknown or not known:
        raise ValueError(
            f"partitions.{name}.queues names {', '.join(unknown) or 'no queue'}; "
            f"use one of {', '.join(known) or 'none: the fleet has no queue'}"
        )
    return ",".join(group.node_set for group in partition_groups(partition, groups))


def _optional(key: str, value: str | int | None) -> list[Setting]:
    return [] if value is None else [(key, value)]


def _list(key: str, values: Sequence[str]) -> list[Setting]:
    return [(key, ",".join(values))] if values else []


def _yes(value: bool) -> str:
    return "YES" if value else "NO"
