"""A fleet's Slurm policy on ParallelCluster: its settings, and what does not fit there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..config.faults import Fault
from ..config.policy_rules import policy_findings
from ..slurm.fleet_rules import node_groups
from ..slurm.parallelcluster import CustomSetting, parallelcluster_settings
from .gate import gate_warnings

if TYPE_CHECKING:
    from ..config.fleet import Fleet
    from ..facts import InstanceType


def policy_settings(
    fleet: Fleet, known_types: Mapping[str, InstanceType]
) -> tuple[list[CustomSetting], dict[str, CustomSetting]]:
    """Return the lines of slurm.conf that the policy makes, and the settings of each queue.

    Args:
        fleet: The fleet; without a policy there are none.
        known_types: Facts of instance types by name; it has the type of every queue.
    """
    if fleet.policy is None:
        return [], {}
    return parallelcluster_settings(fleet.policy, node_groups(fleet, known_types))


def policy_warnings(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> list[str]:
    """Return what of the policy is waste or a surprise, and what the gate does not judge.

    Args:
        fleet: The fleet.
        known_types: Facts of instance types by name.
    """
    told = gate_warnings(fleet, known_types)
    if fleet.policy is None:
        return told
    groups = node_groups(fleet, known_types)
    _, warnings = policy_findings(fleet.policy, groups, parallelcluster=True, database=True)
    return [*told, *warnings]


def policy_misfits(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> Iterator[Fault]:
    """Yield what is wrong with the policy, on these nodes and with ParallelCluster."""
    policy = fleet.policy
    if policy is None:
        return
    # A queue of an unknown type is judged elsewhere, and would be missing here.
    is_whole = all(queue.instance_type in known_types for queue in fleet.queues.values())
    faults: list[Fault] = []
    if is_whole:
        groups = node_groups(fleet, known_types)
        faults, _ = policy_findings(policy, groups, parallelcluster=True, database=True)
    yield from faults
    if fleet.accounting is None:
        yield Fault.at(
            "policy",
            reason="has limits, accounts and users, which Slurm keeps in a database, and "
            "fleet.accounting is not given; write accounting: {create: {}}, or a database that "
            "is there already",
        )
    for name in fleet.queues:
        if name in policy.partitions:
            yield Fault.at(
                "policy",
                "partitions",
                name,
                reason="has the name of a queue, whose partition ParallelCluster makes itself; "
                "slurmctld stops at the second one: rename the partition or the queue",
            )
    yield from _selection(fleet, policy.scheduler.select)
    if is_whole and not faults:
        yield from _written_twice(fleet, known_types)


def _selection(fleet: Fleet, select: str) -> Iterator[Fault]:
    # aws-parallelcluster-cookbook, slurm_parallelcluster.conf (3.16.1), read 2026-11-29.
    fixed = "CR_CPU_Memory" if fleet.parallelcluster.memory_scheduling else "CR_CPU"
    if select != fixed:
        yield Fault.at(
            "policy",
            "scheduler",
            "select",
            reason=f"is {select}; ParallelCluster sets it by "
            f"fleet.parallelcluster.memory_scheduling, to {fixed}: leave it out",
        )


def _written_twice(fleet: Fleet, known_types: Mapping[str, InstanceType]) -> Iterator[Fault]:
    lines = [line for line in policy_settings(fleet, known_types)[0] if "PartitionName" not in line]
    ours = {key.lower() for line in lines for key in line}
    for key in fleet.parallelcluster.extra_slurm_settings:
        if key.lower() in ours:
            yield Fault.at(
                "parallelcluster",
                "extra_slurm_settings",
                key,
                reason="is written by fleet.policy too, and Slurm takes the last one; "
                "change the policy and leave this out",
            )
