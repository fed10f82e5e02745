"""Grids go on where they were, and do not get lost in spaces that no one can list."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.search import Grid, Problem
from tilewright.space import Knobs, Space
from tilewright.testing import toys


def _features(rows: np.ndarray) -> np.ndarray:
    return rows.astype(np.float32)


@pytest.mark.parametrize("spread", [False, True])
def test_a_resumed_grid_goes_on(spread: bool) -> None:
    toy = toys.problem()
    whole = Grid(spread).start(toy, np.random.default_rng(3)).ask(200)
    first = Grid(spread).start(toy, np.random.default_rng(3))
    told = first.ask(120)
    resumed = Grid(spread).start(toy, np.random.default_rng(3))
    resumed.tell(told, np.zeros(120))
    assert np.array_equal(np.concatenate([told, resumed.ask(80)]), whole)


def test_a_spread_grid_lies_evenly_over_the_space() -> None:
    toy = toys.problem()
    rows = Grid(spread=True).start(toy, np.random.default_rng(0)).ask(64)
    numbers = np.sort([toy.space.index(row) for row in rows])
    assert np.diff(numbers).max() < toy.space.size / 12
    for seed in range(3):
        searcher = Grid(spread=True).start(toy, np.random.default_rng(seed))
        every = searcher.ask(toy.space.size)
        assert len(every) == toy.space.valid(toy.space.rows(np.arange(toy.space.size))).sum()
        assert len(searcher.ask(1)) == 0


@pytest.mark.parametrize("spread", [False, True])
def test_a_space_of_more_numbers_than_fit_an_integer(spread: bool) -> None:
    def wide(knob: Knobs) -> tuple[int, ...]:
        return tuple(knob.size(f"k{i}", list(range(16))) for i in range(20))

    space = Space.declare(wide)
    assert space.size == 2**80
    rows = Grid(spread).start(Problem(space, _features), np.random.default_rng(0)).ask(50)
    assert len(set(space.keys(rows))) == 50
    if not spread:
        assert [space.index(row) for row in rows] == list(range(50))


def test_a_grid_finds_what_is_far_from_the_first_number() -> None:
    def rare(knob: Knobs) -> tuple[int, ...]:
        a, b, c = (knob.size(name, list(range(128))) for name in "abc")
        knob.require(a >= 120)
        return a, b, c

    space = Space.declare(rare)
    rows = Grid().start(Problem(space, _features), np.random.default_rng(0)).ask(10)
    assert len(rows) == 10
    assert space.valid(rows).all()
