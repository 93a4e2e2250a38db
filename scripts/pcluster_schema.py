"""Print the JSON schema of a ParallelCluster configuration, made from its marshmallow classes.

Usage, with the Python of scripts/pcluster_venv.sh:
    python scripts/pcluster_schema.py >constructs/trainshed/pcluster/schema-3.16.1.json

Carried over are types, enumerations, ranges, lengths, patterns, required and unknown keys, and as
``x-update-policy`` what changing a key of a running cluster needs. Left out are the rules between
keys and the check that an address is a CIDR or a prefix list: those need pcluster itself.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from marshmallow import Schema, fields, validate  # type: ignore[import-not-found]

# Importing pcluster asks for a Region; nothing of the schema depends on which.
os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-2")

from pcluster.schemas.cluster_schema import (  # type: ignore[import-not-found]
    ClusterSchema,
    OneOrManyCustomActionField,
)
from pcluster.utils import get_installed_version  # type: ignore[import-not-found]

JsonSchema = dict[str, Any]

TYPES: tuple[tuple[type[Any], JsonSchema], ...] = (
    (fields.Dict, {"type": "object"}),
    (fields.Bool, {"type": "boolean"}),
    (fields.Int, {"type": "integer"}),
    (fields.Float, {"type": "number"}),
    (fields.Str, {"type": "string"}),
)


def of_document() -> JsonSchema:
    """Return the schema of a whole configuration."""
    version = get_installed_version()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": "Made by scripts/pcluster_schema.py; see schema.NOTICE. Do not edit.",
        "title": f"AWS ParallelCluster {version} cluster configuration",
        **_of_section(ClusterSchema("any")),
    }


def _of_section(section: Schema) -> JsonSchema:
    keys = {each.data_key or name: each for name, each in section.fields.items()}
    required = [key for key, each in keys.items() if each.required]
    return {
        "type": "object",
        "properties": {key: _of_field(each) for key, each in keys.items()},
        "additionalProperties": False,
        **({"required": required} if required else {}),
    }


def _of_field(field: fields.Field) -> JsonSchema:
    schema = _of_type(field)
    for validator in _validators(field.validate):
        schema |= _of_validator(validator, is_list=schema.get("type") == "array")
    policy = field.metadata.get("update_policy")
    return schema if policy is None else {**schema, "x-update-policy": policy.name}


def _of_type(field: fields.Field) -> JsonSchema:
    if isinstance(field, OneOrManyCustomActionField):
        one = _of_section(field.schema)
        many = {
            "type": "object",
            "properties": {"Sequence": {"type": "array", "items": one}},
            "additionalProperties": False,
            "required": ["Sequence"],
        }
        return {"oneOf": [one, many]}
    if isinstance(field, fields.Nested):
        section = _of_section(field.schema)
        is_list = field.many or field.schema.many
        return {"type": "array", "items": section} if is_list else section
    if isinstance(field, fields.List):
        return {"type": "array", "items": _of_field(field.inner)}
    for kind, schema in TYPES:
        if isinstance(field, kind):
            return dict(schema)
    if type(field) is fields.Raw:
        return {}
    raise SystemExit(f"pcluster_schema: no rule for the field {field!r}")


def _validators(given: Any) -> list[Any]:
    if given is None:
        return []
    if isinstance(given, validate.And):
        given = given.validators
    if isinstance(given, (list, tuple)):
        return [validator for each in given for validator in _validators(each)]
    return [given]


def _of_validator(validator: Any, *, is_list: bool) -> JsonSchema:
    match validator:
        case validate.OneOf():
            return {"enum": list(validator.choices)}
        case validate.Regexp():
            return {"pattern": validator.regex.pattern}
        case validate.Range():
            bounds = {"minimum": validator.min, "maximum": validator.max}
        case validate.Length():
            what = "Items" if is_list else "Length"
            low, high = validator.min, validator.max
            if validator.equal is not None:
                low = high = validator.equal
            bounds = {f"min{what}": low, f"max{what}": high}
        case _ if getattr(validator, "__name__", "") == "is_cidr_or_prefix_list":
            bounds = {}
        case _:
            raise SystemExit(f"pcluster_schema: no rule for the validator {validator!r}")
    return {key: bound for key, bound in bounds.items() if bound is not None}


if __name__ == "__main__":
    json.dump(of_document(), sys.stdout, indent=1)
    sys.stdout.write("\n")
