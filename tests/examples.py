"""The institution files that are shipped, and those beside them that an institution wrote itself.

Golden files and rows of tables are of the examples alone: a file of your own needs none.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[1] / "institutions"
NAMES = ("bare", "full", "kait", "minimal")
PATHS = [FOLDER / f"{name}.yaml" for name in NAMES]


def own() -> list[Path]:
    """Return the files of this checkout's own institutions, which no example is."""
    return [path for path in sorted(FOLDER.glob("*.yaml")) if path not in PATHS]
