"""A policy as the configuration files of a Slurm that trainshed runs itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from .nodes import NodeGroup, with_gpus
from .policy import SlurmPolicy
from .settings import (
    Setting,
    cluster_settings,
    parameters,
    partition_order,
    partition_settings,
)

CHECKS_PARTITION = "trainshed"
"""The partition of trainshed's own jobs over every node: the first job and checks of nodes."""

_MADE_BY = "# Made by trainshed from the institution's policy. Changes here are lost."


@dataclass(frozen=True)
class BareCluster:
    """What slurm.conf says of the cluster itself and not of its policy.

    Args:
        name: Name of the cluster, in lower case.
        controller: Host name of the head node.
        accounting_host: Host of slurmdbd. Default: the head node itself.
        state_dir: Where slurmctld keeps its state.
        log_dir: Where the daemons log.
        configless: Nodes fetch their files from slurmctld.
        prolog: Script that each node of a job runs before it. None: there is none.
        task_prolog: Script whose output becomes the environment of a task: what NCCL and EFA need
            on its node. None: there is none.
        reboot_program: What ``scontrol reboot`` runs on a node. None: it cannot reboot nodes.
        health_check: Program that every node runs each minute, whatever its state; that a silent
            node is noticed rests on it. None: there is none.
        checks_partition: Partition of trainshed's own jobs, over every node; root alone sees it
            and submits to it. None: there is none.
        slurm_version: Version of Slurm. Ubuntu 24.04 has 23.11.
        extra: More settings, by key. A key of the policy cannot be written twice.
    """

    name: str
    controller: str
    accounting_host: str = "localhost"
    state_dir: str = "/var/lib/slurm/slurmctld"
    log_dir: str = "/var/log/slurm"
    configless: bool = True
    prolog: str | None = "/opt/trainshed/current/health/prolog.sh"
    task_prolog: str | None = "/opt/trainshed/current/task_prolog.sh"
    reboot_program: str | None = "/usr/sbin/reboot"
    health_check: str | None = "/opt/trainshed/current/health/health_program.sh"
    checks_partition: str | None = CHECKS_PARTITION
    slurm_version: tuple[int, int] = (23, 11)
    extra: Mapping[str, str | int] = field(default_factory=lambda: MappingProxyType({}))


def slurm_conf(
    policy: SlurmPolicy,
    groups: Sequence[NodeGroup],
    cluster: BareCluster,
    *,
    with_qos: bool = True,
) -> str:
    """Return slurm.conf.

    Args:
        policy: The policy.
        groups: Nodes of the cluster. Groups with fixed names become NodeName lines; the nodes of
            others join by themselves and carry the group's name as a feature.
        cluster: The cluster itself.
        with_qos: Partitions name their QOS; False for a first start before the database has them.

    Raises:
        ValueError: A partition names a queue that is not there or has the name of trainshed's own,
            a key is written twice, or nodes that join by themselves have a topology.
    """
    settings = _daemon_settings(policy, groups, cluster) + cluster_settings(policy, groups)
    keys = {key.lower() for key, _ in settings}
    for key, value in sorted(cluster.extra.items()):
        if key.lower() in keys:
            raise ValueError(f"extra has {key}, which the policy writes; change the policy")
        if key.lower() == "topologyplugin" and any(group.node_names is None for group in groups):
            # docs/decisions: seen on 22.05 and 24.11.
            raise ValueError(
                f"extra has {key}, and nodes join by themselves: Slurm then refuses every job, as "
                "no switch has them; leave it out, or give the queues fixed node names"
            )
        settings.append((key, value))
    lines = [_MADE_BY, *(f"{key}={value}" for key, value in settings), ""]
    for group in groups:
        lines += _node_lines(group)
    lines.append("")
    for name in partition_order(policy):
        lines.append(_line(partition_settings(policy, name, groups, with_qos=with_qos)))
    if cluster.checks_partition is not None:
        lines.append(_line(_checks_partition(policy, groups, cluster.checks_partition)))
    return "\n".join(lines) + "\n"


def gres_conf(groups: Sequence[NodeGroup]) -> str:
    """Return gres.conf: the device files of each GPU.

    Raises:
        ValueError: Nodes that join under any name have different GPUs; no line could tell them
            apart.
    """
    lines = [_MADE_BY]
    joining = {(g.shape.gpus, g.shape.gpu_type) for g in with_gpus(groups) if not g.node_names}
    if len(joining) > 1:
        kinds = ", ".join(f"{count} {kind}" for count, kind in sorted(joining))
        raise ValueError(
            f"queues have {kinds}; nodes that join under any name share one gres.conf: "
            "use one kind of GPU, or give the queues fixed node names"
        )
    for group in with_gpus(groups):
        last = group.shape.gpus - 1
        files = f"File=/dev/nvidia[0-{last}]" if last else "File=/dev/nvidia0"
        device = f"Name=gpu Type={group.shape.gpu_type} {files}"
        named = f"NodeName={group.node_names} {device}" if group.node_names else device
        if named not in lines:
            lines.append(named)
    return "\n".join(lines) + "\n"


def cgroup_conf(policy: SlurmPolicy, *, plugin: str = "autodetect") -> str:
    """Return cgroup.conf: what a job is confined to.

    Args:
        policy: The policy.
        plugin: ``autodetect``, ``cgroup/v1`` or ``cgroup/v2``.
    """
    scheduler = policy.scheduler
    confined = {
        "ConstrainCores": scheduler.confine_cores,
        "ConstrainDevices": scheduler.confine_devices,
        "ConstrainRAMSpace": scheduler.confine_memory,
    }
    lines = [_MADE_BY, f"CgroupPlugin={plugin}"]
    lines += [f"{key}={'yes' if value else 'no'}" for key, value in confined.items()]
    return "\n".join(lines) + "\n"


def _daemon_settings(
    policy: SlurmPolicy, groups: Sequence[NodeGroup], cluster: BareCluster
) -> list[Setting]:
    scheduler = policy.scheduler
    confined = scheduler.confine_cores or scheduler.confine_devices or scheduler.confine_memory
    settings: list[Setting] = [
        ("ClusterName", cluster.name),
        ("SlurmctldHost", cluster.controller),
        ("SlurmUser", "slurm"),
        ("AuthType", "auth/munge"),
        ("StateSaveLocation", cluster.state_dir),
        ("SlurmdSpoolDir", "/var/spool/slurmd"),
        ("SlurmctldPidFile", "/run/slurmctld.pid"),
        ("SlurmdPidFile", "/run/slurmd.pid"),
        ("SlurmctldLogFile", f"{cluster.log_dir}/slurmctld.log"),
        ("SlurmdLogFile", f"{cluster.log_dir}/slurmd.log"),
        ("ProctrackType", "proctrack/cgroup" if confined else "proctrack/linuxproc"),
        ("TaskPlugin", "task/cgroup,task/affinity" if confined else "task/none"),
        ("SelectType", "select/cons_tres"),
        ("SelectTypeParameters", scheduler.select),
        ("JobAcctGatherType", f"jobacct_gather/{scheduler.usage_gatherer}"),
        ("AccountingStorageType", "accounting_storage/slurmdbd"),
        ("AccountingStorageHost", cluster.accounting_host),
        ("AccountingStoragePort", 6819),
        # Not the limit of the shell that submits, which is too low for EFA.
        ("PropagateResourceLimitsExcept", "MEMLOCK"),
        *_checks(cluster),
    ]
    if with_gpus(groups):
        settings.append(("GresTypes", "gpu"))
    if cluster.configless:
        settings.append(("SlurmctldParameters", "enable_configless"))
    # Without it a job whose prolog fails on one node is held, though another node could run it.
    own = ("nohold_on_prolog_fail",) if cluster.prolog is not None else ()
    settings += parameters(scheduler, cluster.slurm_version, own)
    if own and "SchedulerParameters" not in dict(settings):
        settings.append(("SchedulerParameters", ",".join(own)))
    if scheduler.job_completion_file is None:
        settings.append(("JobCompType", "jobcomp/none"))
    else:
        settings += [
            ("JobCompType", "jobcomp/filetxt"),
            ("JobCompLoc", scheduler.job_completion_file),
        ]
    if any(group.node_names is None for group in groups):
        most = sum(group.count for group in groups)
        settings += [
            # A lost node's record stays until it is deleted, so there is room for two of each.
            ("MaxNodeCount", 2 * most),
            ("TreeWidth", 65533),
            # Slurm calls no silent node DOWN, which would start its jobs elsewhere while they may
            # still run there: whoever replaces nodes ends the instance first.
            ("SlurmdTimeout", 0),
        ]
    return settings


def _checks(cluster: BareCluster) -> list[Setting]:
    programs = {
        "Prolog": cluster.prolog,
        "TaskProlog": cluster.task_prolog,
        "RebootProgram": cluster.reboot_program,
    }
    settings: list[Setting] = [(key, program) for key, program in programs.items() if program]
    if cluster.health_check:
        settings += [
            ("HealthCheckProgram", cluster.health_check),
            # More than the 60 s that Slurm gives a check; 26.05 objects otherwise.
            ("HealthCheckInterval", 65),
            ("HealthCheckNodeState", "ANY"),
        ]
    return settings


def _checks_partition(policy: SlurmPolicy, groups: Sequence[NodeGroup], name: str) -> list[Setting]:
    if name in policy.partitions:
        raise ValueError(
            f"partitions.{name} has the name of trainshed's own partition, which slurm.conf has "
            "too; rename it"
        )
    settings: list[Setting] = [
        ("PartitionName", name),
        ("Nodes", ",".join(group.node_set for group in groups)),
        ("Default", "NO"),
        ("State", "UP"),
        ("MaxTime", "UNLIMITED"),
        ("DefaultTime", "00:10:00"),
        # The lowest tier: a check preempts nobody's job.
        ("PriorityTier", 1),
        ("PriorityJobFactor", 1),
        ("OverSubscribe", "NO"),
    ]
    if policy.scheduler.preempt_by == "partition_prio":
        settings.append(("PreemptMode", "OFF"))
    return [*settings, ("RootOnly", "YES"), ("Hidden", "YES")]


def _node_lines(group: NodeGroup) -> list[str]:
    if group.node_names is None:
        return [f"NodeSet={group.node_set} Feature={group.name}"]
    node = [("NodeName", group.node_names), *node_settings(group), ("State", "UNKNOWN")]
    return [_line(node), f"NodeSet={group.node_set} Nodes={group.node_names}"]


def node_settings(group: NodeGroup) -> list[Setting]:
    """Return what slurm.conf, or ``slurmd --conf`` of a joining node, says of its hardware."""
    shape = group.shape
    settings: list[Setting] = [
        ("CPUs", shape.cpus),
        ("Sockets", shape.sockets),
        ("CoresPerSocket", shape.cores_per_socket),
        ("ThreadsPerCore", shape.threads_per_core),
        ("RealMemory", shape.schedulable_memory_mib),
    ]
    if shape.gpus:
        settings.append(("Gres", f"gpu:{shape.gpu_type}:{shape.gpus}"))
    return [*settings, ("Feature", group.name)]


def _line(settings: Sequence[Setting]) -> str:
    return " ".join(f"{key}={value}" for key, value in settings)
