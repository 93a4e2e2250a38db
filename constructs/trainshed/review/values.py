"""Values of templates and configurations: as text, leaf by leaf, and what they point to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from .intrinsics import NO_VALUE

INSTITUTION_TAG = "trainshed:institution"
LONGEST_VALUE = 120
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_SUB = re.compile(r"\$\{([A-Za-z0-9]+)[.}]")

Path = tuple[str, ...]


def text(value: Any) -> str:
    """Return a value as people write it, on one line and not too long; empty for none."""
    shown = _DIGEST.sub(lambda found: f"{found[0][:8]}…", full_text(value))
    return shown if len(shown) <= LONGEST_VALUE else f"{shown[: LONGEST_VALUE - 1]}…"


def full_text(value: Any) -> str:
    """Return a value on one line, however long."""
    if value is None:
        return ""
    plain = readable(value)
    shown = plain if isinstance(plain, str) else json.dumps(plain, separators=(", ", ": "))
    return " ".join(shown.split())


def stable_text(value: Any) -> str:
    """Return a value in full, without the hashes of assets: new content is no new place."""
    return _DIGEST.sub("(asset)", full_text(value))


def readable(value: Any) -> Any:
    """Return a value of a template with its references as ``${Name}``."""
    if isinstance(value, list):
        return [readable(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((function, argument),) = value.items()
        match function:
            case "Ref":
                return f"${{{argument}}}"
            case "Fn::GetAtt":
                parts = argument if isinstance(argument, list) else [argument]
                return f"${{{'.'.join(map(str, parts))}}}"
            case "Fn::Join" if isinstance(argument, list) and len(argument) == 2:
                separator, parts = argument
                if isinstance(parts, list):
                    return str(separator).join(str(readable(part)) for part in parts)
            case "Fn::Sub" if isinstance(argument, str):
                return argument
            case "Fn::Sub" if isinstance(argument, list) and argument:
                return argument[0]
    return {key: readable(item) for key, item in value.items()}


def references(value: Any) -> Iterator[str]:
    """Yield the logical ids that a value of a template points to."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "Ref":
                yield str(item)
            elif key == "Fn::GetAtt":
                yield str(item[0] if isinstance(item, list) and item else item).partition(".")[0]
            elif key == "Fn::Sub" and isinstance(item, str):
                yield from _SUB.findall(item)
            else:
                if key == "Fn::Sub" and isinstance(item, list) and item:
                    yield from _SUB.findall(str(item[0]))
                yield from references(item)


def variants(value: Any) -> list[Any]:
    """Return what a value of a template may become, with its conditions (``Fn::If``) decided.

    Every combination of them, as long as there are few; else each of them alone, both ways.
    """
    names = sorted(set(_conditions(value)))
    if len(names) <= MOST_CONDITIONS:
        orders = [dict(zip(names, order, strict=True)) for order in _orders(len(names))]
    else:
        orders = [
            {name: (name == one) == way for name in names} for one in names for way in (True, False)
        ]
    return [_decided(value, order) for order in orders] if names else [value]


MOST_CONDITIONS = 6


def _orders(number: int) -> Iterator[tuple[bool, ...]]:
    return product((True, False), repeat=number)


def _conditions(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _conditions(item)
    elif isinstance(value, dict):
        if _is_choice(value):
            yield str(value["Fn::If"][0])
        for item in value.values():
            yield from _conditions(item)


def _is_choice(value: Mapping[str, Any]) -> bool:
    choice = value.get("Fn::If")
    return len(value) == 1 and isinstance(choice, list) and len(choice) == 3


def _decided(value: Any, order: Mapping[str, bool]) -> Any:
    if isinstance(value, list):
        items = [_decided(item, order) for item in value]
        return [item for item in items if item != NO_VALUE]
    if not isinstance(value, dict):
        return value
    if _is_choice(value):
        name, yes, no = value["Fn::If"]
        return _decided(yes if order[str(name)] else no, order)
    parts = {key: _decided(item, order) for key, item in value.items()}
    return {key: part for key, part in parts.items() if part != NO_VALUE}


def leaves(before: Any, after: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield every leaf that differs: its path, and both values, None where there is none."""
    if before == after:
        return
    if _is_section(before) and _is_section(after):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from leaves(before.get(key), after.get(key), (*path, key))
    else:
        yield path, before, after


def _is_section(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return not (len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref")))


def at(value: Any, path: Path) -> Any:
    """Return what stands at a path; None where it leads nowhere."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def listed(value: Any) -> list[Any]:
    """Return a value as a list: policies and rules have one or many."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def days(number: int) -> str:
    """Return a number of days in words."""
    return f"{number} day{'' if number == 1 else 's'}"
