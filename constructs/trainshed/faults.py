"""Several faults of one record at once, each with the key it stands at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Self

KeyPath = tuple[str | int, ...]


class Fault(NamedTuple):
    """What is wrong with one key, below the record that found it."""

    key_path: KeyPath
    reason: str

    @classmethod
    def at(cls, *key_path: str | int, reason: str) -> Self:
        """Make a fault of the key at this path."""
        return cls(key_path, reason)

    def below(self, *key_path: str | int) -> Fault:
        """Return the same fault, seen from further up."""
        return Fault((*key_path, *self.key_path), self.reason)


class FaultsError(ValueError):
    """All the faults of a record. As a text: one line each."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = list(faults)
        super().__init__("\n".join(f"{dotted(f.key_path)}: {f.reason}" for f in self.faults))


def refuse(faults: Iterable[Fault]) -> None:
    """Raise if there is any fault.

    Raises:
        FaultsError: With every one of them.
    """
    found = list(faults)
    if found:
        raise FaultsError(found)


def dotted(key_path: KeyPath) -> str:
    """Write a key path as people do: ``fleet.queues.train.max_nodes``, ``subnets[0]``."""
    return "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in key_path).lstrip(".")
