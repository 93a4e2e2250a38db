"""Alarms of a Lustre file system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from .. import facts
from .._given import check_present
from ..config.lustre_rules import deployment
from ..config.storage import ExistingLustre, Lustre
from .alarms import ABOVE, BELOW, UNKNOWN, AlarmSpec

# FSx for Lustre user guide, "Performance characteristics of SSD and HDD storage classes", read
# 2026-11-29: what scratch file systems sustain.
_SCRATCH_MB_S_PER_TIB = 200

_FIVE_MINUTES = cdk.Duration.minutes(5)


class WatchedFileSystem(Protocol):
    """What a file system tells of itself: ``LustreStorage`` does."""

    @property
    def file_system_id(self) -> str:
        """Its id."""

    @property
    def capacity_gib(self) -> int | None:
        """Its size in GiB; None where it is not known."""

    def metric_throughput(self, *, period: cdk.Duration = ...) -> cloudwatch.IMetric:
        """Return the bytes read and written a second."""

    def metric_metadata_operations(self, *, period: cdk.Duration = ...) -> cloudwatch.Metric:
        """Return the metadata operations in a period."""

    def metric_free_data_storage(
        self, *, statistic: Literal["Sum", "Minimum"] = ..., period: cdk.Duration = ...
    ) -> cloudwatch.Metric:
        """Return its free bytes, of the whole or of the fullest disk."""

    def metric_oldest_queued_change(
        self, direction: Literal["import", "export"], *, period: cdk.Duration = ...
    ) -> cloudwatch.Metric:
        """Return the age of the oldest change that waits for S3, in seconds."""


@dataclass(frozen=True, kw_only=True)
class ProvisionedLimits:
    """What a file system is paid for.

    Args:
        throughput_bytes_per_second: Capacity in TiB times throughput a TiB. None: no alarm.
        metadata_iops: Metadata operations a second. None: no alarm.
    """

    throughput_bytes_per_second: float | None = None
    metadata_iops: int | None = None

    @classmethod
    def of(cls, source: Lustre | ExistingLustre) -> ProvisionedLimits:
        """Return what the section of an institution's file says that its file system is paid for.

        Args:
            source: ``storage.lustre`` or ``storage.existing``.
        """
        check_present(source=source)
        tier, iops = source.throughput_mb_s_per_tib, source.metadata_iops
        if isinstance(source, Lustre):
            if not facts.lustre.is_persistent(deployment(source)):
                tier = _SCRATCH_MB_S_PER_TIB
            if source.deployment_type == "persistent_2" and iops is None:
                iops = facts.lustre.minimum_metadata_iops(source.capacity_gib)
        return cls(
            throughput_bytes_per_second=source.capacity_gib / 1024 * tier * 1e6
            if source.capacity_gib and tier
            else None,
            metadata_iops=iops,
        )


def of(
    storage: WatchedFileSystem,
    directions: Sequence[Literal["import", "export"]] = (),
    limits: ProvisionedLimits | None = None,
    *,
    space: bool = True,
) -> tuple[AlarmSpec, ...]:
    """Return the alarms of a file system.

    Args:
        storage: The file system.
        directions: Ways in which it is linked to S3.
        limits: What it is provisioned for. None: no alarm on saturation.
        space: Watch shares of its space, for which its size must be known.
    """
    name = f"FSx file system {storage.file_system_id}"
    return (
        *(_space(storage, name) if space else ()),
        _full_disk(storage, name),
        *(_saturation(storage, name, limits) if limits else ()),
        *(_link(storage, name, direction) for direction in directions),
    )


def _space(storage: WatchedFileSystem, name: str) -> tuple[AlarmSpec, ...]:
    if storage.capacity_gib is None:
        raise ValueError(
            f"the capacity of {storage.file_system_id} is not known, so that no threshold of free "
            "space can be set; pass capacity_gib"
        )
    size = storage.capacity_gib * 2**30
    free = storage.metric_free_data_storage()
    clean_up = "Find the largest users with `lfs quota -h`, release exported files, or grow it."
    return (
        AlarmSpec(
            name="FsxSpaceLow",
            metric=free,
            threshold=size // 5,
            comparison=BELOW,
            periods=15,
            missing=UNKNOWN,
            severity="warning",
            summary=f"{name} is more than 80 % full",
            do=clean_up,
        ),
        AlarmSpec(
            name="FsxSpaceCritical",
            metric=free,
            threshold=size // 20,
            comparison=BELOW,
            periods=5,
            missing=UNKNOWN,
            severity="critical",
            summary=f"{name} is more than 95 % full",
            details="Writes, and with them checkpoints, fail when it is full.",
            do=clean_up,
        ),
    )


def _full_disk(storage: WatchedFileSystem, name: str) -> AlarmSpec:
    return AlarmSpec(
        name="FsxDiskFull",
        metric=storage.metric_free_data_storage(statistic="Minimum"),
        # A disk (OST) of the smallest size, 1,200 GiB, with 2 % left.
        threshold=24 * 2**30,
        comparison=BELOW,
        periods=5,
        missing=UNKNOWN,
        severity="critical",
        summary=f"A disk of {name} is full",
        details="Files whose stripes lie on it cannot grow, whatever `df` shows.",
        do="`lfs df -h` names it; stripe large files wider, move some with `lfs migrate`.",
    )


def _saturation(
    storage: WatchedFileSystem, name: str, limits: ProvisionedLimits
) -> tuple[AlarmSpec, ...]:
    # By metrics whose one dimension is the file system; those of single servers have names that
    # are not known before it exists.
    table = (
        (
            "FsxThroughputSaturated",
            storage.metric_throughput(period=_FIVE_MINUTES),
            limits.throughput_bytes_per_second,
            "has been at its limit of throughput",
        ),
        (
            "FsxMetadataSaturated",
            storage.metric_metadata_operations(period=_FIVE_MINUTES),
            limits.metadata_iops and limits.metadata_iops * _FIVE_MINUTES.to_seconds(),
            # What one of them allows differs by operation: two opens, a tenth of a directory.
            "has had as many metadata operations as its metadata IOPS",
        ),
    )
    return tuple(
        AlarmSpec(
            name=alarm,
            metric=metric,
            threshold=limit * 0.95,
            comparison=ABOVE,
            periods=6,
            datapoints=5,
            missing=UNKNOWN,
            severity="warning",
            summary=f"{name} {what} for half an hour",
            do="Find the job with the most I/O; spread its files, or raise the provisioned level.",
        )
        for alarm, metric, limit, what in table
        if limit
    )


def _link(
    storage: WatchedFileSystem, name: str, direction: Literal["import", "export"]
) -> AlarmSpec:
    return AlarmSpec(
        name=f"Fsx{direction.capitalize()}Stuck",
        metric=storage.metric_oldest_queued_change(direction, period=_FIVE_MINUTES),
        threshold=cdk.Duration.hours(1).to_seconds(),
        comparison=ABOVE,
        periods=3,
        missing=UNKNOWN,
        severity="warning",
        summary=f"The {direction} between {name} and S3 is more than an hour behind",
        details="Checkpoints are not in S3 yet." if direction == "export" else "",
        do="Read the link's log group and its lifecycle; a deleted bucket or key stops it.",
    )
