"""What CloudWatch knows about a Lustre file system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import aws_cdk as cdk

if TYPE_CHECKING:
    from aws_cdk import aws_cloudwatch as cloudwatch

_MINUTE = cdk.Duration.minutes(1)


class LustreMetrics:
    """Metrics of a Lustre file system, made here or existing.

    Names, dimensions and statistics: FSx for Lustre user guide "Amazon FSx for Lustre metrics and
    dimensions", read 2026-11-29. FSx sends one value a minute for each disk.
    """

    file_system_id: str
    """Id of the file system."""
    capacity_gib: int | None
    """Size in GiB; None where it is not known."""

    def metric(
        self, name: str, *, statistic: str, period: cdk.Duration = _MINUTE, **dimensions: str
    ) -> cloudwatch.Metric:
        """Return any metric of the file system.

        Args:
            name: Name of the metric: ``ClientConnections``.
            statistic: How the values of a period become one.
            period: Length of a period.
            dimensions: Dimensions beside ``FileSystemId``.
        """
        from aws_cdk import aws_cloudwatch as cloudwatch

        return cloudwatch.Metric(
            namespace="AWS/FSx",
            metric_name=name,
            statistic=statistic,
            period=period,
            dimensions_map={"FileSystemId": self.file_system_id, **dimensions},
        )

    def metric_free_data_storage(
        self,
        *,
        statistic: Literal["Sum", "Minimum"] = "Sum",
        period: cdk.Duration = _MINUTE,
    ) -> cloudwatch.Metric:
        """Return the free bytes: of the whole (Sum), or of the fullest disk (Minimum).

        A file system is full for a file when the disks of that file are, whatever ``df`` shows, so
        alarm on both. With compression, what is free is what counts.

        Raises:
            ValueError: Sum over more than a minute: it would add each disk several times.
        """
        if statistic == "Sum" and period.to_seconds() != 60:
            raise ValueError(
                f"period is {int(period.to_seconds())} s; Sum of FreeDataStorageCapacity takes "
                "60 s, since each disk is counted once a minute: use 60 s, or statistic Minimum"
            )
        return self.metric("FreeDataStorageCapacity", statistic=statistic, period=period)

    def free_bytes(self, percent: float) -> int:
        """Return how many bytes a share of the file system is: a threshold for free space.

        Args:
            percent: Share of the capacity, above 0 and below 100.

        Raises:
            ValueError: The capacity is not known, or the share is none.
        """
        if self.capacity_gib is None:
            raise ValueError("the capacity of the file system is not known; pass capacity_gib")
        if not 0 < percent < 100:
            raise ValueError(f"percent is {percent}; a share is above 0 and below 100: use 10")
        return int(self.capacity_gib * 2**30 * percent / 100)

    def metric_read_bytes(self, *, period: cdk.Duration = _MINUTE) -> cloudwatch.Metric:
        """Return the bytes that clients read in a period."""
        return self.metric("DataReadBytes", statistic="Sum", period=period)

    def metric_write_bytes(self, *, period: cdk.Duration = _MINUTE) -> cloudwatch.Metric:
        """Return the bytes that clients wrote in a period."""
        return self.metric("DataWriteBytes", statistic="Sum", period=period)

    def metric_metadata_operations(self, *, period: cdk.Duration = _MINUTE) -> cloudwatch.Metric:
        """Return the metadata operations in a period: files opened, listed, made, removed."""
        return self.metric("MetadataOperations", statistic="Sum", period=period)

    def metric_throughput(self, *, period: cdk.Duration = _MINUTE) -> cloudwatch.IMetric:
        """Return the bytes read and written a second."""
        from aws_cdk import aws_cloudwatch as cloudwatch

        return cloudwatch.MathExpression(
            expression="(read + written) / PERIOD(read)",
            using_metrics={
                "read": self.metric_read_bytes(period=period),
                "written": self.metric_write_bytes(period=period),
            },
            label="bytes/s",
            period=period,
        )

    def metric_oldest_queued_change(
        self, direction: Literal["import", "export"], *, period: cdk.Duration = _MINUTE
    ) -> cloudwatch.Metric:
        """Return the seconds that the oldest change has waited to be carried over to or from S3.

        It grows when links fail or cannot keep up; FSx gives up on imports after 14 days.
        """
        publisher = "AutoImport" if direction == "import" else "AutoExport"
        return self.metric(
            "AgeOfOldestQueuedMessage", statistic="Maximum", period=period, Publisher=publisher
        )
