"""A policy on the nodes of a fleet: what it is for, and whether it can be written for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..faults import Fault
from .accounting import accounting_document
from .keys import fault_at
from .nodes import InstanceFacts, NodeGroup, NodeShape
from .policy import SlurmPolicy
from .settings import partition_settings

if TYPE_CHECKING:
    from ..config.fleet import Fleet


def node_groups(fleet: Fleet, known_types: Mapping[str, InstanceFacts]) -> tuple[NodeGroup, ...]:
    """Return the nodes of each queue whose instance type is known.

    Args:
        fleet: The fleet.
        known_types: Facts of instance types by name.
    """
    return tuple(
        NodeGroup(name, NodeShape.of_instance(known_types[queue.instance_type]), queue.max_nodes)
        for name, queue in fleet.queues.items()
        if queue.instance_type in known_types
    )


def misfits(policy: SlurmPolicy, groups: Sequence[NodeGroup]) -> Iterator[Fault]:
    """Yield why the policy cannot be written for these nodes; key paths are the policy's.

    Args:
        policy: The policy.
        groups: Nodes of the fleet.
    """
    for name in policy.partitions:
        try:
            partition_settings(policy, name, groups)
        except ValueError as error:
            yield fault_at(policy, str(error))
    try:
        accounting_document(policy, groups, cluster="any")
    except ValueError as error:
        yield fault_at(policy, str(error))
