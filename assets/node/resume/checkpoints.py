"""Which checkpoints of a folder are complete, and which is the newest.

A checkpoint is complete when it can prove it, in one of three ways:

- a manifest with the size and SHA-256 of each file: ``manifest.json`` in its folder, or
  ``NAME.manifest.json`` beside a checkpoint that is one file; :func:`seal` writes it;
- ``.metadata`` of torch.distributed.checkpoint, and every file that it names, as long as it says;
- an empty file ``.complete`` in its folder, which its writer makes last.

Anything else may have been written by half when a node died, and is passed over.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .torch_metadata import needed_bytes

MANIFEST = "manifest.json"
MARKER = ".complete"
TORCH = ".metadata"
_BESIDE = ".manifest.json"
_UNFINISHED = (".tmp", ".new", ".partial", _BESIDE)
_BLOCK = 1 << 20
CHECKSUM_BYTES = 64 << 30
"""Content is compared up to this size, a minute or two of one core; beyond, sizes alone count."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint and why it cannot be used; empty when it is complete."""

    path: Path
    fault: str = ""


def candidates(directory: Path) -> list[Path]:
    """Return what may be a checkpoint, the newest first.

    The last number in a name is its step; names without one count by their time, and are older.
    """
    try:
        found = [path for path in directory.iterdir() if _named(path)]
    except FileNotFoundError:
        return []
    # A link to what was rotated away, or what is removed just now, hides none of the others.
    aged = [(age, path) for path in found if (age := _age(path)) is not None]
    return [path for _, path in sorted(aged, reverse=True)]


def _named(path: Path) -> bool:
    return not path.name.startswith(".") and not path.name.endswith(_UNFINISHED)


def _age(path: Path) -> tuple[int, float, str] | None:
    numbers = re.findall(r"\d+", path.name)
    try:
        return (int(numbers[-1]) if numbers else -1, path.stat().st_mtime, path.name)
    except OSError:
        return None


def progress(path: Path | None) -> tuple[int, float]:
    """Return how far a checkpoint is: its step, or its time where the name has none.

    The same step once more is no further, whenever it was written.
    """
    age = _age(path) if path else None
    if age is None:
        return (-2, 0.0)
    return (age[0], age[1] if age[0] < 0 else 0.0)


def newest(directory: Path) -> tuple[Path | None, list[Checkpoint]]:
    """Return the newest complete checkpoint, and the newer ones that were passed over."""
    passed: list[Checkpoint] = []
    for path in candidates(directory):
        fault = fault_of(path)
        if not fault:
            return path, passed
        passed.append(Checkpoint(path, fault))
    return None, passed


def fault_of(path: Path) -> str:
    """Return why a checkpoint is not complete; empty when it is."""
    try:
        manifest = path / MANIFEST if path.is_dir() else path.with_name(path.name + _BESIDE)
        if manifest.exists():
            return _by_manifest(path, manifest)
        if (path / TORCH).exists():
            return _by_torch(path)
        if path.is_dir() and (path / MARKER).exists():
            return ""
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        return f"it cannot be read: {error}"
    return f"it has neither {MANIFEST} nor {TORCH} nor {MARKER}"


def _by_manifest(path: Path, manifest: Path) -> str:
    try:
        files = dict(json.loads(manifest.read_text())["files"])
        wanted = [(name, int(said["bytes"]), str(said["sha256"])) for name, said in files.items()]
    except (ValueError, KeyError, TypeError) as error:
        return f"{manifest.name} cannot be read: {error!r}"
    if not wanted:
        return f"{manifest.name} names no file"
    base = path if path.is_dir() else path.parent
    # All sizes first: they tell most torn checkpoints, and cost nothing.
    for name, size, _ in wanted:
        fault = _short(base / name, size, exact=True)
        if fault:
            return fault
    if sum(size for _, size, _ in wanted) > CHECKSUM_BYTES:
        return ""
    for name, _, sha256 in wanted:
        if _sha256(base / name) != sha256:
            return f"{name} has another content than was written"
    return ""


def _by_torch(path: Path) -> str:
    try:
        sizes = needed_bytes((path / TORCH).read_bytes())
    except ValueError as error:
        return str(error)
    faults = (_short(path / name, size, exact=False) for name, size in sorted(sizes.items()))
    return next(filter(None, faults), "")


def _short(file: Path, size: int, *, exact: bool) -> str:
    try:
        found = file.stat().st_size
    except FileNotFoundError:
        return f"{file.name} is missing"
    if found < size or (exact and found != size):
        return f"{file.name} has {found} of {size} bytes"
    return ""


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def seal(path: Path) -> Path:
    """Write the manifest of a checkpoint whose files are all written, and return its path.

    Raises:
        ValueError: It has no file.
    """
    files = dict(sorted(_contents(path)))
    if not files:
        raise ValueError(f"{path} has no file to seal")
    manifest = path / MANIFEST if path.is_dir() else path.with_name(path.name + _BESIDE)
    new = manifest.with_name(f".{manifest.name}.new")
    new.write_text(json.dumps({"files": files}, indent=1) + "\n")
    new.replace(manifest)
    return manifest


def _contents(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    if path.is_file():
        yield path.name, _entry(path)
        return
    for file in path.rglob("*"):
        if file.is_file() and file.parent / file.name != path / MANIFEST:
            yield str(file.relative_to(path)), _entry(file)


def _entry(file: Path) -> dict[str, object]:
    return {"bytes": file.stat().st_size, "sha256": _sha256(file)}
