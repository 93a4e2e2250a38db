"""AWS CDK constructs for GPU training clusters on Slurm.

Names are imported when they are first used: ``trainshed.config``, ``trainshed.slurm`` and
``trainshed.facts`` work without the CDK and load in milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accounting_database import SlurmAccountingDatabase as SlurmAccountingDatabase
    from .accounting_database import accounting_of as accounting_of
    from .alerts import SlackAlerts as SlackAlerts
    from .alerts import alerts_of as alerts_of
    from .capacity import CapacityReservation as CapacityReservation
    from .cluster import TrainingCluster as TrainingCluster
    from .cluster import network_of as network_of
    from .cluster import storage_of as storage_of
    from .fleets import ParallelClusterFleet as ParallelClusterFleet
    from .fleets import SlurmFleet as SlurmFleet
    from .network import TrainingNetwork as TrainingNetwork
    from .storage import DataBucket as DataBucket
    from .storage import LustreStorage as LustreStorage

_HOMES = {
    "CapacityReservation": "capacity",
    "DataBucket": "storage",
    "LustreStorage": "storage",
    "ParallelClusterFleet": "fleets",
    "SlackAlerts": "alerts",
    "SlurmAccountingDatabase": "accounting_database",
    "SlurmFleet": "fleets",
    "TrainingCluster": "cluster",
    "TrainingNetwork": "network",
    "accounting_of": "accounting_database",
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
    "SlurmAccountingDatabase",
    "SlurmFleet",
    "TrainingCluster",
    "TrainingNetwork",
    "accounting_of",
    "alerts_of",
    "network_of",
    "storage_of",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'trainshed' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
