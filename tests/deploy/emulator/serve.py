"""Run ministack with what our templates need and it lacks.

Usage: ``python -m tests.deploy.emulator.serve``. The environment is ministack's own, which
``process.Emulator`` sets; ``TRAINSHED_DEMANDS`` names a file for the requests of roles.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path

from tests.deploy.emulator import (
    capacity,
    custom_resources,
    demands,
    ec2_types,
    fsx,
    instances,
    recorder,
)

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Install the extensions, then serve until terminated, or until who started it is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    ec2_types.install()
    instances.install()
    recorder.install()
    capacity.install()
    custom_resources.install()
    fsx.install()
    if path := os.environ.get("TRAINSHED_DEMANDS"):
        demands.install(Path(path))
    from ministack.app import main as serve

    serve()


if __name__ == "__main__":
    main()
