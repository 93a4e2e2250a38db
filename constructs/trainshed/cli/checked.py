"""Institution files with every check that synthesis makes, before the CDK is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..config import ConfigError, Fault, Fleet, Institution, load
from ..config.account_rules import stack_names
from ..config.explain import nearest
from ..config.faults import dotted
from ..config.fleet_rules import known
from ..config.yaml_source import YamlSource
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
    found: dict[Path, Institution] = {}
    faults = []
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
        found[path] = institution
    faults += name_clashes(found)
    if faults:
        raise ConfigError("\n".join(faults))
    return list(found.values())


def name_clashes(institutions: Mapping[Path, Institution]) -> Iterator[str]:
    """Yield where two files of one account and Region would make stacks of the same name.

    ParallelCluster makes a stack named like the cluster, beside the institution's own two. Names
    are compared without regard to case, as IAM does for the roles in them.

    Args:
        institutions: Institutions by their files.
    """
    owners: dict[tuple[str, str, str], tuple[Path, str]] = {}
    for path, institution in institutions.items():
        key_path = ("fleet", "cluster_name") if institution.fleet.cluster_name else ("name",)
        stacks = [
            (key_path, institution.cluster_name, "cluster"),
            *((("name",), stack, "stack") for stack in stack_names(institution.name)),
        ]
        for at, stack, what in stacks:
            place = institution.account, institution.region, stack.lower()
            other, its = owners.setdefault(place, (path, what))
            if other != path:
                line = YamlSource.read(path).line(at)
                yield (
                    f"{path}:{line}: {dotted(at)}: its {what} {stack!r} has the name of the "
                    f"{its} of {other}, in the same account and Region; take another"
                )


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
        tags=institution.every_tag,
    )
