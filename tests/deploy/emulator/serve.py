"""Run ministack with what our templates need and it lacks.

Usage: ``python -m tests.deploy.emulator.serve``. The environment is ministack's own, which
``process.Emulator`` sets; ``TRAINSHED_DEMANDS`` names a file for the requests of roles.
"""

from __future__ import annotations

import os
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


def main() -> None:
    """Install the extensions, then serve until terminated."""
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
