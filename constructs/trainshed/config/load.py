"""From a file to an institution, or to every fault in it at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .explain import explain
from .faults import Fault, KeyPath, dotted
from .institution import Institution
from .rules import institution_faults
from .yaml_source import YamlError, YamlSource


class ConfigError(Exception):
    """A file that cannot be used: one line for each fault, ``file:line: key.path: reason; fix``."""


def load(path: Path) -> Institution:
    """Read and check one institution file.

    Raises:
        ConfigError: With every fault of the file, in the order of its lines.
    """
    try:
        source = YamlSource.read(path)
    except YamlError as error:
        raise ConfigError(str(error)) from None
    if not isinstance(source.data, dict):
        raise ConfigError(f"{path}:1: the file holds no keys; start with 'name: my-institution'")
    faults = list(source.faults)
    text = json.dumps(source.data)
    try:
        institution = Institution.model_validate_json(text)
    except ValidationError as error:
        faults += explain(error, source.data, Institution)
        faults += institution_faults(_whole_sections(source.data))
    if faults:
        raise ConfigError("\n".join(_lines(source, faults)))
    return institution


def _whole_sections(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections that are right by themselves, so that rules across them still run."""
    sections = {}
    for name, field in Institution.model_fields.items():
        if name in data:
            section: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
            try:
                sections[name] = section.validate_json(json.dumps(data[name]), strict=True)
            except ValidationError:
                continue
        elif not field.is_required():
            sections[name] = field.get_default(call_default_factory=True)
    return sections


def _lines(source: YamlSource, faults: Iterable[Fault]) -> Iterator[str]:
    placed = {(source.line(f.key_path), f.key_path, f.reason) for f in faults}
    for line, key_path, reason in sorted(placed, key=_order):
        where = f"{source.path}:{line}: "
        yield f"{where}{dotted(key_path)}: {reason}" if key_path else f"{where}{reason}"


def _order(placed: tuple[int, KeyPath, str]) -> tuple[int, list[str], str]:
    line, key_path, reason = placed
    return line, [str(key) for key in key_path], reason
