"""A quick yes to a right cluster configuration; jsonschema is imported to say what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .references import is_settled

Schema = Mapping[str, Any]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}


def conforms(value: Any, schema: Schema) -> bool:
    """Tell whether a value certainly conforms to a schema; tokens and placeholders do.

    Args:
        value: What a configuration holds.
        schema: A JSON schema whose every part names its type.

    Returns:
        False is no verdict: the value may be wrong, or the schema says more than is known here.
    """
    if isinstance(value, str) and not is_settled(value):
        return True
    # Exact types: a boolean is an instance of int.
    if "type" in schema and type(value) not in _TYPES.get(str(schema["type"]), ()):
        return False
    if "type" not in schema and not schema.keys() <= _FOR_EVERY_TYPE:
        return False
    return all(
        key in _TELLS_NOTHING or (key in _CHECKS and _CHECKS[key](value, given, schema))
        for key, given in schema.items()
    )


def _has_no_other(value: Any, others: Any, schema: Schema) -> bool:
    return others is False and value.keys() <= schema.get("properties", {}).keys()


_CHECKS: Mapping[str, Callable[[Any, Any, Schema], bool]] = {
    "additionalProperties": _has_no_other,
    # Equality alone would take 1 for True, and True for 1.
    "enum": lambda value, choices, _: any(
        value == choice and type(value) is type(choice) for choice in choices
    ),
    "items": lambda value, item, _: all(conforms(each, item) for each in value),
    "maxItems": lambda value, most, _: len(value) <= most,
    "maxLength": lambda value, most, _: len(value) <= most,
    "maximum": lambda value, most, _: value <= most,
    "minItems": lambda value, fewest, _: len(value) >= fewest,
    "minLength": lambda value, fewest, _: len(value) >= fewest,
    "minimum": lambda value, least, _: value >= least,
    "oneOf": lambda value, branches, _: sum(conforms(value, branch) for branch in branches) == 1,
    "pattern": lambda value, pattern, _: re.search(pattern, value) is not None,
    "properties": lambda value, known, _: all(
        conforms(value[key], each) for key, each in known.items() if key in value
    ),
    "required": lambda value, keys, _: all(key in value for key in keys),
}
_TELLS_NOTHING = frozenset({"$comment", "$schema", "title", "type", "x-update-policy"})
_FOR_EVERY_TYPE = _TELLS_NOTHING | {"oneOf"}
