"""Asks each slurmd whether it still listens, since Slurm is told never to judge that itself."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from .rounds import ROUND_SECONDS
from .view import Node

PORT = 6818
CONNECT_SECONDS = 3.0
_AT_ONCE = 32


def answers(node: Node) -> bool:
    """Tell whether something listens on slurmd's port of a node."""
    return listens(node.address, PORT)


def listens(host: str, port: int) -> bool:
    """Tell whether something listens on a port of a host."""
    try:
        with socket.create_connection((host, port), timeout=CONNECT_SECONDS):
            return True
    except OSError:
        return False


class Probe:
    """For how long each node has been silent.

    Args:
        answers: What asks one node.
    """

    def __init__(self, answers: Callable[[Node], bool] = answers) -> None:
        self._answers = answers
        self._silent: dict[str, float] = {}
        self._last: float | None = None

    def look(self, nodes: Iterable[Node], clock: float) -> dict[str, float]:
        """Ask every node and return the seconds for which the silent ones have been so.

        Args:
            nodes: The nodes.
            clock: Seconds of a clock that never goes back.
        """
        asked = list(nodes)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            heard = list(pool.map(self._answers, asked))
        # One round counts for two at most, however long this program was stopped in between.
        passed = 0.0 if self._last is None else min(clock - self._last, 2 * ROUND_SECONDS)
        self._last = clock
        self._silent = {
            node.name: self._silent[node.name] + passed if node.name in self._silent else 0.0
            for node, answer in zip(asked, heard, strict=True)
            if not answer
        }
        return {name: seconds for name, seconds in self._silent.items() if seconds > 0}
