"""``trainshed render``: every file of a cluster; what only AWS knows stands there as a name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from ..config import ConfigError, Institution
from .checked import cluster_configuration, load_checked


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", type=Path, metavar="FILE")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")


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
    from ..pcluster import to_yaml

    yield "cluster-config.yaml", to_yaml(cluster_configuration(institution))


def write_rendered(institution: Institution, folder: Path) -> list[Path]:
    """Write each file into a folder, made where it is not there; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in rendered(institution):
        path = folder / name
        path.write_text(text)
        paths.append(path)
    return paths
