"""A file of the keeper is whole or as it was before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assets.node.keeper import whole


def test_a_file_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "freed"
    seen: list[tuple[bool, str]] = []

    def fsync(number: int) -> None:
        content = Path(f"/proc/self/fd/{number}").read_text()
        seen.append((path.exists(), content))

    monkeypatch.setattr(os, "fsync", fsync)
    whole.write(path, "7\n")
    assert seen == [(False, "7\n")]
    assert path.read_text() == "7\n"
    assert [*path.parent.iterdir()] == [path]


def test_a_file_that_cannot_be_written_stays(tmp_path: Path) -> None:
    path = tmp_path / "freed"
    path.write_text("7\n")
    path.with_name("freed.new").mkdir()
    with pytest.raises(IsADirectoryError):
        whole.write(path, "8\n")
    assert path.read_text() == "7\n"
