from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainshed.facts.grid import Grid, either

TWO_THEN_STEPS = Grid((1200, 2400), 3600)
ENDING = Grid((1500,), 6000, largest=12_000)


@st.composite
def grids(draw: st.DrawFn) -> Grid:
    step = draw(st.integers(2, 60))
    small = draw(st.lists(st.integers(1, step - 1), unique=True, max_size=4))
    steps = draw(st.none() | st.integers(1, 9))
    return Grid(tuple(sorted(small)), step, largest=None if steps is None else steps * step)


def offered(grid: Grid) -> list[int]:
    """Every size up to 1000, the long way."""
    end = 1000 if grid.largest is None else grid.largest
    return [*grid.small, *range(grid.step, end + 1, grid.step)]


@settings(deadline=None)
@given(grids(), st.integers(-10, 900))
def test_neighbours_are_the_closest_sizes_on_offer(grid: Grid, size: int) -> None:
    sizes = offered(grid)
    assert grid.neighbours(size) == (
        max((near for near in sizes if near <= size), default=None),
        min((near for near in sizes if near >= size), default=None),
    )


@settings(deadline=None)
@given(grids(), st.integers(-10, 900))
def test_a_size_is_in_the_grid_if_it_is_on_offer(grid: Grid, size: int) -> None:
    assert (size in grid) == (size in offered(grid))


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (Grid((), 6000), "a multiple of 6000"),
        (Grid((1200,), 2400), "1200 or a multiple of 2400"),
        (TWO_THEN_STEPS, "1200, 2400 or a multiple of 3600"),
        (ENDING, "1500 or a multiple of 6000 up to 12000"),
    ],
    ids=["steps alone", "one small size", "two small sizes", "an end"],
)
def test_a_grid_says_its_rule(grid: Grid, words: str) -> None:
    assert str(grid) == words


@pytest.mark.parametrize(
    ("grid", "size", "words"),
    [
        (TWO_THEN_STEPS, 1300, "use 1200 or 2400"),
        (TWO_THEN_STEPS, 3000, "use 2400 or 3600"),
        (TWO_THEN_STEPS, 0, "use 1200"),
        (ENDING, 13_000, "use 12000"),
        (ENDING, 90_000, "use 12000"),
    ],
    ids=["small", "between small and step", "too small", "just over the end", "far over the end"],
)
def test_advice_names_the_sizes_to_use(grid: Grid, size: int, words: str) -> None:
    assert grid.advice(size) == words


def test_one_choice_needs_no_or() -> None:
    assert either([7]) == "7"
