"""Starts the keeper: ``python3 /opt/trainshed/current/keeper``.

usage: keeper [--once]
"""

import sys
from pathlib import Path

# A directory that is run is itself on the path, and its package is not.
sys.path[0] = str(Path(__file__).resolve().parents[1])

from keeper.loop import main  # type: ignore[import-not-found]  # noqa: E402

sys.exit(main(sys.argv[1:]))
