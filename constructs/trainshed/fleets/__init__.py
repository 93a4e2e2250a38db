"""Fleets: what builds and runs head node, login nodes and queues.

What needs the CDK is imported when it is first used: ``fleets.CAPABILITIES`` is of use without it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .fleet import CAPABILITIES, Backend, Capability, ClusterFleet, FleetNetwork, require

if TYPE_CHECKING:
    from .block_events import BlockEvents as BlockEvents
    from .block_events import block_events_of as block_events_of
    from .node_scripts import NodeScript as NodeScript
    from .node_scripts import node_script as node_script
    from .parallelcluster import ParallelClusterFleet as ParallelClusterFleet
    from .parallelcluster_nodes import FleetStorage as FleetStorage
    from .provider import ParallelClusterProvider as ParallelClusterProvider
    from .slurm_fleet import SlurmFleet as SlurmFleet
    from .slurm_head import SlurmFleetNetwork as SlurmFleetNetwork
    from .slurm_provider import SlurmFleetProvider as SlurmFleetProvider

_HOMES = {
    "BlockEvents": "block_events",
    "FleetStorage": "parallelcluster_nodes",
    "NodeScript": "node_scripts",
    "ParallelClusterFleet": "parallelcluster",
    "ParallelClusterProvider": "provider",
    "SlurmFleet": "slurm_fleet",
    "SlurmFleetNetwork": "slurm_head",
    "SlurmFleetProvider": "slurm_provider",
    "block_events_of": "block_events",
    "node_script": "node_scripts",
}

__all__ = [
    "CAPABILITIES",
    "Backend",
    "BlockEvents",
    "Capability",
    "ClusterFleet",
    "FleetNetwork",
    "FleetStorage",
    "NodeScript",
    "ParallelClusterFleet",
    "ParallelClusterProvider",
    "SlurmFleet",
    "SlurmFleetNetwork",
    "SlurmFleetProvider",
    "block_events_of",
    "node_script",
    "require",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
