"""The JSON schema of an institution file, for editors."""

from __future__ import annotations

from typing import Any

from .institution import Institution


def json_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12); ``x-on-change`` says what changing a key does."""
    schema = Institution.model_json_schema()
    _without_titles(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "trainshed institution",
        **{key: value for key, value in schema.items() if key != "title"},
    }


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
