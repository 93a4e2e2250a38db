"""Metrics for the alarms, sent to CloudWatch itself.

ParallelCluster's agent listens to nobody. Names and dimensions are those of ``metrics``.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping

from .slurm import Run

METRIC_SECONDS = 60


class Metrics:
    """Sends metrics of a head node.

    Args:
        run: What runs commands.
        clock: Seconds of a clock that never goes back.
    """

    def __init__(self, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self._run, self._clock = run, clock
        self._sent: tuple[float, Mapping[str, float]] | None = None

    def send(self, cluster: str, region: str, found: Mapping[str, float]) -> None:
        """Send what is found, once a minute and when it changes.

        Raises:
            SlurmError: CloudWatch did not take it.
        """
        now = self._clock()
        if self._sent and self._sent[1] == found and now - self._sent[0] < METRIC_SECONDS:
            return
        put(self._run, cluster, region, found)
        self._sent = now, found


def put(run: Run, cluster: str, region: str, found: Mapping[str, float]) -> None:
    """Send metrics of the head node of a cluster.

    Raises:
        SlurmError: CloudWatch did not take them.
    """
    dimensions = [{"Name": "ClusterName", "Value": cluster}, {"Name": "Role", "Value": "head"}]
    data = [
        {
            "MetricName": name,
            "Value": value,
            "Unit": "Percent" if name.endswith("_percent") else "Count",
            "Dimensions": dimensions,
        }
        for name, value in sorted(found.items())
    ]
    command = ("aws", "cloudwatch", "put-metric-data", "--region", region)
    run((*command, "--namespace", "Trainshed", "--metric-data", json.dumps(data)), "")
