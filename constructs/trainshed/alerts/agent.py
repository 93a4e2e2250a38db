"""The CloudWatch agent of the nodes and the metrics that alarms read, from one object. Pure.

Agent configuration and alarm agree on namespace and dimensions because both are made here: an
alarm on dimensions that nobody sends stays without data for ever, and looks quiet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from ..records import is_token

NAMESPACE = "Trainshed"
_STATSD_PORT = 8125


class NodeRole(StrEnum):
    """What a node is for."""

    HEAD = "head"
    LOGIN = "login"
    COMPUTE = "compute"


SENT_BY_NODES: Mapping[str, str] = MappingProxyType(
    {
        "gpus_missing": "GPUs that the instance type has and the driver does not see",
        "xid_hardware": "Xid errors of the hardware since the last minute",
        "xid_application": "Xid errors that a program can cause, since the last minute",
        "ecc_uncorrected": "uncorrected ECC errors since the last minute",
        "gpu_throttled": "GPUs slowed down by heat or power",
        "gpu_utilization": "utilization of the GPUs, percent",
        "efa_errors": "EFA sends and receives that failed or timed out, since the last minute",
        "slurmctld_up": "1 while slurmctld answers, 0 when it does not",
        "slurmdbd_up": "1 while slurmdbd answers, 0 when it does not",
        "nodes_down": "nodes that Slurm calls down or not responding",
        "nodes_drained": "nodes that are drained or draining",
        "pending_minutes": "minutes that the oldest eligible job has waited",
        "nodes_held": "nodes that wait to be released by their checks or the gate",
        "queues_closed": "queues that the gate keeps shut",
        "goodput_percent": "share of the GPU time of the last seven days that was kept",
    }
)
"""Metrics that scripts on the nodes send to the agent by StatsD, with what they are."""


@dataclass(frozen=True)
class NodeAgent:
    """The agent of the nodes of one role.

    Args:
        cluster_name: Name of the cluster, a dimension of every metric.
        role: Role of the nodes, the other dimension.
        disks: Mount points whose fill is watched.
    """

    cluster_name: str
    role: NodeRole = NodeRole.COMPUTE
    disks: tuple[str, ...] = ("/",)

    def __post_init__(self) -> None:
        if not self.cluster_name:
            raise ValueError("cluster_name is empty; it is a dimension of every metric")
        if not is_token(self.cluster_name) and set(self.cluster_name) & set(",|#:\n"):
            raise ValueError(
                f"cluster_name is {self.cluster_name!r}; a tag of StatsD takes no comma, colon, "
                "bar or hash"
            )

    @property
    def dimensions(self) -> dict[str, str]:
        """Dimensions under which alarms find a metric of the whole role."""
        return {"ClusterName": self.cluster_name, "Role": self.role.value}

    def disk_dimensions(self, path: str) -> dict[str, str]:
        """Dimensions of the fill of one mount point.

        Raises:
            ValueError: The agent does not send it.
        """
        if path not in self.disks:
            raise ValueError(f"{path} is not watched; the agent sends {', '.join(self.disks)}")
        return {**self.dimensions, "path": path}

    def statsd(self, metric: str, value: float) -> str:
        """Return the line that a node script sends to UDP port 8125 of its own node.

        Raises:
            ValueError: No alarm knows the metric.
        """
        if metric not in SENT_BY_NODES:
            raise ValueError(f"{metric} is no metric of nodes; use {', '.join(SENT_BY_NODES)}")
        tags = ",".join(f"{name}:{text}" for name, text in self.dimensions.items())
        return f"{metric}:{value:g}|g|#{tags}"

    def configuration(self) -> dict[str, Any]:
        """Return the configuration file of the agent, ``amazon-cloudwatch-agent.json``.

        CloudWatch user guide, "Manually create or edit the CloudWatch agent configuration file",
        read 2026-11-29. ``${aws:InstanceId}`` is replaced only in the global section.
        """
        own = {"append_dimensions": self.dimensions}
        return {
            "agent": {"metrics_collection_interval": 60},
            "metrics": {
                "namespace": NAMESPACE,
                "append_dimensions": {"InstanceId": "${aws:InstanceId}"},
                "aggregation_dimensions": [
                    ["ClusterName", "Role"],
                    ["ClusterName", "Role", "path"],
                    ["ClusterName", "Role", "InstanceId"],
                ],
                "metrics_collected": {
                    "mem": {"measurement": ["mem_used_percent"], **own},
                    "disk": {
                        "measurement": ["disk_used_percent"],
                        "resources": list(self.disks),
                        "drop_device": True,
                        **own,
                    },
                    "statsd": {
                        "service_address": f"127.0.0.1:{_STATSD_PORT}",
                        "metrics_collection_interval": 60,
                        "metrics_aggregation_interval": 60,
                    },
                },
            },
        }
