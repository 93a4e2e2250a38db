"""Metrics for the CloudWatch agent of the node, by StatsD.

The alarms of ``trainshed.alerts`` read these names under these dimensions; a test compares them.
What is counted "since the last minute" is the difference to the run before.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path

from . import efa, xid
from .node import Node

AGENT = ("127.0.0.1", 8125)
"""Where the agent listens."""

GROWING = ("xid_hardware", "xid_application", "ecc_uncorrected", "efa_errors")
"""Metrics that are sent as what was added since the run before."""


def totals(node: Node) -> dict[str, float]:
    """Return what the node has counted: levels as they are, the others since boot."""
    report = node.report
    gpus = report.gpus if report else []
    kinds = [event.xid.kind for event in node.xid_events or []]
    # An unknown error is looked at by a person, so it counts with those that page one.
    hardware = sum(kind in (xid.HARDWARE, xid.UNKNOWN) for kind in kinds)
    values: dict[str, float] = {}
    if node.expected.gpus:
        values = {
            "gpus_missing": max(0, node.expected.gpus - len(gpus)),
            "ecc_uncorrected": sum(gpu.uncorrected for gpu in gpus),
            "gpu_throttled": sum(gpu.is_throttled for gpu in gpus),
            "gpu_utilization": _mean([gpu.number("utilization") for gpu in gpus]),
            "xid_hardware": hardware,
            "xid_application": kinds.count(xid.APPLICATION),
        }
    if node.expected.efa_interfaces:
        values["efa_errors"] = efa.errors(node.efa_devices)
    return values


def since(values: Mapping[str, float], before: Mapping[str, float]) -> dict[str, float]:
    """Return the values to send: growing ones as the difference, never below 0.

    A counter that was set back, as by a reboot, counts from 0.
    """
    sent = {}
    for name, value in values.items():
        old = before.get(name, 0) if name in GROWING else 0
        sent[name] = value - old if value >= old else value
    return sent


def lines(values: Mapping[str, float], dimensions: Mapping[str, str]) -> list[str]:
    """Return the lines of StatsD."""
    tags = ",".join(f"{name}:{text}" for name, text in dimensions.items())
    return [f"{name}:{value:g}|g|#{tags}" for name, value in values.items()]


def publish(node: Node, state: Path, agent: tuple[str, int] = AGENT) -> dict[str, float]:
    """Send the metrics and keep what was counted, for the next run.

    Args:
        node: The node.
        state: File of the counters of the run before; it is gone after a reboot, as they are.
        agent: Address of the agent.
    """
    values = totals(node)
    sent = since(values, _before(state))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        for line in lines(sent, node.expected.dimensions):
            channel.sendto(line.encode(), agent)
    state.parent.mkdir(parents=True, exist_ok=True)
    fresh = state.with_suffix(".new")
    fresh.write_text(json.dumps(values))
    fresh.replace(state)
    return sent


def _before(state: Path) -> dict[str, float]:
    try:
        return {str(name): float(value) for name, value in json.loads(state.read_text()).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
