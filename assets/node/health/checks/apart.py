"""Checks in a process of their own: whatever becomes of it, somebody is left who can say so."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from .probe import Probe
from .results import MONITOR, UNMADE, WARN, Result, exit_code

_FILE = Path(__file__).resolve().parents[1] / "health_check.py"
PROGRAM = (sys.executable, "-S", "-E", str(_FILE))
"""Runs the checks."""
# No job waits for a node that joins or is held.
_SECONDS = {"fast": 120.0, "basic": 2400.0, "deep": 14400.0}
_LAST_WORDS = 100


def run(probe: Probe, level: str, arguments: Sequence[str]) -> list[Result]:
    """Run the program and return what it found, and also whether that is not all of it.

    Args:
        probe: Runs it.
        level: Its level.
        arguments: The others, without what takes the node out of use.
    """
    said = probe.run(*PROGRAM, level, "--json", *arguments, seconds=_SECONDS[level])
    sys.stderr.write(said.err)
    read = [Result.of_line(line) for line in said.out.splitlines()]
    results = [result for result in read if result is not None]
    if results and None not in read and said.code == exit_code(results):
        return results
    last = said.text.strip()[-_LAST_WORDS:]
    code = "" if said.code is None else f"code {said.code}: "
    return [*results, Result("checks", WARN, MONITOR, f"{UNMADE}{code}{last}")]
