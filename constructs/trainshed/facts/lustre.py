"""What FSx for Lustre can make: sizes, throughput, metadata, versions, quotas.

Sources, all read 2026-11-29. API: the FSx model of botocore 1.44.8, ``CreateFileSystem``.
Guide: the FSx for Lustre User Guide, by page title.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from trainshed.facts.grid import Grid, either

DeploymentType = Literal["SCRATCH_1", "SCRATCH_2", "PERSISTENT_1", "PERSISTENT_2"]
# INTELLIGENT_TIERING is left out: it has neither a size to choose nor links to S3 (API,
# DataRepositoryAssociation).
StorageType = Literal["SSD", "HDD"]
CompressionType = Literal["NONE", "LZ4"]
DriveCacheType = Literal["NONE", "READ"]
MetadataMode = Literal["AUTOMATIC", "USER_PROVISIONED"]
LustreVersion = Literal["2.10", "2.12", "2.15"]
AssociationEvent = Literal["NEW", "CHANGED", "DELETED"]

DEPLOYMENT_TYPES: tuple[DeploymentType, ...] = get_args(DeploymentType)
STORAGE_TYPES: tuple[StorageType, ...] = get_args(StorageType)
COMPRESSION_TYPES: tuple[CompressionType, ...] = get_args(CompressionType)
DRIVE_CACHE_TYPES: tuple[DriveCacheType, ...] = get_args(DriveCacheType)
METADATA_MODES: tuple[MetadataMode, ...] = get_args(MetadataMode)
LUSTRE_VERSIONS: tuple[LustreVersion, ...] = get_args(LustreVersion)
ASSOCIATION_EVENTS: tuple[AssociationEvent, ...] = get_args(AssociationEvent)

# Guide, "File system access control with Amazon VPC". EFA file systems need all traffic instead.
PORTS: tuple[tuple[int, int], ...] = ((988, 988), (1018, 1023))
"""TCP port ranges between clients and servers and among servers, in both directions."""

# Guide, "Linking your file system to an Amazon S3 bucket"; ParallelCluster 3.16.1 refuses a ninth.
MAX_ASSOCIATIONS = 8
"""Data repository associations (links to S3) of one file system."""

# Guide, "Managing storage capacity" and "Managing metadata performance".
MIN_HOURS_BETWEEN_INCREASES = 6
"""Hours from one increase of capacity, or of metadata IOPS, to the next."""

# API, PerUnitStorageThroughput. Scratch file systems have one fixed throughput.
_THROUGHPUT_TIERS: Mapping[tuple[DeploymentType, StorageType], tuple[int, ...]] = {
    ("SCRATCH_1", "SSD"): (),
    ("SCRATCH_2", "SSD"): (),
    ("PERSISTENT_1", "SSD"): (50, 100, 200),
    ("PERSISTENT_1", "HDD"): (12, 40),
    ("PERSISTENT_2", "SSD"): (125, 250, 500, 1000),
}

# Guide, "Increasing storage capacity".
EFA_STEP_GIB: Mapping[int, int] = MappingProxyType(
    {125: 38_400, 250: 19_200, 500: 9_600, 1000: 4_800}
)
"""By throughput in MB/s per TiB: an EFA file system's smallest size and its step, in GiB."""

# API, StorageCapacity.
_HDD_STEP_GIB: Mapping[int, int] = {12: 6_000, 40: 1_800}

# API, CreateFileSystemLustreMetadataConfiguration.
METADATA_IOPS = Grid((1_500, 3_000, 6_000), 12_000, largest=192_000)
"""Metadata IOPS that USER_PROVISIONED mode takes."""


@dataclass(frozen=True, slots=True)
class Quota:
    """An account's default limit in Service Quotas, which AWS raises on request.

    Args:
        name: As Service Quotas shows it.
        code: To ask for more: ``aws service-quotas request-service-quota-increase``.
        default_gib: Limit in GiB unless raised.
        each_file_system: Whether it bounds each file system and not their sum in the Region.
    """

    name: str
    code: str
    default_gib: int
    each_file_system: bool = False


# Service Quotas, service "fsx": names, codes and defaults as it lists them (read 2026-11-29);
# the Guide, "Service quotas", has the same names and defaults.
_HDD_QUOTA = Quota(
    "Lustre Persistent HDD storage capacity (per file system)", "L-736F3D6F", 102_000, True
)
_SCRATCH_QUOTA = Quota("Lustre Scratch storage capacity", "L-AD2FC696", 100_800)
_QUOTAS: Mapping[DeploymentType, Quota] = {
    "SCRATCH_1": _SCRATCH_QUOTA,
    "SCRATCH_2": _SCRATCH_QUOTA,
    "PERSISTENT_1": Quota("Lustre Persistent_1 storage capacity", "L-C8640C82", 100_800),
    "PERSISTENT_2": Quota("Lustre Persistent_2 storage capacity", "L-8F1B9C74", 100_800),
}


def is_persistent(deployment_type: DeploymentType) -> bool:
    """Tell whether FSx keeps copies of the data and takes backups and a KMS key for it."""
    return deployment_type.startswith("PERSISTENT")


def throughput_tiers(
    deployment_type: DeploymentType, storage_type: StorageType = "SSD"
) -> tuple[int, ...]:
    """Return the throughputs to choose from, in MB/s per TiB.

    Empty for scratch file systems, which have a fixed one; else one has to be chosen.

    Raises:
        ValueError: The deployment type does not take this storage.
    """
    tiers = _THROUGHPUT_TIERS.get((deployment_type, storage_type))
    if tiers is None:
        raise ValueError(
            f"storage_type is {storage_type}; {deployment_type} takes SSD alone: "
            "use SSD, or PERSISTENT_1"
        )
    return tiers


def capacity_grid(
    deployment_type: DeploymentType,
    storage_type: StorageType = "SSD",
    *,
    throughput_mbps_per_tib: int | None = None,
    efa: bool = False,
) -> Grid:
    """Return the capacities that a file system can have, in GiB.

    Args:
        deployment_type: SCRATCH or PERSISTENT, first or second generation.
        storage_type: SSD, or HDD on PERSISTENT_1.
        throughput_mbps_per_tib: One of :func:`throughput_tiers`; it sets the step of HDD and of
            EFA file systems. None: scratch.
        efa: Whether clients reach the file system over EFA.

    Raises:
        ValueError: No file system combines these; the message names every fault.
    """
    faults = [
        throughput_fault(throughput_mbps_per_tib, deployment_type, storage_type),
        efa_fault(efa, deployment_type),
    ]
    if any(faults):
        raise ValueError("; ".join(filter(None, faults)))
    if efa and throughput_mbps_per_tib:
        return Grid((), EFA_STEP_GIB[throughput_mbps_per_tib])
    if storage_type == "HDD" and throughput_mbps_per_tib:
        return Grid((), _HDD_STEP_GIB[throughput_mbps_per_tib])
    if deployment_type == "SCRATCH_1":
        return Grid((1_200, 2_400), 3_600)
    return Grid((1_200,), 2_400)


def capacity_neighbours_gib(
    capacity_gib: int,
    deployment_type: DeploymentType,
    storage_type: StorageType = "SSD",
    *,
    throughput_mbps_per_tib: int | None = None,
    efa: bool = False,
) -> tuple[int | None, int | None]:
    """Return the largest valid capacity up to this one, and the smallest from it on, in GiB.

    The two are equal where the capacity itself is valid. None: nothing that small is made.
    Arguments and errors are those of :func:`capacity_grid`.
    """
    grid = capacity_grid(
        deployment_type, storage_type, throughput_mbps_per_tib=throughput_mbps_per_tib, efa=efa
    )
    return grid.neighbours(capacity_gib)


def capacity_fault(
    capacity_gib: int,
    deployment_type: DeploymentType,
    storage_type: StorageType = "SSD",
    *,
    throughput_mbps_per_tib: int | None = None,
    efa: bool = False,
) -> str | None:
    """Say what is wrong with a capacity and which ones to use instead; None if it is valid.

    Arguments and errors are those of :func:`capacity_grid`.
    """
    grid = capacity_grid(
        deployment_type, storage_type, throughput_mbps_per_tib=throughput_mbps_per_tib, efa=efa
    )
    if capacity_gib in grid:
        return None
    kind = "an SSD file system"
    if efa or storage_type == "HDD":
        medium = "EFA" if efa else "HDD"
        kind = f"an {medium} file system of {throughput_mbps_per_tib} MB/s per TiB"
    elif deployment_type == "SCRATCH_1":
        kind = "a SCRATCH_1 file system"
    return f"capacity_gib is {capacity_gib}; {kind} takes {grid}: {grid.advice(capacity_gib)}"


def throughput_fault(
    throughput_mbps_per_tib: int | None,
    deployment_type: DeploymentType,
    storage_type: StorageType = "SSD",
) -> str | None:
    """Say what is wrong with a throughput; None if it is one of :func:`throughput_tiers`.

    Raises:
        ValueError: The deployment type does not take this storage.
    """
    tiers = throughput_tiers(deployment_type, storage_type)
    given = "missing" if throughput_mbps_per_tib is None else str(throughput_mbps_per_tib)
    if not tiers:
        if throughput_mbps_per_tib is None:
            return None
        return (
            f"throughput_mbps_per_tib is {given}; {deployment_type} has a fixed one: leave it out"
        )
    if throughput_mbps_per_tib in tiers:
        return None
    return (
        f"throughput_mbps_per_tib is {given}; {deployment_type} {storage_type} takes "
        f"{either(tiers)}: use one of them"
    )


def efa_fault(efa: bool, deployment_type: DeploymentType) -> str | None:
    """Say why a file system cannot be reached over EFA; None if it can or need not be."""
    # API, EfaEnabled; a PERSISTENT_1 with it is made without EFA and without an error
    # (awslabs/awsome-distributed-ai#1124).
    if not efa or deployment_type == "PERSISTENT_2":
        return None
    return f"efa is true; {deployment_type} has no EFA: use PERSISTENT_2, or leave efa out"


def minimum_metadata_iops(capacity_gib: int) -> int:
    """Return the metadata IOPS that AUTOMATIC mode gives a capacity, the least one may ask for.

    Args:
        capacity_gib: Of a PERSISTENT_2 SSD file system, in GiB.
    """
    # Guide, "Amazon FSx for Lustre performance", table under "File system metadata performance";
    # that it is also the minimum: API, CreateFileSystemLustreMetadataConfiguration.
    if capacity_gib >= 24_000:
        return min(capacity_gib // 24_000 * 12_000, 192_000)
    steps = ((12_000, 12_000), (4_800, 6_000), (2_400, 3_000))
    return next((iops for from_gib, iops in steps if capacity_gib >= from_gib), 1_500)


def metadata_iops_fault(metadata_iops: int, capacity_gib: int) -> str | None:
    """Say what is wrong with provisioned metadata IOPS for a capacity; None if they are valid."""
    if metadata_iops not in METADATA_IOPS:
        return (
            f"metadata_iops is {metadata_iops}; it is {METADATA_IOPS}: "
            f"{METADATA_IOPS.advice(metadata_iops)}"
        )
    least = minimum_metadata_iops(capacity_gib)
    if metadata_iops < least:
        return (
            f"metadata_iops is {metadata_iops}; {capacity_gib} GiB come with {least}, and less "
            f"cannot be had: use {least} or more, or leave metadata_iops out"
        )
    return None


def lustre_versions(
    deployment_type: DeploymentType, *, metadata: bool = False
) -> tuple[LustreVersion, ...]:
    """Return the Lustre versions that a file system can have, the oldest first.

    Args:
        deployment_type: Of the file system.
        metadata: Whether it has a metadata configuration, as every EFA file system does.
    """
    # API, FileSystemTypeVersion.
    if deployment_type != "PERSISTENT_2":
        return LUSTRE_VERSIONS
    return ("2.15",) if metadata else ("2.12", "2.15")


def takes_associations(deployment_type: DeploymentType, version: LustreVersion) -> bool:
    """Tell whether prefixes of S3 buckets can be linked to directories of the file system."""
    # API, DataRepositoryAssociation.
    return deployment_type != "SCRATCH_1" and version != "2.10"


def capacity_quota(deployment_type: DeploymentType, storage_type: StorageType = "SSD") -> Quota:
    """Return the account's quota that the capacity of a file system counts against."""
    return _HDD_QUOTA if storage_type == "HDD" else _QUOTAS[deployment_type]
