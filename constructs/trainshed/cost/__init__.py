"""What an institution's cluster costs a month, from public prices with source and date. Pure.

::

    estimate = monthly_cost(institution)
    print(cost_table(estimate))
"""

from __future__ import annotations

from ..config import Institution
from .amounts import Range
from .compute import compute_items
from .estimate import HOURS_A_MONTH, SECTIONS, Change, Difference, Estimate, Item
from .market import Market
from .own_prices import Assumptions, OwnPrice, OwnPrices, read_own_prices
from .prices import PRICES, REGIONS, Price, PriceTable
from .services import monitoring_items, network_items, storage_items
from .table import cost_table, difference_table, quantity, usd

__all__ = [
    "HOURS_A_MONTH",
    "PRICES",
    "REGIONS",
    "SECTIONS",
    "Assumptions",
    "Change",
    "Difference",
    "Estimate",
    "Item",
    "OwnPrice",
    "OwnPrices",
    "Price",
    "PriceTable",
    "Range",
    "cost_table",
    "difference_table",
    "monthly_cost",
    "quantity",
    "read_own_prices",
    "usd",
]


def monthly_cost(institution: Institution, own: OwnPrices | None = None) -> Estimate:
    """Estimate what a cluster costs in a month of 730 hours.

    Args:
        institution: The institution.
        own: Prices and assumptions that count before the public ones. Default: none.
    """
    own = own or OwnPrices()
    market = Market(
        PRICES.with_overrides(price.price() for price in own.prices), institution.region
    )
    sections = (compute_items, storage_items, network_items, monitoring_items)
    items = tuple(
        item for section in sections for item in section(institution, market, own.assumptions)
    )
    return Estimate(institution.name, institution.region, items)
