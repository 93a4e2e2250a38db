"""Prices by Region, each with its source; a file of your own goes before them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .amounts import Range
from .price_data import INSTANCES, REGION_GROUPS, SERVICES, SOURCES

ANYWHERE = "*"
"""The Region of a price that holds in all of them."""


@dataclass(frozen=True, slots=True)
class Price:
    """What one unit of something costs in some Regions.

    Args:
        what: What is bought; :mod:`trainshed.cost.price_data` says how names are made.
        unit: What one of it is, such as ``hour`` or ``GB-month``.
        usd: US dollars a unit.
        regions: Where it holds; ``*`` for everywhere.
        source: Where the price was read, and on which day.
    """

    what: str
    unit: str
    usd: Range
    regions: tuple[str, ...]
    source: str

    def holds_in(self, region: str) -> bool:
        """Tell whether it is a Region's price."""
        return region in self.regions or ANYWHERE in self.regions


class PriceTable:
    """Prices; of two for the same thing the later one counts.

    Args:
        prices: The prices.
    """

    def __init__(self, prices: Iterable[Price]) -> None:
        self.prices = tuple(prices)

    def find(self, what: str, region: str) -> Price | None:
        """Return a price; None where the table has none for that Region."""
        return next(
            (p for p in reversed(self.prices) if p.what == what and p.holds_in(region)), None
        )

    def with_overrides(self, overrides: Iterable[Price]) -> PriceTable:
        """Return a table in which other prices count before these."""
        return PriceTable((*self.prices, *overrides))


def _read(table: str) -> Iterator[Price]:
    """Turn the lines of a data table into prices."""
    for line in table.splitlines()[1:]:
        what, unit, low, high, source, *regions = line.split()
        text, read = SOURCES[source]
        yield Price(
            what=what,
            unit=unit,
            usd=Range.of(low, None if high == "-" else high),
            regions=tuple(r for name in regions for r in REGION_GROUPS.get(name, (name,))),
            source=f"{text} (read {read})",
        )


PRICES = PriceTable(price for table in (INSTANCES, SERVICES) for price in _read(table))
"""Public list prices."""

REGIONS = tuple(sorted({r for price in PRICES.prices for r in price.regions}))
"""Regions that have prices."""
