"""The editor schema and the example files agree with the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests import examples
from trainshed.config import Institution, json_schema
from trainshed.records import OnChange, Record

ROOT = Path(__file__).parents[3]


def every_record() -> Iterator[type[Record]]:
    waiting = [Record]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            yield kind
            waiting.append(kind)


def test_the_committed_schema_is_current() -> None:
    committed = json.loads((ROOT / "institutions" / "schema.json").read_text())
    assert committed == json_schema(), "run: make golden"


@pytest.mark.parametrize("path", examples.PATHS, ids=lambda path: path.stem)
def test_examples_satisfy_the_editor_schema(path: Path) -> None:
    data = yaml.safe_load(path.read_text())
    jsonschema.validate(json.loads(json.dumps(data, default=str)), json_schema())


@pytest.mark.parametrize(
    ("name", "wrong"), [("queues", "Train"), ("login_nodes", "login_1")], ids=["queue", "pool"]
)
def test_an_editor_refuses_a_name_of_another_form(name: str, wrong: str) -> None:
    """It left whatever stood below such a name unchecked."""
    data = yaml.safe_load((ROOT / "institutions" / "full.yaml").read_text())
    data = json.loads(json.dumps(data, default=str))
    data["fleet"][name][wrong] = {"max_node": "four"}
    with pytest.raises(jsonschema.ValidationError, match=f"'{wrong}'"):
        jsonschema.validate(data, json_schema())


@pytest.mark.parametrize("record", list(every_record()), ids=lambda record: record.__name__)
def test_every_field_says_what_changing_it_does(record: type[Record]) -> None:
    silent = [
        name
        for name, field in record.model_fields.items()
        if not [mark for mark in field.metadata if isinstance(mark, OnChange)]
    ]
    assert not silent


@pytest.mark.parametrize("record", list(every_record()), ids=lambda record: record.__name__)
def test_every_field_is_described(record: type[Record]) -> None:
    json_schema()
    assert not [name for name, field in record.model_fields.items() if not field.description]


def keys_of(schema: dict[str, Any], node: dict[str, Any], at: str = "") -> Iterator[str]:
    """Yield the path of every key that the schema knows; ``*`` for a name of the user's own."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[-1]]
    for choice in (*node.get("anyOf", []), *node.get("oneOf", [])):
        yield from keys_of(schema, choice, at)
    for name, child in node.get("properties", {}).items():
        yield f"{at}.{name}"
        yield from keys_of(schema, child, f"{at}.{name}")
    inner = node.get("additionalProperties")
    if isinstance(inner, dict):
        yield from keys_of(schema, inner, f"{at}.*")


def test_the_full_example_shows_every_key() -> None:
    text = (ROOT / "institutions" / "full.yaml").read_text()
    schema = json_schema()
    keys = {path.rsplit(".", 1)[-1] for path in keys_of(schema, schema)}
    assert len(keys) > 60
    missing = sorted(key for key in keys if f"{key}:" not in text)
    assert not missing


def test_the_model_is_the_schema_of_the_whole_file() -> None:
    assert set(json_schema()["properties"]) == set(Institution.model_fields)
