"""What is wrong with the Slurm policy of a bare fleet. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..config.faults import Fault
from ..config.policy_rules import policy_findings
from ..slurm.fleet_rules import node_groups
from . import names
from .gate import gate_warnings
from .settings import setting_warnings
from .shapes import Types

if TYPE_CHECKING:
    from ..config.fleet import Fleet


def partition_faults(fleet: Fleet) -> Iterator[Fault]:
    """Yield what a policy asks for and the bare fleet cannot do."""
    policy = fleet.policy
    if policy is None:
        return
    for name, partition in policy.partitions.items():
        at = ("policy", "partitions", name)
        if name in names.RESERVED_NAMES:
            yield Fault(at, "is the name of trainshed's own partition; take another name")
        if partition.node_names is not None:
            yield Fault(
                (*at, "node_names"),
                f"is {partition.node_names}; nodes of the bare fleet come and go under new names: "
                "use queues",
            )
    for key in ("accounting_first", "close_native_partitions"):
        if not getattr(policy.scheduler, key):
            yield Fault(
                ("policy", "scheduler", key),
                "is false, and the bare fleet knows no other way than true; leave it out",
            )


def policy_faults(fleet: Fleet, types: Types) -> list[Fault]:
    """Return the linter's errors of a fleet's own policy."""
    if fleet.policy is None:
        return []
    groups = node_groups(fleet, types)
    return policy_findings(fleet.policy, groups, parallelcluster=False, database=True)[0]


def policy_warnings(fleet: Fleet, types: Types) -> list[str]:
    """Return what is lost or not judged, and what the linter warns of in the fleet's own policy."""
    told = gate_warnings(fleet, types)
    if fleet.policy is not None:
        groups = node_groups(fleet, types)
        told += policy_findings(fleet.policy, groups, parallelcluster=False, database=True)[1]
    return told + setting_warnings(fleet)
