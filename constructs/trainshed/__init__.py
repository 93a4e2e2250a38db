"""AWS CDK constructs for GPU training clusters on Slurm.

Names are imported when they are first used: ``trainshed.config``, ``trainshed.slurm`` and
``trainshed.facts`` work without the CDK and load in milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .alerts import SlackAlerts as SlackAlerts
    from .alerts import alerts_of as alerts_of
    from .capacity import CapacityReservation as CapacityReservation
    from .cluster import TrainingCluster as TrainingCluster
    from .cluster import network_of as network_of
    from .cluster import storage_of as storage_of
    from .fleets import ParallelClusterFleet as ParallelClusterFleet
    from .network import TrainingNetwork as TrainingNetwork
    from .storage import DataBucket as DataBucket
    from .storage import LustreStorage as LustreStorage

_HOMES = {
    "CapacityReservation": "capacity",
    "DataBucket": "storage",
    "LustreStorage": "storage",
    "ParallelClusterFleet": "fleets",
    "SlackAlerts": "alerts",
    "TrainingCluster": "cluster",
    "TrainingNetwork": "network",
    "alerts_of": "alerts",
    "network_of": "cluster",
    "storage_of": "cluster",
}

__all__ = [
    "CapacityReservation",
    "DataBucket",
    "LustreStorage",
    "ParallelClusterFleet",
    "SlackAlerts",
    "TrainingCluster",
    "TrainingNetwork",
    "alerts_of",
    "network_of",
    "storage_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trainshed' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
