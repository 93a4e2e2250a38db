"""Metrics of a file system, with the periods and statistics that give true numbers."""

from __future__ import annotations

import aws_cdk as cdk
import pytest
from aws_cdk import aws_cloudwatch as cloudwatch

from trainshed.storage import LustreMetrics


@pytest.fixture
def metrics() -> LustreMetrics:
    metrics = LustreMetrics()
    metrics.file_system_id = "fs-1"
    return metrics


@pytest.mark.parametrize(
    ("method", "arguments", "name", "statistic", "dimensions"),
    [
        pytest.param("metric_free_data_storage", {}, "FreeDataStorageCapacity", "Sum", {},
                     id="free of the whole"),
        pytest.param("metric_free_data_storage", {"statistic": "Minimum"},
                     "FreeDataStorageCapacity", "Minimum", {}, id="free of the fullest disk"),
        pytest.param("metric_read_bytes", {}, "DataReadBytes", "Sum", {}, id="read"),
        pytest.param("metric_write_bytes", {}, "DataWriteBytes", "Sum", {}, id="written"),
        pytest.param("metric_metadata_operations", {}, "MetadataOperations", "Sum", {},
                     id="metadata"),
        pytest.param("metric_oldest_queued_change", {"direction": "import"},
                     "AgeOfOldestQueuedMessage", "Maximum", {"Publisher": "AutoImport"},
                     id="waiting for import"),
        pytest.param("metric_oldest_queued_change", {"direction": "export"},
                     "AgeOfOldestQueuedMessage", "Maximum", {"Publisher": "AutoExport"},
                     id="waiting for export"),
    ],
)  # fmt: skip
def test_each_metric_is_the_one_that_fsx_sends(
    metrics: LustreMetrics,
    method: str,
    arguments: dict[str, str],
    name: str,
    statistic: str,
    dimensions: dict[str, str],
) -> None:
    metric = getattr(metrics, method)(**arguments)
    assert (metric.namespace, metric.metric_name, metric.statistic) == ("AWS/FSx", name, statistic)
    assert metric.dimensions == {"FileSystemId": "fs-1", **dimensions}
    assert metric.period.to_seconds() == 60


def test_throughput_is_bytes_a_second(metrics: LustreMetrics) -> None:
    throughput = metrics.metric_throughput(period=cdk.Duration.minutes(5))
    assert isinstance(throughput, cloudwatch.MathExpression)
    assert throughput.expression == "(read + written) / PERIOD(read)"
    assert throughput.period.to_seconds() == 300


def test_a_sum_of_free_bytes_over_five_minutes_is_refused(metrics: LustreMetrics) -> None:
    with pytest.raises(ValueError) as refused:
        metrics.metric_free_data_storage(period=cdk.Duration.minutes(5))
    assert str(refused.value) == (
        "period is 300 s; Sum of FreeDataStorageCapacity takes 60 s, since each disk is counted "
        "once a minute: use 60 s, or statistic Minimum"
    )


def test_the_fullest_disk_may_be_looked_at_over_any_period(metrics: LustreMetrics) -> None:
    metric = metrics.metric_free_data_storage(statistic="Minimum", period=cdk.Duration.minutes(5))
    assert metric.period.to_seconds() == 300


def test_a_share_of_the_capacity_is_a_threshold(metrics: LustreMetrics) -> None:
    metrics.capacity_gib = 2400
    assert metrics.free_bytes(10) == 240 * 2**30


@pytest.mark.parametrize(
    ("capacity_gib", "percent", "message"),
    [
        (None, 10, "the capacity of the file system is not known; pass capacity_gib"),
        (2400, 100, "percent is 100; a share is above 0 and below 100: use 10"),
    ],
    ids=["unknown capacity", "everything"],
)
def test_a_share_of_nothing_is_refused(
    metrics: LustreMetrics, capacity_gib: int | None, percent: float, message: str
) -> None:
    metrics.capacity_gib = capacity_gib
    with pytest.raises(ValueError) as refused:
        metrics.free_bytes(percent)
    assert str(refused.value) == message
