"""Alarms of a fleet: its head node, its scheduler, its GPUs and EFA, by the agent's metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from .agent import NAMESPACE, NodeAgent, NodeRole
from .alarms import ABOVE, AT_LEAST, BELOW, FINE, RAISED, UNKNOWN, AlarmSpec
from .note import Severity

_MINUTE = cdk.Duration.minutes(1)
_FIVE_MINUTES = cdk.Duration.minutes(5)
_WHICH = "The same metric by InstanceId says which."


class WatchedFleet(Protocol):
    """What a fleet tells of itself: every ``ClusterFleet`` does."""

    @property
    def cluster_name(self) -> str:
        """Name of the cluster."""

    @property
    def head_node_instance_id(self) -> str:
        """EC2 id of the head node."""


def of_head_node(fleet: WatchedFleet) -> tuple[AlarmSpec, ...]:
    """Return the alarm that needs no agent: the status checks of the head node."""
    return (
        AlarmSpec(
            name="HeadNodeStatus",
            metric=cloudwatch.Metric(
                namespace="AWS/EC2",
                metric_name="StatusCheckFailed",
                statistic="Maximum",
                period=_MINUTE,
                dimensions_map={"InstanceId": fleet.head_node_instance_id},
            ),
            threshold=1,
            comparison=AT_LEAST,
            periods=3,
            datapoints=2,
            missing=RAISED,
            severity="critical",
            summary=f"The head node of {fleet.cluster_name} fails its status checks",
            details="Running jobs go on; nothing new starts.",
            do="Look at its system log in the EC2 console; reboot it, and if AWS is at fault stop "
            "and start it.",
        ),
    )


def of_login_pool(group_name: str) -> AlarmSpec:
    """Return the alarm on the status checks of the login nodes of an Auto Scaling group."""
    return AlarmSpec(
        name="LoginNodeStatus",
        metric=cloudwatch.Metric(
            namespace="AWS/EC2",
            metric_name="StatusCheckFailed",
            statistic="Maximum",
            period=_MINUTE,
            dimensions_map={"AutoScalingGroupName": group_name},
        ),
        threshold=1,
        comparison=AT_LEAST,
        periods=5,
        # A pool of no nodes sends nothing.
        missing=UNKNOWN,
        severity="warning",
        summary=f"A login node of {group_name} fails its status checks",
        details="Users on it are cut off; jobs run on. The group puts another one in its place.",
        do="If it is not replaced within minutes, look at the group's activity and the system log.",
    )


def of_role(agent: NodeAgent) -> tuple[AlarmSpec, ...]:
    """Return the alarms on memory and disks of the nodes of a role."""
    where = f"a {agent.role} node of {agent.cluster_name}"
    severity: Severity = "critical" if agent.role is NodeRole.HEAD else "warning"
    memory = AlarmSpec(
        name=f"{agent.role.capitalize()}Memory",
        metric=agent_metric(agent, "mem_used_percent", "Maximum", _MINUTE),
        threshold=95,
        comparison=ABOVE,
        periods=10,
        missing=UNKNOWN,
        severity=severity,
        summary=f"The memory of {where} is nearly used up",
        details=_WHICH,
        do="`ps aux --sort=-rss | head` on it; on login nodes ask the user to use a job.",
        section="node-memory",
    )
    disks = (
        AlarmSpec(
            name=f"{agent.role.capitalize()}Disk{_words(path)}",
            metric=cloudwatch.Metric(
                namespace=NAMESPACE,
                metric_name="disk_used_percent",
                statistic="Maximum",
                period=_FIVE_MINUTES,
                dimensions_map=agent.disk_dimensions(path),
            ),
            threshold=90,
            comparison=ABOVE,
            periods=3,
            missing=UNKNOWN,
            severity=severity,
            summary=f"The disk {path} of {where} is nearly full",
            details=_WHICH,
            do="`du -xh --max-depth=2` on it; slurmctld stops when its state cannot be written.",
            section="node-disk",
        )
        for path in agent.disks
    )
    return (memory, *disks)


def of_scheduler(agent: NodeAgent) -> tuple[AlarmSpec, ...]:
    """Return the alarms on Slurm's daemons, nodes and queue, which the head node reports."""
    cluster = agent.cluster_name
    daemons = tuple(
        AlarmSpec(
            name=f"{daemon.capitalize()}Down",
            metric=agent_metric(agent, f"{daemon}_up", "Minimum", _MINUTE),
            threshold=1,
            comparison=BELOW,
            periods=3,
            missing=RAISED,
            severity="critical",
            summary=f"{daemon} of {cluster} does not answer",
            details=effect,
            do=f"`journalctl -u {daemon} -n 100` on the head node; most often the last change of "
            "the configuration, or a full disk.",
        )
        for daemon, effect in (
            ("slurmctld", "Running jobs go on; nothing starts or ends properly."),
            ("slurmdbd", "Jobs run; limits and accounting rest on what slurmctld remembers."),
        )
    )
    return (
        *daemons,
        AlarmSpec(
            name="NodesDown",
            metric=agent_metric(agent, "nodes_down", "Maximum", _MINUTE),
            threshold=1,
            comparison=AT_LEAST,
            periods=5,
            missing=UNKNOWN,
            severity="critical",
            summary=f"Nodes of {cluster} are down",
            do="`sinfo -R` says why; a node that does not come back is replaced by the fleet.",
        ),
        AlarmSpec(
            name="NodesDrained",
            metric=agent_metric(agent, "nodes_drained", "Minimum", _FIVE_MINUTES),
            threshold=1,
            comparison=AT_LEAST,
            periods=12,
            missing=UNKNOWN,
            severity="warning",
            summary=f"Nodes of {cluster} have been drained for an hour",
            do="`sinfo -R` says why; resume or replace them, they cost the same.",
        ),
        AlarmSpec(
            name="JobsWaiting",
            metric=agent_metric(agent, "pending_minutes", "Maximum", _FIVE_MINUTES),
            threshold=24 * 60,
            comparison=ABOVE,
            periods=3,
            missing=UNKNOWN,
            severity="info",
            summary=f"A job of {cluster} has waited for more than a day",
            do="`squeue -t PD --Format=jobid,reason,username` says for what.",
        ),
    )


def of_gpus(agent: NodeAgent) -> tuple[AlarmSpec, ...]:
    """Return the alarms on GPUs and EFA of the compute nodes."""
    cluster = agent.cluster_name
    drained = "`sinfo -R` names it, drained by its check; let it be replaced and tell AWS Support."
    # Metric, statistic, severity, minutes (of 60: one), what, what to do.
    table: Sequence[tuple[str, str, str, Severity, int, str, str]] = (
        ("GpuLost", "gpus_missing", "Maximum", "critical", 2, "has lost a GPU", drained),
        ("XidHardware", "xid_hardware", "Sum", "critical", 60, "reports a hardware Xid", drained),
        (
            "XidApplication",
            "xid_application",
            "Sum",
            "info",
            60,
            "reports an Xid that programs cause",
            "`dmesg | grep Xid` names the process; tell its owner. The node stays in use.",
        ),
        ("GpuEcc", "ecc_uncorrected", "Sum", "critical", 60, "has uncorrected ECC errors", drained),
        (
            "GpuHot",
            "gpu_throttled",
            "Maximum",
            "warning",
            10,
            "slows its GPUs down for heat or power",
            "`nvidia-smi -q -d PERFORMANCE`; one slow node slows the whole job: drain it.",
        ),
        (
            "EfaErrors",
            "efa_errors",
            "Sum",
            "warning",
            5,
            "has EFA errors",
            "`rdma -p statistic show` on it; if they grow, drain it and run the NCCL gate.",
        ),
    )
    return tuple(
        AlarmSpec(
            name=name,
            metric=agent_metric(agent, metric, statistic, _MINUTE),
            threshold=0,
            comparison=ABOVE,
            periods=periods,
            # An error is one minute's news, and the node is not well again after it.
            datapoints=1 if periods == 60 else None,
            missing=FINE,
            severity=severity,
            summary=f"A node of {cluster} {what}",
            details=_WHICH,
            do=do,
        )
        for name, metric, statistic, severity, periods, what, do in table
    )


def agent_metric(
    agent: NodeAgent, name: str, statistic: str, period: cdk.Duration
) -> cloudwatch.Metric:
    """Return a metric of all nodes of an agent's role."""
    return cloudwatch.Metric(
        namespace=NAMESPACE,
        metric_name=name,
        statistic=statistic,
        period=period,
        dimensions_map=agent.dimensions,
    )


def _words(path: str) -> str:
    return "".join(part.capitalize() for part in path.split("/")) or "Root"
