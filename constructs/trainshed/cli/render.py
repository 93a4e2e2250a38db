"""``trainshed render``: every file of a cluster; what only AWS knows stands there as a name."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..config import ConfigError, Institution
from .checked import cluster_configuration, load_checked
from .slurm import accounting_document_of

# In the folder of the files: their names, a line each, for the next rendering.
_LIST = ".rendered"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="what an earlier rendering wrote there, and this one does not, is removed",
    )


def run(options: argparse.Namespace) -> int:
    """Write the files and print their paths. Return 1 where the institution file has a fault."""
    try:
        institution = load_checked(options.file)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1
    for path in write_rendered(institution, options.out):
        print(path)
    return 0


def rendered(institution: Institution) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each file."""
    if institution.fleet.backend == "slurm":
        yield from _slurm_fleet(institution)
        return
    from ..pcluster import to_yaml

    yield "cluster-config.yaml", to_yaml(cluster_configuration(institution))
    yield from _policy(institution)


def _policy(institution: Institution) -> Iterator[tuple[str, str]]:
    """Yield the Slurm policy: a table for people, the document, and what its first run does."""
    document = accounting_document_of(institution)
    fleet = institution.fleet
    if document is None or fleet.policy is None:
        return
    from ..slurm import policy_table
    from ..slurm.fleet_rules import node_groups
    from ..slurm.reconcile import first_steps

    groups = node_groups(fleet, institution.known_types)
    yield "policy.md", policy_table(fleet.policy, groups)
    if fleet.backend == "parallelcluster":
        yield "policy.json", json.dumps(document, indent=1, sort_keys=True) + "\n"
    steps = "".join(f"{number}. {step}\n" for number, step in enumerate(first_steps(document), 1))
    yield "account-plan.md", f"What an empty accounting database gets, a call each:\n\n{steps}"


def _slurm_fleet(institution: Institution) -> Iterator[tuple[str, str]]:
    from ..pcluster import with_named_database
    from ..slurm_fleet import cluster_files, fleet_document
    from ..slurm_fleet.placeholders import placeholders

    fleet, types = with_named_database(institution.fleet), institution.known_types
    around = placeholders(
        fleet,
        cluster_name=institution.cluster_name,
        region=institution.region,
        mount_dir=institution.storage.mount_dir,
        file_system_efa=institution.storage.source.efa,
    )
    document = fleet_document(fleet, around, types=types)
    yield "fleet.json", json.dumps(document, indent=1, sort_keys=True) + "\n"
    files = cluster_files(
        fleet,
        cluster_name=institution.cluster_name,
        mount_dir=institution.storage.mount_dir,
        types=types,
    )
    yield from files.items()
    yield from _policy(institution)


def write_rendered(institution: Institution, folder: Path) -> list[Path]:
    """Write each file into a folder, made where it is not there; return their paths.

    What an earlier rendering wrote there, and this one does not, is removed: read beside the new
    files, it would be taken for one of them. Nothing else in the folder is touched.
    """
    files = dict(rendered(institution))
    folder.mkdir(parents=True, exist_ok=True)
    for name in _written_before(folder) - files.keys():
        (folder / name).unlink()
        with suppress(OSError):  # others' files are in it
            (folder / name).parent.rmdir()
    (folder / _LIST).write_text("".join(f"{name}\n" for name in files), encoding="utf-8")
    paths = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _written_before(folder: Path) -> set[str]:
    """Return the names of files that the last rendering wrote; none that lead out of the folder."""
    try:
        names = (folder / _LIST).read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return set()
    inside = folder.resolve()
    return {name for name in names if _is_file_in(inside, name)}


def _is_file_in(folder: Path, name: str) -> bool:
    try:
        return (folder / name).is_file() and folder in (folder / name).resolve().parents
    except OSError:  # longer than any name, so that no rendering wrote it
        return False
