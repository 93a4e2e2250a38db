"""Facts of AWS, ParallelCluster and Slurm, each with its source; pure, and quick to import.

Instance types, Regions and zones are here by name; ``endpoints``, ``lustre`` and
``parallelcluster`` are modules::

    from trainshed import facts

    facts.instance_type("p5en.48xlarge").efa_interfaces  # 16
    facts.lustre.capacity_neighbours_gib(1300, "SCRATCH_2")  # (1200, 2400)
"""

from __future__ import annotations

from trainshed.facts import endpoints, lustre, parallelcluster
from trainshed.facts.instance_types import (
    INSTANCE_TYPES,
    Architecture,
    ContradictoryFactsError,
    InstanceType,
    UnknownInstanceTypeError,
    instance_type,
    nearest,
)
from trainshed.facts.regions import PARTITIONS, Partition
from trainshed.facts.zones import (
    ZONE_ID_PREFIXES,
    Zone,
    ZoneId,
    ZoneName,
    check_zone,
    region_of,
)

__all__ = [
    "INSTANCE_TYPES",
    "PARTITIONS",
    "ZONE_ID_PREFIXES",
    "Architecture",
    "ContradictoryFactsError",
    "InstanceType",
    "Partition",
    "UnknownInstanceTypeError",
    "Zone",
    "ZoneId",
    "ZoneName",
    "check_zone",
    "endpoints",
    "instance_type",
    "lustre",
    "nearest",
    "parallelcluster",
    "region_of",
]
