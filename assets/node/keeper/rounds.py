"""Rounds for ever, one each ten seconds, or as ``TRAINSHED_ROUND_SECONDS`` says."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable

# Machines of the tests make haste: their AWS counts no requests.
ROUND_SECONDS = float(os.environ.get("TRAINSHED_ROUND_SECONDS", "10"))


def rounds(call: Callable[[], object], say: Callable[..., None], *, once: bool = False) -> int:
    """Call something for ever, or once, and return an exit code.

    What a round trips over is told, and costs nothing of what earlier ones counted. A process that
    ended each time would count from nothing, and never find a node silent for long.

    Args:
        call: Does one round.
        say: Writes a line to the journal.
        once: Whether one round is all.
    """
    while True:
        started, code = time.monotonic(), 0
        try:
            call()
        except Exception:
            say("a round was not finished", reason=traceback.format_exc(limit=-4))
            code = 1
        if once:
            return code
        time.sleep(max(1.0, ROUND_SECONDS - (time.monotonic() - started)))
