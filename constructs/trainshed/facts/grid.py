"""Sizes that a service offers only in certain steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """The sizes on offer: a few small ones, then every multiple of a step.

    ``str()`` says it in words: ``1200 or a multiple of 2400``.

    Args:
        small: Sizes below the step, in rising order.
        step: The smallest regular size, and the distance to the next.
        largest: The last size, a multiple of the step. None: there is no fixed end.
    """

    small: tuple[int, ...]
    step: int
    largest: int | None = None

    def neighbours(self, size: int) -> tuple[int | None, int | None]:
        """Return the largest size on offer up to this one, and the smallest from it on.

        They are equal where this size is on offer. None: there is no such size.
        """
        if size < self.step:
            smaller = [offered for offered in self.small if offered <= size]
            larger = [offered for offered in (*self.small, self.step) if offered >= size]
            return (smaller[-1] if smaller else None), larger[0]
        below = size - size % self.step
        above = below if below == size else below + self.step
        if self.largest is None or above <= self.largest:
            return below, above
        return min(below, self.largest), None

    def __contains__(self, size: int) -> bool:
        """Tell whether this size is on offer."""
        below, above = self.neighbours(size)
        return below == above == size

    def advice(self, size: int) -> str:
        """Say what to use instead of a size that is not on offer: ``use 1200 or 2400``."""
        return f"use {either([near for near in self.neighbours(size) if near is not None])}"

    def __str__(self) -> str:
        end = "" if self.largest is None else f" up to {self.largest}"
        return either([*self.small, f"a multiple of {self.step}{end}"])


def either(choices: Sequence[object]) -> str:
    """Join choices in words: ``125, 250 or 500``."""
    *others, last = map(str, choices)
    return f"{', '.join(others)} or {last}" if others else last
