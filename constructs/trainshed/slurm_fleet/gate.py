"""What the gate of a bare fleet has to judge by, and what is told where it has nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..config.faults import Fault
from ..health import tolerance_of_nothing, unmeasured
from ..slurm.fleet_rules import node_groups
from .shapes import Types

if TYPE_CHECKING:
    from ..config.fleet import Fleet

AT = ("slurm", "gate")
# CloudFormation waits an hour for a custom resource, and 56 minutes of it are used
# (assets/functions/slurm_fleet).
_MOST_MINUTES = 55


def gate_document(fleet: Fleet) -> dict[str, Any] | None:
    """Return what the fleet document says of the gate; None where there is none."""
    gate = fleet.slurm.gate
    return {"minutes": gate.minutes, "strict": gate.strict} if gate.enabled else None


def gate_faults(fleet: Fleet, types: Types) -> Iterator[Fault]:
    """Yield where the gate cannot be passed.

    Args:
        fleet: The fleet.
        types: Facts of instance types by name.
    """
    gate = fleet.slurm.gate
    if reason := tolerance_of_nothing(gate.tolerance, gate.least_bus_gb_s):
        yield Fault((*AT, "tolerance"), reason)
    if not gate.enabled:
        return
    boot = fleet.slurm.boot_timeout_minutes
    if boot + gate.minutes > _MOST_MINUTES:
        yield Fault(
            (*AT, "minutes"),
            f"is {gate.minutes}, and with boot_timeout_minutes, {boot}, above the {_MOST_MINUTES} "
            f"that CloudFormation's hour leaves: use {_MOST_MINUTES - gate.minutes} or less there, "
            f"or {_MOST_MINUTES - boot} or less here",
        )
    if gate.strict:
        for name, what in _unmeasured(fleet, types):
            yield Fault(
                ("queues", name, "instance_type"),
                f"{what}, and slurm.gate.strict lets in nothing that is not judged: give "
                "slurm.gate.least_bus_gb_s, or leave strict out",
            )


def gate_warnings(fleet: Fleet, types: Types) -> list[str]:
    """Return what the gate does not judge, a line each."""
    gate = fleet.slurm.gate
    if not gate.enabled:
        return [
            "fleet.slurm.gate.enabled is false: users get nodes before their checks have passed, "
            "and no all-reduce over the fleet"
        ]
    if gate.strict:
        return []
    return [
        f"fleet.queues.{name}: {what}; its gate judges the rest, and says so"
        for name, what in _unmeasured(fleet, types)
    ]


def _unmeasured(fleet: Fleet, types: Types) -> Iterator[tuple[str, str]]:
    """Yield the queues whose bandwidth nothing is known of, and why."""
    own = fleet.slurm.gate.least_bus_gb_s
    for group in node_groups(fleet, types):
        queue = fleet.queues[group.name]
        kind = types[queue.instance_type]
        if kind.neuron_devices and not kind.gpus:
            yield group.name, f"no all-reduce runs over {kind.name}, whose devices are no GPUs"
        elif kind.gpus and own is None and (what := unmeasured(kind.name, group.count, kind.gpus)):
            yield group.name, what
