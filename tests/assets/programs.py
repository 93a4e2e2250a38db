"""Programs that stand in for those of a node."""

from __future__ import annotations

from pathlib import Path


def program(path: Path, text: str) -> None:
    """Write a program in Bash, and its folder."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
