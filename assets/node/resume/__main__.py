"""Runs as ``trainshed-resume``.

usage: trainshed-resume run --checkpoints DIR [--retries N] [--forward SIGNAL] -- COMMAND [ARG]...
       trainshed-resume newest DIR
       trainshed-resume seal CHECKPOINT
"""

import sys
from pathlib import Path

# A directory that is run is itself on the path, and its package is not.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from resume.cli import main  # type: ignore[import-not-found]  # noqa: E402

sys.exit(main(sys.argv[1:]))
