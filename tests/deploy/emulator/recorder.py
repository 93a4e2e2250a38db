"""Every other type of CloudFormation: recorded, and held against its published schema.

Properties are checked as the service checks them (required, unknown, enum, pattern), with the copy
of the schemas that cfn-lint has; what cannot change in place gives a new resource; read-only
properties are the attributes. Nothing happens behind such a resource.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER
from ministack.core.responses import get_account_id, get_region
from ministack.services.cloudformation import engine, provisioners

from trainshed.review.replacement import replacing_paths

Properties = Mapping[str, Any]
Made = tuple[str, dict[str, str]]
_ALARM = "AWS::CloudWatch::Alarm"
_SCHEMA_REGION = "us-east-1"
_KEYWORDS = ("type", "properties", "definitions", "required", "additionalProperties")
_CHOICES = ("allOf", "anyOf", "oneOf")
# Physical ids that look like the service's own, since patterns elsewhere ask for them.
_PREFIXES = {
    "AWS::EC2::CapacityReservation": ("Id", "cr-"),
    "AWS::EC2::FlowLog": ("Id", "fl-"),
    "AWS::EC2::PlacementGroup": ("GroupName", "pg-"),
    "AWS::FSx::DataRepositoryAssociation": ("AssociationId", "dra-"),
    "AWS::FSx::FileSystem": ("Id", "fs-"),
}


@dataclass
class Recorded:
    """A resource as the template wanted it."""

    properties: Properties
    attributes: dict[str, str]
    region: str


RECORDS: dict[tuple[str, str], Recorded] = {}
"""Type and physical id to resource."""


def of_type(type: str, region: str) -> dict[str, Recorded]:
    """Return the resources of a type in a Region by their physical ids."""
    return {
        id: each for (kind, id), each in RECORDS.items() if kind == type and each.region == region
    }


class Recorder:
    """Creates, updates and deletes resources of one type."""

    def __init__(self, type: str) -> None:
        self._type = type
        self._schema: dict[str, Any] = PROVIDER_SCHEMA_MANAGER.get_resource_schema(
            _SCHEMA_REGION, type
        ).schema

    def create(self, logical_id: str, properties: Properties, stack: str) -> Made:
        wanted = self._checked(properties)
        key, id = self._identity(logical_id, wanted, stack)
        attributes = {key: id}
        for name in self._names("readOnlyProperties"):
            attributes.setdefault(name, f"{id}-{name.lower()}")
        if self._type == "AWS::FSx::FileSystem":
            attributes["LustreMountName"] = "abcdefgh"
            attributes["DNSName"] = f"{id}.fsx.{get_region()}.amazonaws.com"
            place = f"{get_region()}:{get_account_id()}"
            attributes["ResourceARN"] = f"arn:aws:fsx:{place}:file-system/{id}"
        RECORDS[self._type, id] = Recorded(wanted, attributes, get_region())
        return id, attributes

    def update(self, id: str, old: Properties, new: Properties, stack: str) -> Made:
        wanted, former = self._checked(new), _coerced(old, self._schema, self._schema)
        fixed = [path for path, perhaps in replacing_paths(self._type, get_region()) if not perhaps]
        if any(_at(former, path) != _at(wanted, path) for path in fixed):
            # CloudFormation deletes what had the old id, or retains it.
            return self.create("replaced", new, stack)
        record = RECORDS[self._type, id]
        record.properties = wanted
        return id, record.attributes

    def delete(self, id: str, _: Properties) -> None:
        RECORDS.pop((self._type, id), None)

    def _names(self, kind: str) -> list[str]:
        return [".".join(path.split("/")[2:]) for path in self._schema.get(kind, [])]

    def _identity(self, logical_id: str, wanted: Properties, stack: str) -> tuple[str, str]:
        if self._type in _PREFIXES:
            key, prefix = _PREFIXES[self._type]
            return key, str(wanted.get(key) or prefix + uuid.uuid4().hex[:17])
        key = self._schema["primaryIdentifier"][0].split("/")[2]
        return key, str(wanted.get(key) or f"{stack}-{logical_id}-{uuid.uuid4().hex[:8]}")

    def _checked(self, properties: Properties) -> dict[str, Any]:
        wanted: dict[str, Any] = _coerced(properties, self._schema, self._schema)
        shape = {key: self._schema[key] for key in (*_KEYWORDS, *_CHOICES) if key in self._schema}
        faults = [
            f"#/{'/'.join(map(str, fault.absolute_path))}: {fault.message}"
            for fault in jsonschema.Draft7Validator(shape).iter_errors(wanted)
        ]
        extra = set(self._names("readOnlyProperties")) & wanted.keys()
        faults += [f"#: extraneous key [{key}] is not permitted" for key in sorted(extra)]
        if faults:
            raise ValueError(f"Model validation failed ({'; '.join(faults[:5])})")
        return wanted


def _at(properties: Any, path: Sequence[str]) -> Any:
    """Return the value at a path, None where there is none."""
    for key in path:
        properties = properties.get(key) if isinstance(properties, Mapping) else None
    return properties


def _coerced(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """Return a value with the types of its schema: CloudFormation hands scalars over as text."""
    while "$ref" in schema:
        schema = root["definitions"][schema["$ref"].rsplit("/", 1)[1]]
    kind = schema.get("type")
    if isinstance(value, Mapping):
        known = schema.get("properties", {})
        return {key: _coerced(each, known.get(key, {}), root) for key, each in value.items()}
    if isinstance(value, list):
        return [_coerced(each, schema.get("items") or {}, root) for each in value]
    if isinstance(value, str) and kind == "boolean" and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if isinstance(value, str) and kind in ("integer", "number"):
        try:
            return int(value) if kind == "integer" else float(value)
        except ValueError:
            return value
    if kind == "string" and isinstance(value, bool):
        return str(value).lower()
    if kind == "string" and isinstance(value, int | float):
        return str(value)
    return value


class _Handlers(dict[str, Any]):
    """ministack's table of types, with a recorder for each further type that has a schema."""

    def __contains__(self, type: object) -> bool:
        if super().__contains__(type):
            return True
        if not isinstance(type, str) or not type.startswith("AWS::"):
            return False
        if type.startswith("AWS::CloudFormation::"):
            return False
        try:
            recorder = Recorder(type)
        except Exception:
            return False
        self[type] = {name: getattr(recorder, name) for name in ("create", "update", "delete")}
        return True

    def get(self, type: str, default: Any = None) -> Any:
        return self[type] if type in self else default  # noqa: SIM401  this is get


def _alarms(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ministack's alarms, with a recorder for those over an expression, which it refuses."""
    recorder = Recorder(_ALARM)

    def create(logical_id: str, properties: Properties, stack: str) -> Any:
        maker = recorder.create if "Metrics" in properties else own["create"]
        return maker(logical_id, properties, stack)

    def delete(id: str, properties: Properties) -> None:
        (recorder.delete if "Metrics" in properties else own["delete"])(id, properties)

    def update(
        id: str, old: Properties, new: Properties, stack: str, logical_id: str | None = None
    ) -> Any:
        if "Metrics" in old:
            return recorder.update(id, old, new, stack)
        return own["update"](id, old, new, stack, logical_id)

    return {**own, "create": create, "update": update, "delete": delete}


def install() -> None:
    """Give ministack's CloudFormation a recorder for every type that it does not know."""
    handlers = _Handlers(provisioners._RESOURCE_HANDLERS)
    handlers[_ALARM] = _alarms(handlers[_ALARM])
    from ministack.services.cloudformation import changesets, stacks
    from ministack.services.cloudformation import handlers as requests

    for module in (provisioners, engine, stacks, changesets, requests):
        if hasattr(module, "_RESOURCE_HANDLERS"):
            module._RESOURCE_HANDLERS = handlers
