"""When Capacity Blocks end, as EC2 has it: what was written down may be wrong, or no longer so.

EC2 says when a block ends to whoever asks, and warns of it by an event, which a function of ours
notes in a parameter (assets/functions/block_events).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from .document import time

AGAIN_SECONDS = 60
GONE = "InvalidCapacityReservationId.NotFound"
"""EC2 forgets a block that is over, and then tells nothing of the others in the question either."""


class Ends:
    """Asks EC2 once a minute, and remembers what it said.

    Args:
        ask: Returns times by id of block; None when there was no answer.
        clock: Seconds of a clock that never goes back.
    """

    def __init__(
        self,
        ask: Callable[[frozenset[str]], Mapping[str, datetime] | None],
        clock: Callable[[], float],
    ) -> None:
        self._ask, self._clock = ask, clock
        self._known: dict[str, datetime] = {}
        self._asked_at: float | None = None
        self._asked: frozenset[str] = frozenset()

    def look(self, blocks: Iterable[str]) -> Mapping[str, datetime]:
        """Return what is known of blocks; without an answer, what was known before."""
        wanted = frozenset(blocks)
        now = self._clock()
        fresh = self._asked_at is not None and now - self._asked_at < AGAIN_SECONDS
        if wanted and not (fresh and wanted <= self._asked):
            self._asked_at, self._asked = now, wanted
            self._known |= self._ask(wanted) or {}
        return {id: self._known[id] for id in wanted if id in self._known}


def warnings(parameters: Mapping[str, str]) -> dict[str, datetime]:
    """Return the times of EC2's first warnings by id of block.

    Args:
        parameters: Values of parameters by name, ``/trainshed/CLUSTER/blocks/ID``.
    """
    found = {}
    for name, value in parameters.items():
        try:
            at = time(value.strip())
        except ValueError:
            continue  # "none": it has not warned
        if at is not None:
            found[name.rpartition("/")[2]] = at
    return found
