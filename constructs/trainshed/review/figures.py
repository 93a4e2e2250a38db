"""What a reviewer reads beside the verdict: the month's cost and the quotas, before and after."""

from __future__ import annotations

from ..config import Institution
from ..cost import Difference, cost_table, difference_table, monthly_cost
from ..quotas import quota_needs, quota_table


def figures(before: Institution | None, after: Institution | None) -> dict[str, str]:
    """Return sections of Markdown by their titles; none without an institution file.

    Args:
        before: The institution as it is deployed; None where there is none, or no file of it.
        after: The institution as it is asked for; None where it goes, or there is no file of it.
    """
    if after is None:
        return {}
    cost = monthly_cost(after)
    table = difference_table(Difference(monthly_cost(before), cost)) if before else cost_table(cost)
    return {
        "Cost": _without_heading(table),
        "Quotas": _without_heading(quota_table(quota_needs(after), after.region)),
    }


def _without_heading(table: str) -> str:
    """Leave out the first heading: the section has its title."""
    return table.split("\n", 1)[1].lstrip() if table.startswith("#") else table
