"""Render institution files side by side, in one process. Usage: render_each.py OUT FILE..."""

import contextlib
import io
import shutil
import sys
from pathlib import Path

from trainshed.cli import main


def render(file: Path, folder: Path) -> None:
    """Write what a file renders to, and the file itself, or end with its faults."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = main(["render", str(file), "--out", str(folder)])
    if code:
        sys.exit(code)
    shutil.copy(file, folder / "institution.yaml")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        render(Path(name), Path(sys.argv[1]) / Path(name).stem)
