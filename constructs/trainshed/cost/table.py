"""Estimates and differences as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

from .amounts import Range
from .estimate import HOURS_A_MONTH, SECTIONS, Change, Difference, Estimate, Item

# En dash, as in print: a hyphen would read as a minus.
_TO = "\N{EN DASH}"


def usd(amount: Range) -> str:
    """Write an amount of US dollars: ``1,020,230``, or ``33,408-42,854`` with a dash."""
    low, high = _dollars(amount.low), _dollars(amount.high)
    return low if low == high else f"{low}{_TO}{high}"


def quantity(item: Item) -> str:
    """Write how much of an item there is: ``11,680 hours``."""
    if not item.unit:
        return ""
    amount = _numbers(item.quantity)
    return f"{amount} {item.unit}" if amount == "1" else f"{amount} {_plural(item.unit)}"


def cost_table(estimate: Estimate) -> str:
    """Return an estimate as Markdown: what is known by section, the total, what is not known."""
    return "\n".join(_lines(estimate)) + "\n"


def _lines(estimate: Estimate) -> Iterator[str]:
    yield f"### Cost of a month: {estimate.institution}, {estimate.region}"
    yield ""
    yield (
        f"US dollars, public list prices, {HOURS_A_MONTH} hours; "
        "without tax, discounts and contracts of your own."
    )
    yield ""
    yield "| Item | Quantity | USD a month | Paid when idle | Source |"
    yield "|---|---:|---:|---|---:|"
    sources = list(dict.fromkeys(item.source for item in estimate.known))
    for section in SECTIONS:
        items = [item for item in estimate.known if item.section == section]
        for item in items:
            idle = "yes" if item.idle else "no"
            number = sources.index(item.source) + 1
            cost = usd(item.usd) if item.usd else ""
            what = f"{item.what} ({item.assumed})" if item.assumed else item.what
            yield f"| {what} | {quantity(item)} | {cost} | {idle} | {number} |"
        if items:
            yield f"| **{section}** | | **{usd(estimate.section_total(section))}** | | |"
    yield f"| **{_total(estimate)}** | | **{usd(estimate.total)}** | | |"
    yield f"| **of it paid when idle** | | **{usd(estimate.idle_total)}** | | |"
    yield ""
    if estimate.unknown:
        yield "Not known, and in no total:"
        yield ""
        yield from (f"- {item.what}: {item.source}" for item in estimate.unknown)
        yield ""
    yield "Sources:"
    yield ""
    yield from (f"{number}. {source}" for number, source in enumerate(sources, 1))


def difference_table(difference: Difference) -> str:
    """Return what changes, before and after, as Markdown; one line where nothing does."""
    changes = difference.changes
    if not changes:
        known = "" if difference.after.is_complete else ", without what has no price"
        return f"The cost of a month stays as it is: {usd(difference.after.total)} USD{known}.\n"
    lines = [
        "| Item | USD a month before | after |",
        "|---|---:|---:|",
        *(_row(change) for change in changes),
        f"| **{_total(difference.before, difference.after)}** "
        f"| **{usd(difference.before.total)}** | **{usd(difference.after.total)}** |",
        f"| **of it paid when idle** | **{usd(difference.before.idle_total)}** "
        f"| **{usd(difference.after.idle_total)}** |",
    ]
    return "\n".join(lines) + "\n"


def _total(*estimates: Estimate) -> str:
    return "Total" if all(each.is_complete for each in estimates) else "Total of what has a price"


def _row(change: Change) -> str:
    return f"| {change.what} | {_cost(change.before)} | {_cost(change.after)} |"


def _cost(item: Item | None) -> str:
    if item is None:
        return "\N{EM DASH}"
    if item.usd is not None:
        return usd(item.usd)
    return f"not known ({_numbers(item.quantity)})" if item.quantity.high else "not known"


def _dollars(amount: Decimal) -> str:
    """Round to cents below ten dollars, else to dollars."""
    step = Decimal("0.01") if 0 < amount < 10 else Decimal(1)
    return f"{amount.quantize(step, ROUND_HALF_UP):,}"


def _numbers(amount: Range) -> str:
    low, high = _number(amount.low), _number(amount.high)
    return low if low == high else f"{low}{_TO}{high}"


def _number(amount: Decimal) -> str:
    step = Decimal("0.1") if amount < 100 else Decimal(1)
    rounded = amount.quantize(step, ROUND_HALF_UP)
    return f"{rounded:,}".removesuffix(".0")


def _plural(unit: str) -> str:
    return f"{unit}s" if unit.endswith(("hour", "month")) else unit
