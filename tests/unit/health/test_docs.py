"""The tables of docs/health.md are those of the code."""

from __future__ import annotations

from pathlib import Path

from assets.node.health.checks import xid
from assets.node.health.checks.cli import LEVELS
from trainshed.health import MEASURED
from trainshed.health.bandwidth import BORROWED, SAME

PAGE = (Path(__file__).parents[3] / "docs" / "health.md").read_text()
GIB = 2**30


def bandwidth_lines() -> list[str]:
    """Return the lines of the table of bandwidths."""
    lines = []
    for row in MEASURED:
        first, last = row.nodes
        nodes = f"{first} to {last}" if last > first else str(first)
        nodes = nodes if last else f"{first} and more"
        size = row.size_bytes
        words = f"{size // GIB} GiB" if size >= GIB else f"{size // 2**20} MiB"
        least = [
            f"{', '.join(types)}: {row.bus_gb_s * tolerance:.1f}"
            for types, tolerance in ((row.on, SAME), (row.also, BORROWED))
            if types
        ]
        lines.append(
            f"| {nodes} x {row.gpus_per_node} | {words} | {row.bus_gb_s:g} | {'; '.join(least)} "
            f"| {row.source} |"
        )
    return lines


def xid_lines() -> list[str]:
    """Return the lines of the table of Xid errors, codes of the same class together."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for code, kind in sorted(xid.TABLE.items()):
        groups.setdefault((kind.kind, kind.severity, kind.action), []).append(code)
    return [
        f"| {', '.join(map(str, codes))} | {kind} | {severity} | {action} |"
        for (kind, severity, action), codes in groups.items()
    ]


def test_the_page_has_every_measurement_with_its_threshold_and_source() -> None:
    assert [line for line in bandwidth_lines() if line not in PAGE] == []


def test_the_page_has_every_xid_with_its_class_severity_and_action() -> None:
    assert [line for line in xid_lines() if line not in PAGE] == []


def test_the_page_names_every_check() -> None:
    names = [name for checks in LEVELS.values() for name in checks]
    assert [name for name in names if f"`{name}`" not in PAGE] == []
