"""docs/cost.md works out the KAIT cluster by hand; the tool has the same figures."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from trainshed.config import Institution
from trainshed.cost import monthly_cost, usd

DOC = Path(__file__).parents[3] / "docs" / "cost.md"
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _rows() -> dict[str, tuple[str, str]]:
    text = DOC.read_text().split("## The KAIT cluster by hand")[1]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: (row[1], row[-1]) for row in rows[1:] if len(row) == 3}


def _worked_out(calculation: str) -> Fraction:
    def value(node: ast.expr) -> Fraction:
        if isinstance(node, ast.BinOp):
            result: Fraction = OPERATORS[type(node.op)](value(node.left), value(node.right))
            return result
        return Fraction(ast.get_source_segment(source, node) or "")

    source = calculation.replace("\N{MULTIPLICATION SIGN}", "*")
    return value(ast.parse(source, mode="eval").body)


@pytest.mark.parametrize("what", list(_rows()))
def test_a_line_by_hand_is_what_the_tool_says(
    what: str, example: Callable[[str], Institution]
) -> None:
    calculation, written = _rows()[what]
    estimate = monthly_cost(example("kait"))
    item = next(item for item in estimate.items if item.what == what)
    assert item.usd is not None
    low, _, high = calculation.partition(" to ")
    assert float(_worked_out(low)) == pytest.approx(float(item.usd.low), rel=1e-9)
    assert float(_worked_out(high or low)) == pytest.approx(float(item.usd.high), rel=1e-9)
    assert written == usd(item.usd)


def test_the_total_by_hand_is_what_the_tool_says(example: Callable[[str], Institution]) -> None:
    estimate = monthly_cost(example("kait"))
    assert set(_rows()) == {item.what for item in estimate.known}
    assert f"| **Total** | | **{usd(estimate.total)}** |" in DOC.read_text()
