"""pydantic's errors in the user's words: what was given, what is allowed, what to write."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from ..facts.grid import either
from .faults import Fault, FaultsError, KeyPath
from .texts import Form

# What pydantic puts behind the key for each member of ``str | int``; no record has such keys.
_TEXT_OR_NUMBER = ("str", "int")
NO_KIND = "required key 'kind' is not given; it says where the instances come from"


def explain(error: ValidationError, data: Any, model: type[BaseModel]) -> Iterator[Fault]:
    """Yield a fault for every error, at the key where the file has it.

    Args:
        error: What pydantic found.
        data: What the file holds.
        model: The record that the file was read as.
    """
    told: set[KeyPath] = set()
    for detail in error.errors(include_url=False):
        key_path = as_written(detail["loc"], data)
        own = detail.get("ctx", {}).get("error")
        if isinstance(own, FaultsError):
            for fault in own.faults:
                yield fault.below(*key_path)
        elif _is_of_text_or_number(detail, key_path):
            if key_path not in told:
                told.add(key_path)
                reason = f"must be text or a whole number, got {_shown(detail['input'])}"
                yield Fault(key_path, reason)
        else:
            yield Fault(key_path, _reason(detail, key_path, data, model))


def reason_of(error: ValidationError) -> str:
    """Return the first fault of a value that stands in no file."""
    return _reason(error.errors(include_url=False)[0], (), {}, BaseModel)


def as_written(loc: KeyPath, data: Any) -> KeyPath:
    """Leave out what pydantic puts between the keys: the tag of a union, the mark of a key."""
    key_path: list[str | int] = []
    for step, part in enumerate(loc):
        if part == "[key]":
            continue
        last = step == len(loc) - 1
        here = isinstance(data, dict) and part in data
        there = isinstance(data, list) and isinstance(part, int) and part < len(data)
        if here or there:
            data = data[part]
        elif not (last and isinstance(data, dict)) or part in (data.get("kind"), *_TEXT_OR_NUMBER):
            continue
        key_path.append(part)
    return tuple(key_path)


def _is_of_text_or_number(detail: ErrorDetails, key_path: KeyPath) -> bool:
    """Tell whether it is the fault of one member of ``str | int``, which has one for each."""
    return detail["loc"][-1:] != key_path[-1:] and detail["loc"][-1] in _TEXT_OR_NUMBER


def _reason(detail: ErrorDetails, key_path: KeyPath, data: Any, model: type[BaseModel]) -> str:
    context: dict[str, Any] = detail.get("ctx", {})
    given = detail["input"]
    match detail["type"]:
        case "missing":
            return "required, but not given"
        case "extra_forbidden":
            siblings = _keys_of(model, key_path[:-1], data)
            near = nearest(str(key_path[-1]), siblings)
            return "unknown key" + (near or f"; the keys here are {', '.join(sorted(siblings))}")
        case "literal_error":
            allowed = _literals(context["expected"])
            return f"{_shown(given)} is not one of {', '.join(allowed)}" + _advice(given, allowed)
        case "union_tag_invalid" if isinstance(given, dict) and given.get("kind") is None:
            return NO_KIND
        case "union_tag_invalid":
            allowed = _literals(context["expected_tags"])
            kind = str(context["tag"])
            return f"kind {kind!r} is not one of {', '.join(allowed)}" + nearest(kind, allowed)
        case "union_tag_not_found":
            return NO_KIND
        case "string_type":
            return f"must be text, got {_shown(given)}" + _as_text(given, key_path, data, model)
        case "int_type" | "int_from_float":
            return f"must be a whole number, got {_shown(given)}; write it without quotes or unit"
        case "float_type":
            return f"must be a number, got {_shown(given)}; write it without quotes or unit"
        case "bool_type":
            return f"must be true or false, got {_shown(given)}"
        case "model_type" | "dict_type":
            return f"must hold keys, got {_shown(given)}"
        case "tuple_type":
            return f"must be a list, got {_shown(given)}; write [{_shown(given)}]"
        case "greater_than_equal":
            return f"{given} is below {context['ge']}, the least allowed"
        case "less_than_equal":
            return f"{given} is above {context['le']}, the most allowed"
        case "greater_than":
            return f"{given} must be above {context['gt']}"
        case "too_long":
            return f"takes at most {context['max_length']}, got {context['actual_length']}"
        case "finite_number":
            return f"{given} is not a finite number; write an amount such as 3.5"
        case "too_short":
            return f"needs at least {context['min_length']}, got {context['actual_length']}"
        case "datetime_from_date_parsing" | "datetime_parsing" | "datetime_type":
            return f"{_shown(given)} is not a time; write it as 2027-03-01T11:30:00Z"
        case "timezone_aware":
            return f"{_shown(given)} has no time zone; write it with Z or +09:00 at the end"
        case "value_error":
            return str(context["error"])
        case _:
            return f"{detail['msg'][0].lower()}{detail['msg'][1:]}, got {_shown(given)}"


def nearest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the known word nearest to this one, or nothing."""
    near = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _advice(given: object, allowed: list[str]) -> str:
    """Name the numbers on both sides of a number, and the word nearest to a word."""
    if type(given) is not int or not all(word.isdecimal() for word in allowed):
        return nearest(str(given), allowed)
    numbers = sorted(int(word) for word in allowed)
    below = [number for number in numbers if number < given][-1:]
    above = [number for number in numbers if number > given][:1]
    return f"; use {either(below + above)}"


def _as_text(given: object, key_path: KeyPath, data: Any, model: type[BaseModel]) -> str:
    """Say how to write a text for which something else stands: in quotes, if these can help."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    form = next(_forms_at(model, key_path, data), None)
    if is_number and (form is None or form.fits(str(given))):
        return f'; write "{given}" in quotes'
    return f"; write {form.what}" if form else ""


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "keys"
    if isinstance(value, list):
        return "a list"
    return repr(value)


def _literals(text: str) -> list[str]:
    return [word.strip(" '") for word in text.replace(" or ", ", ").split(", ")]


def _keys_of(model: type[BaseModel], key_path: KeyPath, data: Any) -> set[str]:
    """Return the keys that the record at this path knows."""
    kinds = _kinds_at(model, key_path, data)
    return {name for kind in kinds if _is_record(kind) for name in kind.model_fields}


def _forms_at(model: type[BaseModel], key_path: KeyPath, data: Any) -> Iterator[Form]:
    """Yield the form that a text at this path has."""
    for kind in _kinds_at(model, key_path[:-1], data) if key_path else ():
        if _is_record(kind) and key_path[-1] in kind.model_fields:
            field = kind.model_fields[key_path[-1]]
            yield from (mark for mark in field.metadata if isinstance(mark, Form))
            yield from _forms(field.annotation)
        elif get_origin(kind) in (dict, tuple):
            yield from _forms(get_args(kind)[1 if get_origin(kind) is dict else 0])


def _forms(annotation: Any) -> Iterator[Form]:
    yield from (mark for mark in getattr(annotation, "__metadata__", ()) if isinstance(mark, Form))
    if get_origin(annotation) not in (dict, tuple):
        for inner in get_args(annotation):
            yield from _forms(inner)


def _kinds_at(model: type[BaseModel], key_path: KeyPath, data: Any) -> list[Any]:
    """Return what may stand at this path; of a union's records the one whose kind is given."""
    kinds: list[Any] = [model]
    for key in key_path:
        kinds = [inner for kind in kinds for inner in _below(kind, key)]
        data = data[key]
    tag = data.get("kind") if isinstance(data, dict) else None
    tagged = [
        kind
        for kind in kinds
        if _is_record(kind)
        and "kind" in kind.model_fields
        and kind.model_fields["kind"].default == tag
    ]
    return tagged or kinds


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _below(kind: Any, key: str | int) -> Iterator[Any]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        if isinstance(key, str) and key in kind.model_fields:
            yield from _members(kind.model_fields[key].annotation)
    elif get_origin(kind) in (dict, tuple):
        yield from _members(get_args(kind)[1 if get_origin(kind) is dict else 0])


def _members(annotation: Any) -> Iterator[Any]:
    """Yield a union's members; anything else is its own only member."""
    if hasattr(annotation, "__metadata__"):
        yield from _members(get_args(annotation)[0])
    elif get_origin(annotation) in (dict, tuple) or not get_args(annotation):
        yield annotation
    else:
        for member in get_args(annotation):
            yield from _members(member)
