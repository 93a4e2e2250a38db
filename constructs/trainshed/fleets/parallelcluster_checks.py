"""What a ParallelCluster fleet refuses before it makes anything."""

from __future__ import annotations

from collections.abc import Mapping

from .. import facts
from .._given import check_present, check_record, check_value
from ..config.backend_rules import backend_faults
from ..config.faults import refuse
from ..config.fleet import Fleet
from ..config.texts import ClusterName
from ..pcluster import fleet_faults, unknown_types
from ..records import is_token


def check_fleet(
    cluster_name: str, fleet: Fleet, known_types: Mapping[str, facts.InstanceType]
) -> None:
    """Refuse what a ParallelCluster fleet cannot be made of.

    Raises:
        FaultsError: ParallelCluster cannot do what the record asks for; every fault.
        ValueError: ``cluster_name`` is a token, or ``fleet`` is no record of this backend.
    """
    check_record("fleet", fleet, Fleet)
    check_present(known_types=known_types)
    if is_token(cluster_name):
        raise ValueError(
            "cluster_name is known only at deploy time, and names of roles and permissions are "
            "made of it at synth; write the name itself"
        )
    check_value("cluster_name", cluster_name, ClusterName)
    if fleet.backend != "parallelcluster":
        raise ValueError(f"fleet.backend is {fleet.backend}; leave it out, or make a SlurmFleet")
    refuse(unknown_types(fleet, known_types))
    refuse(backend_faults(fleet))
    if fleet.accounting and fleet.accounting.create:
        raise ValueError(
            "fleet.accounting.create asks for a database, which SlurmAccountingDatabase makes; "
            "give its record instead: fleet.accounting.made(...)"
        )
    refuse(fleet_faults(fleet, cluster_name=cluster_name, known_types=known_types))
