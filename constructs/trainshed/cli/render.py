"""Every file that a cluster gets, written without AWS: what only AWS knows stands as a name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..config import Institution
from .checked import cluster_configuration


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
