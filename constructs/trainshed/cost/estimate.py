"""What an institution's cluster costs a month, item by item."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .amounts import Range, total

HOURS_A_MONTH = 730
"""Hours that every month counts as."""

SECTIONS = ("Compute", "Storage", "Network", "Monitoring")
"""Parts of an estimate, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that is paid for.

    Args:
        section: One of :data:`SECTIONS`.
        what: What it is, the same in every estimate of the cluster.
        quantity: How much of it a month.
        unit: What one of it is.
        usd: US dollars a month. None: not known, and in no total.
        idle: Whether it is paid while no job runs.
        source: Where the price is from; of an unknown cost, why.
        assumed: What was assumed, since the file does not say it. Empty: nothing.
    """

    section: str
    what: str
    quantity: Range
    unit: str
    usd: Range | None
    idle: bool
    source: str
    assumed: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A month of one institution's cluster.

    Args:
        institution: Its name.
        region: Its Region.
        items: What is paid for, known or not.
    """

    institution: str
    region: str
    items: tuple[Item, ...]

    @property
    def known(self) -> tuple[Item, ...]:
        """Items with a cost."""
        return tuple(item for item in self.items if item.usd is not None)

    @property
    def unknown(self) -> tuple[Item, ...]:
        """Items whose cost is not known; no total has them."""
        return tuple(item for item in self.items if item.usd is None)

    @property
    def is_complete(self) -> bool:
        """Whether everything that the file asks for has a price; what depends on use does not."""
        return not any(item.quantity.high for item in self.unknown)

    @property
    def total(self) -> Range:
        """US dollars a month of everything that is known."""
        return total(item.usd for item in self.items if item.usd)

    @property
    def idle_total(self) -> Range:
        """US dollars a month while no job runs."""
        return total(item.usd for item in self.items if item.usd and item.idle)

    def section_total(self, section: str) -> Range:
        """Return the US dollars a month of one section."""
        return total(item.usd for item in self.items if item.usd and item.section == section)


@dataclass(frozen=True, slots=True)
class Change:
    """How one item differs between two estimates.

    Args:
        section: One of :data:`SECTIONS`.
        what: What it is.
        before: The item before; None: it was not there.
        after: The item after; None: it is no longer there.
    """

    section: str
    what: str
    before: Item | None
    after: Item | None


@dataclass(frozen=True, slots=True)
class Difference:
    """What a change of an institution's file does to the cost of a month.

    Args:
        before: The estimate before.
        after: The estimate after.
    """

    before: Estimate
    after: Estimate

    @property
    def changes(self) -> tuple[Change, ...]:
        """Items that differ in quantity or cost, in the order of the sections."""
        return tuple(self._changes())

    def _changes(self) -> Iterator[Change]:
        old = {(item.section, item.what): item for item in self.before.items}
        new = {(item.section, item.what): item for item in self.after.items}
        for section in SECTIONS:
            for key in dict.fromkeys((*old, *new)):
                before, after = old.get(key), new.get(key)
                if key[0] == section and _amounts(before) != _amounts(after):
                    yield Change(*key, before, after)


def _amounts(item: Item | None) -> object:
    return item and (item.quantity, item.usd)
