"""Zip archives that are the same, bit by bit, wherever and whenever they are made. Pure."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# The first day that a zip archive can hold.
_DAY = (1980, 1, 1, 0, 0, 0)
_SCRIPT_MODE, _FILE_MODE = 0o100755, 0o100644
_LEFT_OUT = {"__pycache__"}


@dataclass(frozen=True, slots=True)
class Archive:
    """A zip archive in memory.

    Args:
        data: Its bytes.
    """

    data: bytes

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()


def archive(files: Mapping[str, bytes]) -> Archive:
    """Return a zip of the files, sorted by name; what begins with ``#!`` is executable.

    Stored and not deflated: zlib's output differs from version to version.

    Args:
        files: Content by name, with ``/`` between folders.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as made:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DAY)
            entry.create_system = 3
            mode = _SCRIPT_MODE if data.startswith(b"#!") else _FILE_MODE
            entry.external_attr = mode << 16
            made.writestr(entry, data)
    return Archive(buffer.getvalue())


def archive_of_folder(folder: Path) -> Archive:
    """Return a zip of every file below a folder, without Python's caches."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return archive(
        {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in paths
            if not _LEFT_OUT.intersection(path.relative_to(folder).parts)
        }
    )
