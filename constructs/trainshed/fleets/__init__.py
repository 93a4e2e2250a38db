"""Fleets: what builds and runs head node, login nodes and queues."""

from .fleet import CAPABILITIES, Backend, Capability, ClusterFleet, require
from .node_scripts import NodeScript, node_script
from .parallelcluster import FleetNetwork, ParallelClusterFleet
from .parallelcluster_nodes import FleetStorage
from .provider import ParallelClusterProvider

__all__ = [
    "CAPABILITIES",
    "Backend",
    "Capability",
    "ClusterFleet",
    "FleetNetwork",
    "FleetStorage",
    "NodeScript",
    "ParallelClusterFleet",
    "ParallelClusterProvider",
    "node_script",
    "require",
]
