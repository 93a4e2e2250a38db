"""What nodes say of themselves, and the policy where none is given. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..facts import InstanceType
from ..slurm import NodeGroup, Partition, Scheduler, SlurmPolicy, node_settings

if TYPE_CHECKING:
    from ..config.fleet import Fleet

Types = Mapping[str, InstanceType]


def node_conf(group: NodeGroup) -> str:
    """Return what a node tells slurmctld of itself when it joins, ``slurmd --conf``."""
    return " ".join(f"{key}={value}" for key, value in node_settings(group))


def policy_of(fleet: Fleet) -> SlurmPolicy:
    """Return the policy of a fleet; without one, a partition a queue that is open to everybody.

    Nobody is preempted, nothing is limited, and no user has to be in the accounting database.
    """
    if fleet.policy is not None:
        return fleet.policy
    first = next(iter(fleet.queues))
    return SlurmPolicy(
        partitions={
            name: Partition(
                queues=(name,),
                default=name == first,
                max_time="UNLIMITED",
                whole_node=queue.whole_node,
            )
            for name, queue in fleet.queues.items()
        },
        scheduler=Scheduler(preempt_by="none", preempt_mode="OFF", enforce_accounting=()),
    )
