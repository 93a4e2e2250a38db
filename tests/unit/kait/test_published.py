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


def documented() -> dict[str, tuple[str, str]]:
    text = (ROOT / "docs" / "kait.md").read_text()
    return {
        row["key"]: (row["published"].strip(" `"), row["ours"].strip(" `"))
        for row in ROW.finditer(text)
    }


def test_every_difference_is_documented_and_every_documented_one_is_real() -> None:
    assert documented() == differences()


def test_every_difference_has_a_reason() -> None:
    rows = list(ROW.finditer((ROOT / "docs" / "kait.md").read_text()))
    assert rows
    assert all(len(row["why"].split()) > 2 for row in rows)
