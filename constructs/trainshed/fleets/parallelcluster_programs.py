"""Trainshed's programs as objects in S3 that nodes of ParallelCluster fetch and run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .._assets import ASSETS
from ..config.fleet import Fleet
from ..facts import InstanceType
from ..pcluster import Script
from ..pcluster.boot import COMPUTE_PROGRAM, HEAD_PROGRAM, RELEASE_RUNNER
from ..pcluster.release import (
    COMPUTE_FILES,
    HEAD_FILES,
    compute_document,
    head_document,
    release,
)
from .node_scripts import NodeScript, ScriptObjects, node_script


@dataclass(frozen=True, slots=True)
class Programs:
    """What a kind of node runs of trainshed's programs.

    Args:
        script: The script that fetches and starts them.
        fetched: What it reads.
    """

    script: NodeScript
    fetched: tuple[Script, ...]


class ClusterPrograms:
    """The programs of a cluster's nodes, each with the document that it reads.

    Args:
        objects: Where files are uploaded.
        region: AWS Region.
        cluster_name: Name of the cluster.
        fleet: The fleet.
        mount_dir: Where every node mounts the file system.
        known_types: Facts of instance types by name.
    """

    head: Programs
    """Of the head node."""
    compute: Mapping[str, Programs]
    """Of the compute nodes, by queue."""

    def __init__(
        self,
        objects: ScriptObjects,
        region: str,
        *,
        cluster_name: str,
        fleet: Fleet,
        mount_dir: str,
        known_types: Mapping[str, InstanceType],
    ) -> None:
        self._objects, self._region = objects, region
        place = {"cluster_name": cluster_name, "mount_dir": mount_dir}
        on_head = self._store("head-release.zip", _release(HEAD_FILES))
        document = head_document(fleet, known_types=known_types, **place)
        read = self._document("fleet", document)
        self.head = self._programs(HEAD_PROGRAM, on_head, read, region, mount_dir)
        on_node = self._store("compute-release.zip", _release(COMPUTE_FILES))
        self.compute = {}
        for name, queue in fleet.queues.items():
            document = compute_document(queue, known_types[queue.instance_type], **place)
            read = self._document(f"expect-{name}", document)
            self.compute[name] = self._programs(COMPUTE_PROGRAM, on_node, read, mount_dir)

    def _programs(self, program: str, archive: _Stored, document: _Stored, *args: str) -> Programs:
        files = (archive.sha256, archive.at.url, document.sha256, document.at.url)
        script = node_script(RELEASE_RUNNER, self._region, program, *files, *args)
        return Programs(script, (archive.at, document.at))

    def _document(self, name: str, document: Mapping[str, Any]) -> _Stored:
        return self._store(f"{name}.json", json.dumps(document, indent=1, sort_keys=True).encode())

    def _store(self, name: str, content: bytes) -> _Stored:
        with TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_bytes(content)
            given = NodeScript(str(path))
            # It is copied into the assembly here and now.
            return _Stored(self._objects.place(given), given.sha256)


@cache
def _release(names: tuple[str, ...]) -> bytes:
    """Return an archive of files of ours, which is the same for every institution."""
    return release(ASSETS / "node", names).data


@dataclass(frozen=True, slots=True)
class _Stored:
    """A file in S3, with the SHA-256 of its content."""

    at: Script
    sha256: str
