"""What a bare Slurm fleet refuses before it makes anything."""

from __future__ import annotations

from collections.abc import Mapping

from .. import facts
from .._given import check_present, check_record, check_value
from ..config.backend_rules import backend_faults
from ..config.faults import Fault, KeyPath, refuse
from ..config.fleet import Fleet
from ..config.texts import ClusterName
from ..records import is_token
from ..slurm_fleet.rules import fleet_faults, package_faults


def check_fleet(
    cluster_name: str,
    fleet: Fleet,
    types: Mapping[str, facts.InstanceType],
    *,
    isolated: bool,
) -> None:
    """Refuse what a bare fleet cannot be made of.

    Raises:
        FaultsError: The bare fleet cannot do what the record asks for; every fault.
        ValueError: ``cluster_name`` is a token, or ``fleet`` is no record of this backend.
    """
    check_record("fleet", fleet, Fleet)
    check_present(known_types=types)
    if is_token(cluster_name):
        raise ValueError(
            "cluster_name is known only at deploy time, and names of parameters and hosts are made "
            "of it at synth; write the name itself"
        )
    check_value("cluster_name", cluster_name, ClusterName)
    if fleet.backend != "slurm":
        raise ValueError(
            f"fleet.backend is {fleet.backend}; write slurm, or make a ParallelClusterFleet"
        )
    if fleet.accounting and fleet.accounting.create:
        raise ValueError(
            "fleet.accounting.create asks for a database, which SlurmAccountingDatabase makes; "
            "give its record instead: fleet.accounting.made(...)"
        )
    refuse(
        [
            *backend_faults(fleet),
            *_unknown_types(fleet, types),
            *fleet_faults(fleet, cluster_name=cluster_name, types=types),
            *package_faults(fleet, isolated=isolated),
        ]
    )


def _unknown_types(fleet: Fleet, types: Mapping[str, facts.InstanceType]) -> list[Fault]:
    named: dict[KeyPath, str] = {("head_node",): fleet.head_node.instance_type}
    named |= {("queues", name): queue.instance_type for name, queue in fleet.queues.items()}
    return [
        Fault(
            (*at, "instance_type"),
            f"{name!r} is not in the table of instance types; describe it under known_types",
        )
        for at, name in named.items()
        if name not in types
    ]
