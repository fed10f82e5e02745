"""A candidate on which the program raises is one candidate: it is known, and harms no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tilewright.errors import SpaceError
from tilewright.space.knobs import Knobs
from tilewright.space.space import Space

Raises = Callable[[Any, Any, str], Any]

CASES: dict[str, Raises] = {
    "never": lambda y, x, way: False,  # noqa: ARG005
    "one row": lambda y, x, way: (y[1] == 8) & (x[1] == 4) & (way == "b"),
    "some rows": lambda y, x, way: y[1] * x[1] > 32,  # noqa: ARG005
    "most rows": lambda y, x, way: y[1] > 1,  # noqa: ARG005
    "one way": lambda y, x, way: (way == "b") | (y[1] < 0),  # noqa: ARG005
    "the first": lambda y, x, way: (y[0] == 64) & (x[1] < 1000) & (way != "c"),
}


def program(raises: Raises, *, late: bool) -> Callable[[Knobs], tuple[Any, ...]]:
    """Return a program of 3 knobs that raises before or after its last requirement."""

    def run(knob: Knobs) -> tuple[Any, ...]:
        y, x = knob.split("y", 64, 2), knob.split("x", 32, 2)
        way = knob.choice("way", ("a", "b", "c"))
        knob.require(y[1] * x[1] <= 256)
        if not late and np.any(raises(y, x, way)):
            raise ValueError("it cannot be")
        knob.require(y[1] + x[1] > 2)
        if np.any(raises(y, x, way)):
            raise ValueError("it cannot be")
        return y, x, way

    return run


def plain(raises: Raises, space: Space[Any], row: Any) -> tuple[bool, bool]:
    """Return whether a row meets the requirements that it comes to, and whether it raises."""
    config = space.config(row)
    y, x, way = config["y"], config["x"], config["way"]
    met = y[1] * x[1] <= 256 and y[1] + x[1] > 2
    return met, bool(raises(y, x, way))


@pytest.mark.parametrize("late", [False, True], ids=["before the last", "after all"])
@pytest.mark.parametrize("case", CASES)
def test_each_row_stands_for_itself(case: str, late: bool):
    space = Space.declare(program(CASES[case], late=late))
    rows = np.stack([space.row(i) for i in range(space.size)])
    truth = [plain(CASES[case], space, row) for row in rows]
    for _ in range(2):
        valid = space.valid(rows)
        for ok, (met, raises) in zip(valid, truth, strict=True):
            assert ok or not met
            assert not ok or met or (raises and not late)
        population = rows[valid]
        made = space.populations(population)
        found = sorted(int(i) for at, _ in made for i in at)
        alive = [not raises for ok, (_, raises) in zip(valid, truth, strict=True) if ok]
        assert found == np.flatnonzero(alive).tolist()
        for at, (y, x, way) in made:
            for place, i in enumerate(at):
                values = space.instantiate(space.config(population[i]))
                assert values == (*[tuple(int(p[place]) for p in k) for k in (y, x)], way)
    drawn = space.sample(np.random.default_rng(0), 5000)
    assert len(drawn) == len(set(space.keys(drawn))) == int(space.valid(rows).sum())


@pytest.mark.parametrize("case", CASES)
def test_moves_keep_to_the_space(case: str):
    space = Space.declare(program(CASES[case], late=False))
    rng = np.random.default_rng(1)
    rows = space.sample(rng, 64)
    assert space.valid(space.neighbours(rng, rows)).all()
    assert space.valid(space.crossover(rng, rows, rows[::-1])).all()


def test_what_is_known_to_raise_is_not_run_again():
    runs = 0

    def counted(knob: Knobs) -> Any:
        nonlocal runs
        runs += 1
        return program(CASES["some rows"], late=True)(knob)

    space = Space.declare(counted)
    rows = space.sample(np.random.default_rng(0), 1000)
    space.populations(rows)
    runs = 0
    space.populations(rows)
    assert runs == 3  # once a structure


def test_a_structure_that_always_raises_is_not_tried_row_by_row():
    runs = 0

    def counted(knob: Knobs) -> Any:
        nonlocal runs
        runs += 1
        return program(CASES["one way"], late=False)(knob)

    space = Space.declare(counted)
    runs = 0
    rows = space.sample(np.random.default_rng(0), 1000)
    assert len({space.config(row)["way"] for row in rows}) == 3
    space.populations(rows)
    assert runs < 40 < len(rows)


def test_a_program_that_always_raises_says_what():
    def broken(knob: Knobs) -> Any:
        knob.flag("a")
        raise RuntimeError("of all things")

    with pytest.raises(RuntimeError, match="of all things"):
        Space.declare(broken)


def test_a_program_that_cannot_take_arrays_says_so():
    """Run alone each candidate works; together they do not: nothing to be forgiven."""

    def branching(knob: Knobs) -> Any:
        n = knob.size("n", [1, 2, 3, 4])
        return "large" if n > 2 else "small"

    space = Space.declare(branching)
    with pytest.raises(ValueError, match="truth value of an array"):
        space.populations(np.array([[0], [1], [2], [3]], np.int32))


def test_knobs_that_depend_on_knobs_are_refused_as_ever():
    def unstable(knob: Knobs) -> Any:
        if knob.flag("a"):
            return knob.flag("b")
        return None

    with pytest.raises(SpaceError, match="may not depend"):
        Space.declare(unstable)


def test_requirements_nobody_meets_are_told_as_ever():
    def impossible(knob: Knobs) -> Any:
        knob.require(knob.size("n", [1, 2]) > 2)
        raise RuntimeError("not reached by a candidate")

    with pytest.raises(SpaceError, match="no candidate tried meets its requirements"):
        Space.declare(impossible)


def test_candidates_of_a_branch_may_raise():
    def branched(knob: Knobs) -> Any:
        tile = knob.size("tile", [1, 2, 4])
        way, knob = knob.branch("way", ("plain", "deep"))
        if way == "plain":
            return tile
        depth = knob.size("depth", [1, 2, 3])
        if np.any(tile * depth > 6):
            raise ValueError("too deep")
        return tile * depth

    space = Space.declare(branched)
    rows = space.sample(np.random.default_rng(0), 100)
    made = [int(n) for _, made in space.populations(rows) for n in np.atleast_1d(made)]
    assert len(rows) == 3 + 9
    assert sorted(made) == sorted([1, 2, 4, 1, 2, 3, 2, 4, 6, 4])
