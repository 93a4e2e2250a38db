"""Metrics for the alarms, sent to the CloudWatch agent of the head node.

Names and dimensions are those of ``trainshed.alerts.agent``; a test holds the two together.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Mapping
from datetime import datetime

from .probe import listens
from .recovery.words import held
from .slurm import Job
from .view import OURS, View

AGENT = ("127.0.0.1", 8125)
SLURMDBD = ("127.0.0.1", 6819)


def gather(view: View, jobs: Iterable[Job] | None, slurmdbd: tuple[str, int]) -> dict[str, float]:
    """Return what is known of this round; what is not known is left out."""
    found: dict[str, float] = {
        "slurmctld_up": 0 if view.nodes is None else 1,
        "slurmdbd_up": 1 if listens(*slurmdbd) else 0,
    }
    if view.nodes is not None:
        nodes = view.nodes.values()
        down = [n for n in nodes if n.flags & {"DOWN", "NOT_RESPONDING"} or n.name in view.silent]
        # What the keeper drains comes back by itself.
        ours = [n for n in nodes if n.reason.startswith(OURS) or held(n.reason)]
        drained = [n for n in nodes if "DRAIN" in n.flags and n not in ours]
        found |= {"nodes_down": len(down), "nodes_drained": len(drained)}
    if jobs is not None:
        found["pending_minutes"] = _pending_minutes(jobs, view.now)
    return found


def _pending_minutes(jobs: Iterable[Job], now: datetime) -> float:
    waited = [
        (now - job.eligible).total_seconds() / 60
        for job in jobs
        if job.state == "PENDING" and job.eligible is not None
    ]
    return max([0.0, *waited])


def lines(cluster: str, found: Mapping[str, float]) -> list[str]:
    """Return the StatsD lines of some metrics."""
    return [
        f"{name}:{value:g}|g|#ClusterName:{cluster},Role:head"
        for name, value in sorted(found.items())
    ]


def send(cluster: str, found: Mapping[str, float]) -> None:
    """Send metrics; nobody has to be there to hear them."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for line in lines(cluster, found):
            sender.sendto(line.encode(), AGENT)
