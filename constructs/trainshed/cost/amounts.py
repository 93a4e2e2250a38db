"""Amounts that are known exactly or only to lie between two numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Range:
    """A number, or the two numbers that it lies between; never below zero.

    Args:
        low: The least that it can be.
        high: The most that it can be; equal to ``low`` where the number is known.

    Raises:
        ValueError: ``low`` is negative or above ``high``.
    """

    low: Decimal
    high: Decimal

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ValueError(f"a range goes upwards from 0 or more, got {self.low} to {self.high}")

    @classmethod
    def of(cls, low: Decimal | int | str, high: Decimal | int | str | None = None) -> Range:
        """Make a range of two numbers, or of one that is known exactly."""
        return cls(Decimal(low), Decimal(low if high is None else high))

    @property
    def is_exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high

    def __add__(self, other: Range) -> Range:
        """Add two amounts: the least to the least, the most to the most."""
        return Range(self.low + other.low, self.high + other.high)

    def __mul__(self, other: Range) -> Range:
        """Multiply two amounts, such as a price with a quantity."""
        return Range(self.low * other.low, self.high * other.high)


NOTHING = Range.of(0)
"""Zero, exactly."""


def total(amounts: Iterable[Range]) -> Range:
    """Add amounts up."""
    return sum(amounts, NOTHING)
