"""Alarms on what recovery on the head node reports: gates, held nodes and goodput."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from .agent import NodeAgent, NodeRole
from .alarms import AT_LEAST, BELOW, UNKNOWN, AlarmSpec
from .fleet_alarms import agent_metric

_FIVE_MINUTES = cdk.Duration.minutes(5)


def of_sent(cluster: str, metrics: Collection[str]) -> tuple[AlarmSpec, ...]:
    """Return the alarms on what a head node without an agent sends to CloudWatch itself.

    Raises:
        ValueError: No alarm reads a metric.
    """
    specs = of_recovery(NodeAgent(cluster, NodeRole.HEAD))
    known = {cast(cloudwatch.Metric, spec.metric).metric_name: spec for spec in specs}
    for name in metrics:
        if name not in known:
            raise ValueError(f"no alarm reads {name} of a head node; use {', '.join(known)}")
    return tuple(spec for name, spec in known.items() if name in metrics)


def of_recovery(agent: NodeAgent) -> tuple[AlarmSpec, ...]:
    """Return the alarms on what recovery reports, on each fleet."""
    cluster = agent.cluster_name
    return (
        AlarmSpec(
            name="NodesHeld",
            metric=agent_metric(agent, "nodes_held", "Minimum", _FIVE_MINUTES),
            threshold=1,
            comparison=AT_LEAST,
            periods=12,
            missing=UNKNOWN,
            severity="warning",
            summary=f"New nodes of {cluster} have been held back for an hour",
            do="`scontrol show node` has in the comment what they failed or wait for.",
        ),
        AlarmSpec(
            name="QueuesClosed",
            metric=agent_metric(agent, "queues_closed", "Minimum", _FIVE_MINUTES),
            threshold=1,
            comparison=AT_LEAST,
            periods=12,
            missing=UNKNOWN,
            severity="critical",
            summary=f"A queue of {cluster} has been closed by its gate for an hour",
            details="Its jobs wait; its nodes cost what they do.",
            do="`sudo trainshed-gate` on the head node runs it again; `--open QUEUE` opens it.",
        ),
        AlarmSpec(
            name="GoodputLow",
            metric=agent_metric(agent, "goodput_percent", "Minimum", cdk.Duration.hours(1)),
            threshold=80,
            comparison=BELOW,
            periods=6,
            datapoints=3,
            missing=UNKNOWN,
            severity="info",
            summary=f"More than a fifth of the GPU time of {cluster} was lost in the last week",
            do="The digest names the jobs: do they write checkpoints, and which nodes failed?",
        ),
    )
