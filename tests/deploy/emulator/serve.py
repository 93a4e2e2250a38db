"""Run ministack with what our templates need and it lacks.

Usage: ``python -m tests.deploy.emulator.serve``. The environment is ministack's own, which
``process.Emulator`` sets; ``TRAINSHED_DEMANDS`` names a file for the requests of roles,
``TRAINSHED_CREDENTIALS`` a folder for the sessions of instances.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from hypercorn.config import Config

from tests.deploy.emulator import (
    capacity,
    children,
    custom_resources,
    demands,
    ec2_types,
    fsx,
    holdings,
    instances,
    recorder,
    roles,
    secret_references,
)


def _listen_on(number: int, port: str) -> None:
    """Take a socket that is bound already."""
    others = Config._create_sockets

    def create(config: Config, binds: list[str], *kind: Any) -> list[socket.socket]:
        mine = [f"fd://{number}" if each.endswith(port) else each for each in binds]
        return others(config, mine, *kind)

    Config._create_sockets = create  # type: ignore[method-assign, assignment]


def main() -> None:
    """Install the extensions, then serve until terminated, or until who started it is gone."""
    children.end_with_parent()
    _listen_on(int(os.environ[children.SOCKET]), f":{os.environ['GATEWAY_PORT']}")
    ec2_types.install()
    instances.install()
    secret_references.install()
    recorder.install()
    capacity.install()
    custom_resources.install()
    fsx.install()
    holdings.install()
    if path := os.environ.get("TRAINSHED_DEMANDS"):
        demands.install(Path(path))
    if path := os.environ.get("TRAINSHED_CREDENTIALS"):
        roles.install(Path(path))
    from ministack.app import main as serve

    serve()


if __name__ == "__main__":
    main()
