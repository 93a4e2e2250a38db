"""What the parts of a bare Slurm fleet call each other: parameters, hosts, paths. Pure."""

from __future__ import annotations

from ..slurm import CHECKS_PARTITION

DOMAIN = "trainshed.internal"
HEAD_HOST = "head"
CLUSTER_TAG = "trainshed:cluster"
ROLE_TAG = "trainshed:role"
QUEUE_TAG = "trainshed:queue"
STATE_DIR = "/state"
"""Where the head node mounts its state volume."""
METRICS_NAMESPACE = "Trainshed"
"""CloudWatch namespace that nodes may write to."""

RESERVED_NAMES = (CHECKS_PARTITION,)
"""Names that neither a queue nor a partition may have: trainshed's own jobs run there."""


def zone_name(cluster_name: str) -> str:
    """Return the private zone of the cluster in Route 53."""
    return f"{cluster_name}.{DOMAIN}"


def head_host(cluster_name: str) -> str:
    """Return the host name of the head node, whichever instance that is."""
    return f"{HEAD_HOST}.{zone_name(cluster_name)}"


def log_group_name(cluster_name: str) -> str:
    """Return the log group of every node."""
    return f"/trainshed/{cluster_name}/slurm"


def _parameter(cluster_name: str, what: str) -> str:
    return f"/trainshed/{cluster_name}/slurm/{what}"


def fleet_parameter(cluster_name: str) -> str:
    """Return the parameter that holds the fleet document."""
    return _parameter(cluster_name, "fleet")


def status_parameter(cluster_name: str) -> str:
    """Return the parameter to which the head node writes how the fleet is."""
    return _parameter(cluster_name, "status")


def command_parameter(cluster_name: str) -> str:
    """Return the parameter by which the custom resource asks the head node to drain the fleet."""
    return _parameter(cluster_name, "command")


def nodes_path(cluster_name: str) -> str:
    """Return the path below which a node writes why its boot failed."""
    return _parameter(cluster_name, "nodes")


def block_parameter(cluster_name: str, block_id: str) -> str:
    """Return the parameter that says when EC2 first warned that it takes a block away."""
    return f"/trainshed/{cluster_name}/blocks/{block_id}"
