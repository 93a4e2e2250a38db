"""Waiting for what comes by itself, and looking at it beside other work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self, TypeVar

T = TypeVar("T")


def wait_until(
    probe: Callable[[], T | None],
    what: str | Callable[[], str],
    seconds: float = 120,
    every: float = 0.05,
) -> T:
    """Return what the probe gives once it gives something true.

    Args:
        probe: What to look at.
        what: What is waited for, or a function that also says what there is instead.
        seconds: How long to look.
        every: Seconds between two looks.

    Raises:
        TimeoutError: It gave nothing in time.
    """
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"not in {seconds} s: {what if isinstance(what, str) else what()}")
        time.sleep(every)


class Repeating:
    """Calls something again and again, beside what is done in its context."""

    def __init__(self, call: Callable[[], None], every_seconds: float) -> None:
        self._call, self._every_seconds = call, every_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End, after the call that is being made."""
        self._ended.set()
        self._thread.join()

    def _repeat(self) -> None:
        while not self._ended.wait(self._every_seconds):
            self._call()
