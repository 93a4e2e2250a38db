"""How rendered files and shipped scripts differ."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from .result import FileDiff


def file_diffs(base: Mapping[str, str], head: Mapping[str, str]) -> Iterator[FileDiff]:
    """Yield how each file differs, by name."""
    for name in dict.fromkeys([*head, *base]):
        before, after = base.get(name, ""), head.get(name, "")
        if before == after:
            continue
        lines = list(
            difflib.unified_diff(
                before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm=""
            )
        )
        body = lines[2:]
        yield FileDiff(
            name=name,
            diff="\n".join(lines),
            added=sum(line.startswith("+") for line in body),
            removed=sum(line.startswith("-") for line in body),
        )
