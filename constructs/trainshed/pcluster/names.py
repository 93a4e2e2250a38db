"""The names that ParallelCluster gives nodes. They are contract: partitions and jobs use them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config.fleet import Queue

SHARED_STORAGE_NAME = "fsx"


def compute_resource_name(queue: Queue) -> str:
    """Return the name of a queue's one compute resource.

    It is the family of the instance type where the record names none. The nodes of a queue
    ``train`` of ``p5en.48xlarge`` are ``train-st-p5en-1`` and so on.
    """
    return queue.resource_name or queue.instance_type.partition(".")[0].lower()


def node_expression(queue_name: str, queue: Queue) -> str:
    """Return the nodes of a queue as Slurm writes them.

    Static nodes (``-st-``) always run; dynamic ones (``-dy-``) come with jobs and go when idle.
    """
    resource = compute_resource_name(queue)
    static, dynamic = queue.least_nodes, queue.max_nodes - queue.least_nodes
    ranges = [
        f"{queue_name}-{kind}-{resource}-" + (f"[1-{count}]" if count > 1 else "1")
        for kind, count in (("st", static), ("dy", dynamic))
        if count
    ]
    return ",".join(ranges)
