"""Institution files with every check that synthesis makes, before the CDK is imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..config import ConfigError, Fault, Fleet, Institution, Network, load
from ..config.account_rules import stack_names
from ..config.explain import nearest
from ..config.faults import dotted
from ..config.fleet_rules import known
from ..config.yaml_source import YamlSource
from ..pcluster import (
    configuration_faults,
    fleet_faults,
    placeholders,
    render,
    with_named_database,
)
from ..pcluster import policy_warnings as parallelcluster_warnings


def load_checked(path: Path) -> Institution:
    """Read one institution file and check it against its backend.

    Raises:
        ConfigError: With every fault.
    """
    institution = load(path, rules=[backend_has_it, nodes_have_packages])
    if institution.fleet.backend != "parallelcluster":
        return institution
    faults = configuration_faults(cluster_configuration(institution))
    if faults:
        lines = (f"{path}: cluster-config {dotted(f.key_path)}: {f.reason}" for f in faults)
        raise ConfigError("\n".join(lines))
    return institution


def backend_has_it(name: str, fleet: Fleet, instance_types: Mapping[str, Any]) -> Iterator[Fault]:
    """What the fleet asks for, its backend can do."""
    cluster_name, types = fleet.cluster_name or name, known(instance_types)
    if fleet.backend == "parallelcluster":
        faults = fleet_faults(fleet, cluster_name=cluster_name, known_types=types)
    else:
        # Imported here and below: most files are of the other backend.
        from ..slurm_fleet.rules import fleet_faults as faults_of_bare_fleet

        faults = faults_of_bare_fleet(fleet, cluster_name=cluster_name, types=types)
    yield from (fault.below("fleet") for fault in faults)


def policy_warnings(institution: Institution) -> list[str]:
    """Return what of an institution's Slurm policy is waste or a surprise, a line each."""
    fleet, types = institution.fleet, institution.known_types
    if fleet.backend == "parallelcluster":
        return parallelcluster_warnings(fleet, types)
    from ..slurm_fleet.policy import policy_warnings as warnings_of_bare_fleet

    return warnings_of_bare_fleet(fleet, types)


def nodes_have_packages(fleet: Fleet, network: Network) -> Iterator[Fault]:
    """Nodes of the bare fleet install Slurm from somewhere."""
    if fleet.backend == "slurm":
        from ..slurm_fleet.rules import package_faults

        isolated = network.source.internet == "isolated"
        faults = package_faults(fleet, isolated=isolated)
        yield from (fault.below("fleet") for fault in faults)


def load_all(folder: Path, chosen: str | None = None) -> list[Institution]:
    """Read the institutions of a folder, sorted by file name, or one of them by its name.

    Raises:
        ConfigError: With every fault of every file; or there is no such institution, or none.
    """
    paths, faults = _files_of(folder)
    if not paths:
        # The assembly of an earlier synthesis would be deployed as if it were of this one.
        faults.append(f"{folder}: no file NAME.yaml of an institution; write one, or bring it here")
    if faults:
        raise ConfigError("\n".join(faults))
    if chosen is not None:
        names = [path.stem for path in paths]
        if chosen not in names:
            near = nearest(str(chosen), names) or f"; there are {', '.join(names)}"
            raise ConfigError(f"institution {chosen!r} has no file in {folder}{near}")
        paths = [folder / f"{chosen}.yaml"]
    found: dict[Path, Institution] = {}
    for path in paths:
        try:
            institution = load_checked(path)
        except ConfigError as error:
            faults.append(str(error))
            continue
        if (fault := naming_fault(path, institution.name)) is None:
            found[path] = institution
        else:
            faults.append(fault)
    faults += name_clashes(found)
    if faults:
        raise ConfigError("\n".join(faults))
    return list(found.values())


def _files_of(folder: Path) -> tuple[list[Path], list[str]]:
    """Return the institution files of a folder; hidden ones are an editor's."""
    paths, faults = [], []
    for path in sorted(folder.glob("[!.]*.[yY]*")):
        if path.suffix == ".yaml":
            paths.append(path)
        elif path.suffix.lower() in (".yaml", ".yml"):
            faults.append(_passed_over(path))
    return paths, faults


def _passed_over(path: Path) -> str:
    return f"{path}: is not read; name it {path.stem}.yaml"


def naming_fault(path: Path, name: str) -> str | None:
    """Return why a synthesis would not take a file under its name; None where it would.

    Args:
        path: The file. One that has no ending of YAML, such as a pipe, has no name to judge.
        name: Name of the institution in it.
    """
    if path.suffix.lower() not in (".yaml", ".yml"):
        return None
    if path.suffix != ".yaml":
        return _passed_over(path)
    if path.stem == name:
        return None
    if path.with_name(f"{name}.yaml").exists():
        return f"{path}: name is {name!r}, which {name}.yaml has; write name: {path.stem}"
    return f"{path}: name is {name!r}; name the file {name}.yaml"


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
    fleet = with_named_database(institution.fleet)
    references = placeholders(
        fleet,
        region=institution.region,
        mount_dir=institution.storage.mount_dir,
        cluster_name=institution.cluster_name,
        file_system_efa=institution.storage.source.efa,
        isolated=institution.network.source.internet == "isolated",
        known_types=institution.known_types,
    )
    return render(
        fleet,
        references,
        known_types=institution.known_types,
        tags=institution.every_tag,
    )
