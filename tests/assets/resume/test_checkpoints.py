"""What counts as a complete checkpoint, and what is passed over."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from assets.node.resume import checkpoints
from assets.node.resume.checkpoints import candidates, fault_of, newest, progress, seal
from assets.node.resume.torch_metadata import needed_bytes


def sealed(folder: Path, name: str, content: bytes = b"weights" * 100) -> Path:
    path = folder / name
    path.mkdir()
    (path / "rank-0.bin").write_bytes(content)
    (path / "rank-1.bin").write_bytes(content[::-1])
    seal(path)
    return path


def cut(path: Path) -> None:
    whole = (path / "rank-1.bin").read_bytes()
    (path / "rank-1.bin").write_bytes(whole[:-1])


def zeroed(path: Path) -> None:
    (path / "rank-1.bin").write_bytes(bytes(700))


def unsealed(path: Path) -> None:
    (path / "manifest.json").unlink()


def half_sealed(path: Path) -> None:
    manifest = path / "manifest.json"
    manifest.write_text(manifest.read_text()[:40])


def one_gone(path: Path) -> None:
    (path / "rank-0.bin").unlink()


def names_nothing(path: Path) -> None:
    (path / "manifest.json").write_text('{"files": {}}')


def names_a_zero_byte(path: Path) -> None:
    (path / "manifest.json").write_text('{"files": {"a\\u0000": {"bytes": 1, "sha256": ""}}}')


@pytest.mark.parametrize(
    ("break_it", "fault"),
    [
        (cut, "rank-1.bin has 699 of 700 bytes"),
        (zeroed, "rank-1.bin has another content than was written"),
        (unsealed, "it has neither manifest.json nor .metadata nor .complete"),
        (half_sealed, "manifest.json cannot be read: "),
        (one_gone, "rank-0.bin is missing"),
        (names_nothing, "manifest.json names no file"),
        (names_a_zero_byte, "it cannot be read: embedded null byte"),
    ],
    ids=[
        "truncated",
        "zeros",
        "no manifest",
        "half a manifest",
        "missing file",
        "empty manifest",
        "zero byte",
    ],
)
def test_a_broken_newest_checkpoint_is_passed_over(
    tmp_path: Path, break_it: Callable[[Path], None], fault: str
) -> None:
    good = sealed(tmp_path, "step-100")
    bad = sealed(tmp_path, "step-200")
    break_it(bad)
    path, passed = newest(tmp_path)
    assert path == good
    assert [each.path for each in passed] == [bad]
    assert passed[0].fault.startswith(fault)


def test_the_newest_is_told_by_its_step_and_not_by_its_name(tmp_path: Path) -> None:
    for name in ("step-9", "step-10", "final"):
        sealed(tmp_path, name)
    assert [path.name for path in candidates(tmp_path)] == ["step-10", "step-9", "final"]


@pytest.mark.parametrize("target", ["step-9", "latest"], ids=["rotated away", "to itself"])
def test_a_dead_link_hides_no_checkpoint(tmp_path: Path, target: str) -> None:
    """The training began anew from step 0: a link was taken for a folder that is not there."""
    good = sealed(tmp_path, "step-8")
    (tmp_path / "latest").symlink_to(tmp_path / target)
    assert newest(tmp_path) == (good, [])


def test_how_far_a_checkpoint_is_depends_on_its_step_and_else_on_its_time(tmp_path: Path) -> None:
    first, second, last = (sealed(tmp_path, name) for name in ("step-1", "step-2", "last"))
    assert progress(None) < progress(last) < progress(first) < progress(second)
    before = progress(first), progress(last)
    for path in (first, last):
        os.utime(path, (2e9, 2e9))
    assert progress(first) == before[0]
    assert progress(last) > before[1]
    assert progress(tmp_path / "gone-3") == progress(None)


def test_what_is_being_written_is_no_checkpoint(tmp_path: Path) -> None:
    sealed(tmp_path, "step-1")
    for name in ("step-2.tmp", ".step-3", "step-4.partial"):
        sealed(tmp_path, name)
    assert newest(tmp_path) == (tmp_path / "step-1", [])


def test_a_folder_that_is_not_there_has_no_checkpoint(tmp_path: Path) -> None:
    assert newest(tmp_path / "none") == (None, [])


def test_a_marker_of_its_writer_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "step-5"
    path.mkdir()
    (path / "x").touch()
    assert fault_of(path)
    (path / ".complete").touch()
    assert fault_of(path) == ""


def test_a_checkpoint_of_one_file_has_its_manifest_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "step-7.pt"
    path.write_bytes(b"x" * 50)
    assert seal(path) == tmp_path / "step-7.pt.manifest.json"
    assert newest(tmp_path) == (path, [])
    path.write_bytes(b"x" * 49)
    assert newest(tmp_path)[0] is None


def test_of_a_large_checkpoint_sizes_alone_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sealed(tmp_path, "step-1")
    zeroed(path)
    monkeypatch.setattr(checkpoints, "CHECKSUM_BYTES", 1000)
    assert fault_of(path) == ""
    cut(path)
    assert fault_of(path) == "rank-1.bin has 699 of 700 bytes"


def test_nothing_cannot_be_sealed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=f"^{tmp_path}/empty has no file to seal$"):
        seal(tmp_path / "empty")


@dataclass
class Metadata:
    """As torch.distributed.checkpoint.metadata has it."""

    state_dict_metadata: dict[str, object]
    planner_data: object = None
    storage_data: object = None


@dataclass(frozen=True)
class MetadataIndex:
    """What one piece is found by; a key of a dict, made anew when it is read."""

    fqn: str
    offset: object = None
    index: int | None = None


@dataclass
class StorageInfo:
    """As torch.distributed.checkpoint.filesystem has it."""

    relative_path: str
    offset: int
    length: int


class Size(tuple[int, ...]):
    """A tuple that is made by being called, as torch.Size is."""

    def __reduce__(self) -> tuple[type, tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


def torch_checkpoint(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a checkpoint in torch's format, whose classes this process then cannot import."""
    module = ModuleType("torch_is_not_here")
    for each in (Metadata, MetadataIndex, StorageInfo, Size):
        setattr(module, each.__name__, each)
        monkeypatch.setattr(each, "__module__", module.__name__)
    path = folder / "step-300"
    path.mkdir()
    pieces = {
        MetadataIndex("layer.weight", Size((0, 0)), 0): StorageInfo("__0_0.distcp", 0, 400),
        MetadataIndex("layer.weight", Size((4, 0)), 1): StorageInfo("__1_0.distcp", 0, 400),
        MetadataIndex("optimizer"): StorageInfo("__0_0.distcp", 400, 100),
    }
    monkeypatch.setitem(sys.modules, module.__name__, module)
    (path / ".metadata").write_bytes(pickle.dumps(Metadata({}, None, pieces)))
    monkeypatch.delitem(sys.modules, module.__name__)
    (path / "__0_0.distcp").write_bytes(bytes(500))
    (path / "__1_0.distcp").write_bytes(bytes(400))
    return path


def test_a_checkpoint_of_torch_needs_every_file_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = torch_checkpoint(tmp_path, monkeypatch)
    assert needed_bytes((path / ".metadata").read_bytes()) == {
        "__0_0.distcp": 500,
        "__1_0.distcp": 400,
    }
    assert fault_of(path) == ""
    (path / "__0_0.distcp").write_bytes(bytes(499))
    assert fault_of(path) == "__0_0.distcp has 499 of 500 bytes"
    (path / "__0_0.distcp").unlink()
    assert fault_of(path) == "__0_0.distcp is missing"


def test_a_checkpoint_of_torch_without_its_metadata_is_not_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = torch_checkpoint(tmp_path, monkeypatch)
    whole = (path / ".metadata").read_bytes()
    (path / ".metadata").write_bytes(whole[: len(whole) // 2])
    assert fault_of(path).startswith(".metadata cannot be read: ")
    (path / ".metadata").unlink()
    assert fault_of(path).startswith("it has neither")


def test_nothing_that_a_pickle_names_is_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"

    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(trap),)

    with pytest.raises(ValueError, match="names no file"):
        needed_bytes(pickle.dumps(Evil()))
    assert not trap.exists()


def test_a_manifest_names_sizes_and_sums(tmp_path: Path) -> None:
    path = sealed(tmp_path, "step-1")
    written = json.loads((path / "manifest.json").read_text())["files"]
    assert sorted(written) == ["rank-0.bin", "rank-1.bin"]
    assert written["rank-0.bin"]["bytes"] == 700
