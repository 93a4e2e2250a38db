"""The messages between Python and the CDK's Node process, made and read with less work in Python.

A synthesis of one institution sends over three hundred. For each of them jsii makes a JSON encoder
and a decoder, and has cattrs look at every value in it. Here the two are made once, and the kinds
of messages that there are many of go by without cattrs (jsii 1.142.0,
``jsii/_kernel/providers/process.py``, read 2026-11-30).
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import attr
from jsii._kernel import Kernel, types
from jsii._kernel.providers import process as untyped

# Its insides are nobody's promise: another version sends messages in its own way.
JSII = "1.142.0"

process: Any = untyped

REQUESTS = {
    kind: (api, [field.name for field in attr.fields(kind)])
    for api, kind in {
        "create": types.CreateRequest,
        "get": types.GetRequest,
        "invoke": types.InvokeRequest,
        "sget": types.StaticGetRequest,
        "sinvoke": types.StaticInvokeRequest,
    }.items()
}
RESPONSES: dict[Any, Callable[[Any], Any]] = {
    types.CreateResponse: lambda ok: types.CreateResponse(ok.ref),
    types.GetResponse: lambda ok: types.GetResponse(ok.get("value")),
    types.InvokeResponse: lambda ok: types.InvokeResponse(ok.get("result")),
}


def shorten_messages() -> bool:
    """Spare Python work with each message. Call it once, after ``aws_cdk`` is imported.

    Returns:
        Whether it does; not so with another jsii.
    """
    if version("jsii") != JSII:
        return False
    node: Any = Kernel().provider._process  # type: ignore[attr-defined]
    node._serializer = _Serializer(node._serializer)
    process.json = _Json
    return True


class _Serializer:
    """What there are many of, and cattrs for the rest."""

    def __init__(self, cattrs: Any) -> None:
        self._cattrs = cattrs

    def unstructure(self, request: Any) -> Any:
        known = REQUESTS.get(type(request))
        if known is None:
            return self._cattrs.unstructure(request)
        api, names = known
        return {**{name: getattr(request, name) for name in names}, "api": api}

    def structure(self, message: Any, kind: Any) -> Any:
        if kind is process._ProcessResponse and "ok" in message:
            return process._OkayResponse(message["ok"])
        read = RESPONSES.get(kind)
        return read(message) if read else self._cattrs.structure(message, kind)


def _as_json(value: Any) -> Any:
    """Return what jsii's hooks of cattrs and of JSON make of a value."""
    if isinstance(value, types.ObjRef):
        return process._unstructure_ref(value)
    if isinstance(value, types.Override):
        return attr.asdict(value)
    if isinstance(value, enum.Enum):
        return process._unstructure_enum(value)
    return process.jdefault(value)


def _from_json(value: dict[str, Any]) -> Any:
    return process.ohook(value) if next(iter(value), "").startswith("$jsii.") else value


class _Json:
    """What ``process.py`` has of the module ``json``."""

    encode = json.JSONEncoder(default=_as_json).encode
    decode = json.JSONDecoder(object_hook=_from_json).decode

    @staticmethod
    def dumps(value: Any, default: object) -> str:
        return _Json.encode(value)

    @staticmethod
    def loads(line: bytes, object_hook: object) -> Any:
        return _Json.decode(line.decode())
