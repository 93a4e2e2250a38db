"""The JSON schema of an institution file, for editors."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from ..records import Record
from .institution import Institution


def json_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12); ``x-on-change`` says what changing a key does."""
    for record in _records(Record):
        for name, text in _texts(record):
            record.model_fields[name].description = text
    for record in _records(Record):
        record.model_rebuild(force=True)
    schema = Institution.model_json_schema()
    _without_titles(schema)
    _shortened(schema)
    _closed(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trainshed institution",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def _records(record: type[Record]) -> Iterator[type[Record]]:
    for kind in record.__subclasses__():
        yield from _records(kind)
        yield kind


def _texts(record: type[Record]) -> Iterator[tuple[str, str]]:
    """Yield the text below each field of a record."""
    (record_class,) = ast.parse(inspect.getsource(record)).body
    body = record_class.body if isinstance(record_class, ast.ClassDef) else []
    for field, text in pairwise(body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(ast.Constant(str(words))):
                yield name, inspect.cleandoc(words)


def _closed(node: Any) -> None:
    """Refuse names of the user's own that have another form: an editor checked nothing in them."""
    if isinstance(node, dict):
        if "patternProperties" in node and isinstance(node["patternProperties"], dict):
            node.setdefault("additionalProperties", False)
        for child in node.values():
            _closed(child)
    elif isinstance(node, list):
        for child in node:
            _closed(child)


def _shortened(node: Any) -> None:
    """Write "a number or nothing" as one type of two names, and not as a choice of two schemas."""
    if isinstance(node, dict):
        match node:
            case {"anyOf": [{"type": str(kind)} as given, {"type": "null"}]} if not (
                {"enum", "const"} & set(given)
            ):
                del node["anyOf"]
                node.update({**given, "type": [kind, "null"]})
        for child in node.values():
            _shortened(child)
    elif isinstance(node, list):
        for child in node:
            _shortened(child)


def _without_titles(node: Any) -> None:
    """Drop pydantic's titles: they repeat the key."""
    if isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        for child in node.values():
            _without_titles(child)
    elif isinstance(node, list):
        for child in node:
            _without_titles(child)
