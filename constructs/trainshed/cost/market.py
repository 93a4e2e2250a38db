"""Items priced for one Region."""

from __future__ import annotations

from dataclasses import dataclass

from .. import facts
from .amounts import Range
from .estimate import HOURS_A_MONTH, Item
from .prices import Price, PriceTable


@dataclass(frozen=True, slots=True)
class Market:
    """The prices of one Region.

    Args:
        table: Prices of every Region.
        region: The Region.
    """

    table: PriceTable
    region: str

    def item(
        self,
        section: str,
        what: str,
        quantity: Range,
        price_name: str,
        *,
        idle: bool = True,
        assumed: str = "",
    ) -> Item:
        """Price one item; its cost is not known where the Region has no price.

        Args:
            section: Part of the estimate.
            what: What it is.
            quantity: How much of it a month, in the price's unit.
            price_name: Name of the price.
            idle: Whether it is paid while no job runs.
            assumed: What was assumed of the quantity. Default: nothing.
        """
        price = self.table.find(price_name, self.region)
        return _item(section, what, quantity, price, price_name, self.region, idle, assumed)

    def hours(
        self, section: str, what: str, count: int | Range, price_name: str, *, assumed: str = ""
    ) -> Item:
        """Price something that runs the whole month, so many of it."""
        number = count if isinstance(count, Range) else Range.of(count)
        return self.item(
            section, what, number * Range.of(HOURS_A_MONTH), price_name, assumed=assumed
        )

    def instances(
        self,
        what: str,
        instance_type: facts.InstanceType,
        hours: Range,
        *,
        idle: bool = True,
        share: Range | None = None,
        assumed: str = "",
    ) -> Item:
        """Price On-Demand instances, or Spot ones at a share of that price.

        Args:
            what: What they are for.
            instance_type: Their type.
            hours: Instance hours a month.
            idle: Whether they are paid while no job runs.
            share: Share of the On-Demand price. Default: all of it.
            assumed: What was assumed of hours or share. Default: nothing.
        """
        price = self._instance_price(instance_type)
        if price and share:
            price = Price(price.what, price.unit, price.usd * share, price.regions, price.source)
        name = f"ec2:{instance_type.name}"
        return _item("Compute", what, hours, price, name, self.region, idle, assumed)

    def _instance_price(self, instance_type: facts.InstanceType) -> Price | None:
        exact = self.table.find(f"ec2:{instance_type.name}", self.region)
        vcpu = self.table.find(f"ec2:{instance_type.family}.*", self.region)
        if exact or vcpu is None:
            return exact
        usd = vcpu.usd * Range.of(instance_type.vcpus)
        return Price(f"ec2:{instance_type.name}", "hour", usd, vcpu.regions, vcpu.source)


def unknown(section: str, what: str, why: str, *, idle: bool = True) -> Item:
    """Make an item whose cost nobody can tell from the file."""
    return Item(section, what, Range.of(0), "", None, idle, why)


def _item(
    section: str,
    what: str,
    quantity: Range,
    price: Price | None,
    price_name: str,
    region: str,
    idle: bool,
    assumed: str,
) -> Item:
    if price is None:
        why = f"no price of {price_name} in {region}; give one with --prices"
        return Item(section, what, quantity, "", None, idle, why)
    cost = price.usd * quantity
    return Item(section, what, quantity, price.unit, cost, idle, price.source, assumed)
