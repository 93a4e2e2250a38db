"""The files of a synthesised assembly, and what keeps one from being read, in a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class AssemblyError(ValueError):
    """A folder that is not as ``cdk synth`` writes it: in a line what is wrong, and what to do."""


def artifacts_of(
    assembly: Path, around: frozenset[str] = frozenset()
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield each artifact with the folder of its assembly; those inside others too.

    Each has a type and a name to show: the CDK leaves out what is the artifact's id anyway.

    Args:
        assembly: Folder of the assembly.
        around: The assemblies that it is in.

    Raises:
        AssemblyError: The folder is no assembly.
    """
    manifest = assembly / "manifest.json"
    artifacts = read_object(manifest).get("artifacts")
    if not isinstance(artifacts, dict):
        raise AssemblyError(f"{manifest} is of no assembly: no artifacts; run cdk synth again")
    around |= {os.path.realpath(assembly)}
    for id, artifact in artifacts.items():
        with reading(manifest):
            inner = artifact["type"] == "cdk:cloud-assembly"
            folder = assembly / artifact["properties"]["directoryName"] if inner else assembly
            is_circle = inner and os.path.realpath(folder) in around
        if not inner:
            yield assembly, {"displayName": id, **artifact}
        elif is_circle:
            raise AssemblyError(
                f"{manifest}: {id} holds the assembly that it is in; run cdk synth again"
            )
        else:
            yield from artifacts_of(folder, around)


def metadata_of(assembly: Path, artifact: Mapping[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """Return what an artifact's constructs say of themselves: by their paths, and by kind.

    Raises:
        AssemblyError: It is not as the CDK writes it.
    """
    file, found = assembly / "manifest.json", artifact.get("metadata")
    if "additionalMetadataFile" in artifact:
        with reading(file):
            file = assembly / artifact["additionalMetadataFile"]
        found = read_object(file)
    said: dict[str, dict[str, list[Any]]] = {}
    with reading(file):
        for path, entries in (found or {}).items():
            kinds = said.setdefault(path, {})
            for entry in entries:
                # The schema of an assembly lets an entry say nothing.
                kinds.setdefault(entry["type"], []).append(entry.get("data"))
    return said


def acknowledged_in(kinds: Mapping[str, list[Any]]) -> dict[str, str]:
    """Return the rules that a construct acknowledges, with their reasons."""
    said = kinds.get("aws:cdk:acknowledged-rules", [])
    return {
        str(rule): str(reason)
        for rules in said
        if isinstance(rules, dict)
        for rule, reason in rules.items()
    }


def read_object(file: Path) -> dict[str, Any]:
    """Read a file of an assembly.

    Raises:
        AssemblyError: It is not there, or holds no JSON object.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        reason = "is not there"
    except OSError as error:
        reason = f"cannot be read, {error.strerror or error}"
    except RecursionError:
        reason = "is nested too deep"
    except ValueError as error:
        reason = f"is not JSON, {error}"
    else:
        if isinstance(found, dict):
            return found
        reason = f"holds no object, but {found!r:.60}"
    raise AssemblyError(f"{file} {reason}; run cdk synth again")


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """Say of a file that it is not as ``cdk synth`` writes it, where a part of it is missing.

    Raises:
        AssemblyError: It is not.
    """
    try:
        yield
    except AssemblyError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error}"
        raise AssemblyError(
            f"{file} is not as cdk synth writes it, {what}; run cdk synth again"
        ) from error
