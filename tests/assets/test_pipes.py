"""Pipes of the scripts that ship: one whose reader leaves early fails by chance."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(
    path
    for folder in ("assets", "scripts", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and path.read_bytes()[:2] == b"#!" and b"pipefail" in path.read_bytes()
)
LEAVES_EARLY = re.compile(r"(?<!\|)\|\s*(head\b|grep\s+-[A-Za-z]*[qm]|sed\s[^|]*[0-9;{]q\b)")


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) > 40


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_reader_leaves_before_its_writer(script: Path) -> None:
    """The writer is killed by SIGPIPE then; ``sed -n 1p`` and ``grep -q … <<<`` read all."""
    joined = script.read_text().replace("|\n", "|").replace("\\\n", "")
    assert [m[0] for m in LEAVES_EARLY.finditer(joined)] == []


@pytest.mark.parametrize("line", ["a | head -n 1", "a |\n  grep -qE b", "a | sed -n '/b/{p;q}'"])
def test_one_that_does_is_found(line: str) -> None:
    assert LEAVES_EARLY.search(line)
