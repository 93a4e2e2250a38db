"""Files that are read whole or as they were before, whatever happens meanwhile."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, text: str) -> None:
    """Write a file and its folder: on disk before it has its name, as no rename alone is.

    Raises:
        OSError: It cannot be written; what was there before is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
