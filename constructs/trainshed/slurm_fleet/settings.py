"""Settings that a record adds to slurm.conf. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..config.faults import Fault
from ..pcluster.slurm_lines import LINES_OF_SEVERAL, line_faults
from ..slurm import slurm_conf
from ..slurm.fleet_rules import node_groups
from . import names
from .files import bare_cluster
from .shapes import Types, policy_of

if TYPE_CHECKING:
    from ..config.fleet import Fleet

AT = ("slurm", "extra_slurm_settings")
# What the node scripts rely on beside what slurm.conf says: ports, and users of the daemons.
RELIED_ON = frozenset({"authinfo", "slurmctldport", "slurmdport", "slurmduser"})


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
        elif name.lower() in written:
            reason = "is written by trainshed or the policy already; change it there, or leave it"
            yield Fault((*AT, name), f"{reason} out")
