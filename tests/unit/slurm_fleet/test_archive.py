"""Archives are the same bytes wherever they are made."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from pathlib import Path

from trainshed.slurm_fleet import archive, archive_of_folder

FILES = {"b/run.sh": b"#!/bin/bash\n", "a.txt": b"text\n"}


def entries(data: bytes) -> dict[str, zipfile.ZipInfo]:
    with zipfile.ZipFile(io.BytesIO(data)) as read:
        assert read.testzip() is None
        return {entry.filename: entry for entry in read.infolist()}


def test_the_order_of_the_files_changes_nothing() -> None:
    assert archive(FILES) == archive(dict(reversed(FILES.items())))


def test_the_hash_is_pinned() -> None:
    """Whatever the versions of Python and zlib; another hash would outdate every node."""
    assert archive(FILES).sha256 == (
        "6e0576058a7ad480da4aaae26c7bba5d6167cb7b05f1542498b6927d3fa73a7e"
    )


def test_scripts_alone_are_executable() -> None:
    found = entries(archive(FILES).data)
    modes = {name: stat.S_IMODE(entry.external_attr >> 16) for name, entry in found.items()}
    assert modes == {"a.txt": 0o644, "b/run.sh": 0o755}


def test_a_folder_is_packed_without_caches_and_dates(tmp_path: Path) -> None:
    for name, data in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    first = archive_of_folder(tmp_path)
    (tmp_path / "b" / "__pycache__").mkdir()
    (tmp_path / "b" / "__pycache__" / "x.pyc").write_bytes(b"cache")
    os.utime(tmp_path / "a.txt", (1, 1))
    assert archive_of_folder(tmp_path) == first == archive(FILES)
