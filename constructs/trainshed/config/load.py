"""From a file to an institution, or to every fault in it at once."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .explain import as_written, explain
from .faults import Fault, KeyPath, dotted
from .follow_on import may_follow
from .institution import Institution
from .rules import RULES, Rule, faults_by
from .yaml_source import YamlError, YamlSource


class ConfigError(Exception):
    """A file that cannot be used: one line for each fault, ``file:line: key.path: reason; fix``."""


def load(path: Path, *, rules: Sequence[Rule] = ()) -> Institution:
    """Read and check one institution file.

    Args:
        path: The file.
        rules: Rules beside those that hold for every institution, such as a backend's.

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
    left_out: list[KeyPath] = []
    try:
        institution = Institution.model_validate_json(json.dumps(source.data))
    except ValidationError as error:
        parts, left_out = _right_parts(source.data)
        told = {fault.key_path for fault in faults}
        explained = explain(error, source.data, Institution)
        faults += [fault for fault in explained if fault.key_path not in told]
        rules = (*RULES, *rules)
    else:
        parts = {name: getattr(institution, name) for name in Institution.model_fields}
    faults += (f for f in faults_by(rules, parts) if not may_follow(f, left_out, source.data))
    if faults:
        raise ConfigError("\n".join(_lines(source, faults)))
    return institution


def _right_parts(data: Mapping[str, Any]) -> tuple[dict[str, Any], list[KeyPath]]:
    """Return what is right in each section by itself, so that rules across sections still run.

    Returns:
        The sections, and the key paths of what was left out of them.
    """
    sections: dict[str, Any] = {}
    left_out: list[KeyPath] = []
    for name, field in Institution.model_fields.items():
        if name in data:
            adapter: TypeAdapter[Any] = TypeAdapter(field.rebuild_annotation())
            section, without = _right_part(adapter, copy.deepcopy(data[name]))
            left_out += ((name, *key_path) for key_path in without)
            if section is not None:
                sections[name] = section
        elif not field.is_required():
            sections[name] = field.get_default(call_default_factory=True)
    return sections, left_out


def _right_part(adapter: TypeAdapter[Any], data: Any) -> tuple[Any, list[KeyPath]]:
    """Leave out one faulty key after another, and what cannot be without it, until it is right."""
    left_out: list[KeyPath] = []
    while True:
        try:
            return adapter.validate_json(json.dumps(data), strict=True), left_out
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
            key_path = as_written(first["loc"], data)
            if first["type"] == "missing":
                key_path = key_path[:-1]
            left_out.append(key_path)
            if not key_path:
                return None, left_out
            holder = data
            for key in key_path[:-1]:
                holder = holder[key]
            del holder[key_path[-1]]


def _lines(source: YamlSource, faults: Iterable[Fault]) -> Iterator[str]:
    placed = {(source.line(f.key_path), f.key_path, f.reason) for f in faults}
    for line, key_path, reason in sorted(placed, key=_order):
        where = f"{source.path}:{line}: "
        yield f"{where}{dotted(key_path)}: {reason}" if key_path else f"{where}{reason}"


def _order(placed: tuple[int, KeyPath, str]) -> tuple[int, list[str], str]:
    line, key_path, reason = placed
    return line, [str(key) for key in key_path], reason
