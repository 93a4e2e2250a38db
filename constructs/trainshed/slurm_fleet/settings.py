"""Settings that a record adds to slurm.conf. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..config.faults import Fault
from ..pcluster.slurm_lines import LINES_OF_SEVERAL, line_faults
from ..slurm import BareCluster, slurm_conf
from ..slurm.fleet_rules import node_groups
from . import names
from .files import PROGRAMS, bare_cluster, is_program
from .shapes import Types, policy_of

if TYPE_CHECKING:
    from ..config.fleet import Fleet

AT = ("slurm", "extra_slurm_settings")
# What the node scripts rely on beside what slurm.conf says: ports, and users of the daemons.
RELIED_ON = frozenset({"authinfo", "slurmctldport", "slurmdport", "slurmduser"})

# By the field of BareCluster, what trainshed's own program is, and what to do about another.
LOST = {
    "prolog": ("trainshed's check of the node before each job, {}", ": let yours end with exec {}"),
    "task_prolog": (
        "trainshed's, which gives tasks what NCCL and EFA need of their node's environment, {}",
        ": let yours end with exec {}",
    ),
    "reboot_program": ("{}", ": nodes that are mended by a reboot now rest on yours"),
}


def setting_faults(fleet: Fleet, types: Types) -> Iterator[Fault]:
    """Yield the settings that Slurm would read otherwise, or that are written already.

    Args:
        fleet: The fleet; its policy can be written for its queues.
        types: Facts of instance types by name.
    """
    settings = fleet.slurm.extra_slurm_settings
    if not settings:
        return
    yield from line_faults(settings, AT)
    if fleet.policy and set(names.RESERVED_NAMES) & set(fleet.policy.partitions):
        return
    text = slurm_conf(
        policy_of(fleet), node_groups(fleet, types), bare_cluster(fleet, "any", extra=False)
    )
    written = {line.partition("=")[0].lower() for line in text.splitlines()}
    for name in settings:
        if name.lower() in LINES_OF_SEVERAL:
            reason = (
                "begins a line of several settings, and each of these is a line of its own; leave "
                "it out: nodes and partitions follow from queues and policy"
            )
            yield Fault((*AT, name), reason)
        elif name.lower() in RELIED_ON:
            yield Fault((*AT, name), "is what the scripts of the nodes rely on; leave it out")
        elif name.lower() == "schedulerparameters" and name.lower() in written:
            reason = (
                "is written by trainshed, whose nohold_on_prolog_fail yours would lose; give yours "
                "in policy.scheduler.parameters, which go beside it"
            )
            yield Fault((*AT, name), reason)
        elif name.lower() in written and not is_program(name):
            reason = "is written by trainshed or the policy already; change it there, or leave it"
            yield Fault((*AT, name), f"{reason} out")


def setting_warnings(fleet: Fleet) -> list[str]:
    """Return which programs of trainshed's a fleet's own take the place of, a line each."""
    # One line names one program, or those of a pattern, which two folders never share; several
    # lines are known of 24.11 and not of 23.11 (slurm.conf(5) "Prolog", read 2026-11-30).
    made = BareCluster("any", "head")
    told = []
    for name, value in fleet.slurm.extra_slurm_settings.items():
        field = PROGRAMS.get(name.lower())
        if field is None or str(value).strip() == (program := getattr(made, field)):
            continue
        what, mend = (text.format(program) for text in LOST[field])
        reason = (
            f"{value} takes the place of {what}{mend}"
            if str(value).strip()
            else f"is empty and takes away {what}: leave the key out to keep it"
        )
        told.append(f"fleet.{'.'.join(AT)}.{name}: {reason}")
    return told
