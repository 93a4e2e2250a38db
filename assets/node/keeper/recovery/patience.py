"""Waits some seconds for what may never end, as a file system whose server is away does not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")

SECONDS = 10.0


class Patience:
    """Calls things one after another, each for so long at most.

    A process could be killed no better: one that waits for such a server does not die either. While
    a call has not ended no other is begun, as each would leave a thread behind.

    Args:
        seconds: How long to wait for a call.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._thread: Thread | None = None

    def call(self, what: Callable[[], T]) -> T:
        """Return what a call returns, or raise what it raises.

        Raises:
            TimeoutError: It has not ended, or one before it has not.
        """
        if self._thread is not None and self._thread.is_alive():
            raise TimeoutError("the shared file system still does not answer")
        future: Future[T] = Future()
        # The service ends without it.
        self._thread = Thread(target=_into, args=(future, what), daemon=True)
        self._thread.start()
        self._thread.join(self.seconds)
        if not future.done():
            raise TimeoutError(f"the shared file system gave no answer in {self.seconds:g} s")
        return future.result()


def _into(future: Future[T], what: Callable[[], T]) -> None:
    try:
        future.set_result(what())
    except Exception as error:
        future.set_exception(error)
