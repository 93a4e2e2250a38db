"""Institution files with every check that synthesis makes, before the CDK is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..config import ConfigError, Fault, Fleet, Institution, load
from ..config.explain import nearest
from ..config.faults import dotted
from ..config.fleet_rules import known
from ..pcluster import configuration_faults, fleet_faults, placeholders, render


def load_checked(path: Path) -> Institution:
    """Read one institution file and check the cluster configuration that it renders to.

    Raises:
        ConfigError: With every fault.
    """
    institution = load(path, rules=[parallelcluster_has_it])
    faults = configuration_faults(cluster_configuration(institution))
    if faults:
        lines = (f"{path}: cluster-config {dotted(f.key_path)}: {f.reason}" for f in faults)
        raise ConfigError("\n".join(lines))
    return institution


def parallelcluster_has_it(
    name: str, fleet: Fleet, instance_types: Mapping[str, Any]
) -> Iterator[Fault]:
    """What the fleet asks for, ParallelCluster can do."""
    faults = fleet_faults(
        fleet, cluster_name=fleet.cluster_name or name, known_types=known(instance_types)
    )
    yield from (fault.below("fleet") for fault in faults)


def load_all(folder: Path, chosen: str | None = None) -> list[Institution]:
    """Read the institutions of a folder, sorted by file name, or one of them by its name.

    Raises:
        ConfigError: With every fault of every file; or there is no such institution.
    """
    paths = sorted(folder.glob("*.yaml"))
    if chosen is not None:
        names = [path.stem for path in paths]
        if chosen not in names:
            near = nearest(chosen, names) or f"; there are {', '.join(names) or 'none'}"
            raise ConfigError(f"institution {chosen!r} has no file in {folder}{near}")
        paths = [folder / f"{chosen}.yaml"]
    institutions, faults = [], []
    for path in paths:
        try:
            institution = load_checked(path)
        except ConfigError as error:
            faults.append(str(error))
            continue
        if institution.name != path.stem:
            faults.append(
                f"{path}: name is {institution.name!r}; name the file {institution.name}.yaml"
            )
        institutions.append(institution)
    if faults:
        raise ConfigError("\n".join(faults))
    return institutions


def cluster_configuration(institution: Institution) -> dict[str, Any]:
    """Return the cluster configuration with names in the place of what only AWS knows."""
    references = placeholders(
        institution.fleet,
        region=institution.region,
        mount_dir=institution.storage.mount_dir,
        cluster_name=institution.cluster_name,
        file_system_efa=institution.storage.source.efa,
        isolated=institution.network.source.internet == "isolated",
        known_types=institution.known_types,
    )
    return render(
        institution.fleet,
        references,
        known_types=institution.known_types,
        tags=institution.tags,
    )
