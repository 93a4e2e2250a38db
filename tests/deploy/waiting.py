"""Waiting for what comes by itself, and looking at it beside other work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self, TypeVar

Found = TypeVar("Found")


def wait_until(look: Callable[[], Found | None], what: str, seconds: float = 60) -> Found:
    """Look until there is something; fail with what was waited for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"no {what} within {seconds:g} seconds")


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
