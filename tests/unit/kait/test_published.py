"""docs/kait.md names every difference between the published configuration and ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from trainshed.cli.render import rendered
from trainshed.config import load

ROOT = Path(__file__).parents[3]
ROW = re.compile(
    r"\| `(?P<key>[^`]+)` \| (?P<published>[^|]*) \| (?P<ours>[^|]*) \| (?P<why>[^|]+) \|"
)


def flat(node: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Yield each value with its key path; list items go by their name, key or place."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from flat(value, f"{at}.{key}" if at else str(key))
    elif isinstance(node, list):
        for index, item in enumerate(node):
            name = (item.get("Name") or item.get("Key")) if isinstance(item, dict) else None
            yield from flat(item, f"{at}[{name or index}]")
    else:
        yield at, str(node)


def differences() -> dict[str, tuple[str, str]]:
    published = dict(
        flat(yaml.safe_load((ROOT / "tests/fixtures/kait-published.yaml").read_text()))
    )
    files = dict(rendered(load(ROOT / "institutions" / "kait.yaml")))
    ours = dict(flat(yaml.safe_load(files["cluster-config.yaml"])))
    return {
        key: (published.get(key, "none"), ours.get(key, "none"))
        for key in sorted({*published, *ours})
        if published.get(key) != ours.get(key)
    }


def rows() -> dict[str, re.Match[str]]:
    found = ROW.finditer((ROOT / "docs" / "kait.md").read_text())
    return {row["key"]: row for row in found}


def names(row: str, key: str) -> bool:
    """Tell whether a row of the document speaks of a key; ``*`` stands for all keys below."""
    return key.startswith(row[:-1]) if row.endswith("*") else key == row


def test_every_difference_is_documented_once() -> None:
    spoken = {key: [row for row in rows() if names(row, key)] for key in differences()}
    assert not {key: found for key, found in spoken.items() if len(found) != 1}


def test_every_documented_difference_is_real() -> None:
    real = differences()
    assert not [row for row in rows() if not any(names(row, key) for key in real)]


def test_documented_values_are_those_of_the_two_files() -> None:
    real = differences()
    told = {
        key: (row["published"].strip(" `"), row["ours"].strip(" `"))
        for key, row in rows().items()
        if not key.endswith("*")
    }
    assert told == {key: real[key] for key in told}


def test_every_difference_has_a_reason() -> None:
    assert rows()
    assert all(len(row["why"].split()) > 2 for row in rows().values())


def test_the_check_sees_a_difference_that_the_document_lacks() -> None:
    assert not any(names(row, "HeadNode.Networking.Proxy") for row in rows())
