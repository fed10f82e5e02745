"""Branches: knobs that exist for some candidates only."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import SpaceError
from tilewright.space import Config, Knobs, Space


def _program(knob: Knobs) -> tuple[Any, ...]:
    tile = knob.size("tile", [1, 2, 4])
    way, knob = knob.branch("way", ("plain", "short", "long"))
    if way == "plain":
        return (way, tile)
    steps = knob.split("steps", 12, 2)
    if way == "short":
        return (way, tile, steps)
    knob.require(steps[1] > 1)
    inner, knob = knob.branch("inner", ("a", "b"))
    last = knob.choice("last", ("u", "v", "w")) if inner == "b" else ""
    return (way, tile, steps, inner, last)


SPACE = Space.declare(_program)
SPLITS = len(SPACE.knobs[2].options)


def test_every_way_is_counted_numbered_and_listed_once() -> None:
    assert SPACE.size == 3 * (1 + SPLITS + SPLITS * (1 + 3))
    rows = SPACE.rows(np.arange(SPACE.size))
    assert len(set(SPACE.keys(rows))) == SPACE.size
    assert np.array_equal(rows, SPACE.canonical(rows))
    assert [SPACE.index(row) for row in rows] == list(range(SPACE.size))
    assert "long.inner.b.last" not in str(SPACE), "names need only be unique"
    assert "long.b.last: choice of 3 if long.inner is b" in str(SPACE)


def test_a_config_has_only_what_its_way_asks_for() -> None:
    rows = SPACE.rows(np.arange(SPACE.size))
    for row in rows[SPACE.valid(rows)]:
        config = SPACE.config(row)
        assert Config.from_json(config.to_json()) == config
        assert np.array_equal(SPACE.encode(config), row)
        made = SPACE.instantiate(config)
        assert made[0] == config["way"]
        assert len(made) == {"plain": 2, "short": 3, "long": 5}[made[0]]
        assert ("short.steps" in config) == (made[0] == "short")


def test_a_config_with_a_knob_of_another_way_is_refused() -> None:
    config = Config((("tile", 1), ("way", "plain"), ("short.steps", (12, 1))))
    with pytest.raises(SpaceError, match=r"this space has the knobs tile, way; give these exactly"):
        SPACE.encode(config)


@given(seed=st.integers(0, 500))
def test_moves_stay_canonical_and_valid(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = SPACE.sample(rng, 20), SPACE.sample(rng, 20)
    for rows in (SPACE.neighbours(rng, a), SPACE.crossover(rng, a, b)):
        assert SPACE.valid(rows).all()
        assert np.array_equal(rows, SPACE.canonical(rows))


def test_moves_reach_every_way() -> None:
    rng = np.random.default_rng(0)
    pop = np.repeat(SPACE.encode(SPACE.default())[None], 200, axis=0)
    for _ in range(6):
        pop = SPACE.neighbours(rng, pop)
    assert {SPACE.config(row)["way"] for row in pop} == {"plain", "short", "long"}


def test_a_population_of_a_branched_space_is_what_each_candidate_is_alone() -> None:
    rows = SPACE.sample(np.random.default_rng(3), 60)
    for where, made in SPACE.populations(rows):
        for at, row in enumerate(where):
            alone = SPACE.instantiate(SPACE.config(rows[row]))
            assert (alone[0], len(alone)) == (made[0], len(made))
            assert alone[1] == made[1][at]


def test_a_knob_that_depends_on_another_knob_is_still_refused() -> None:
    def program(knob: Knobs) -> int:
        return knob.size("more", [1, 2]) if knob.flag("some") else 0

    with pytest.raises(SpaceError, match="except by branch"):
        Space.declare(program)


def test_a_fault_on_one_way_leaves_the_others() -> None:
    def program(knob: Knobs) -> int:
        way, knob = knob.branch("way", ("good", "bad"))
        steps = knob.size("steps", [1, 2, 3])
        if way == "bad":
            raise RuntimeError("this way is no way")
        return steps

    space = Space.declare(program)
    rows = space.sample(np.random.default_rng(0), 10)
    assert len(rows) == 6
    made = [int(n) for _, steps in space.populations(rows) for n in np.atleast_1d(steps)]
    assert sorted(made) == [1, 2, 3]


def test_ways_that_all_fail_say_why() -> None:
    def program(knob: Knobs) -> int:
        knob.branch("way", ("bad", "worse"))
        raise RuntimeError("this way is no way")

    with pytest.raises(RuntimeError, match="no way"):
        Space.declare(program)


@pytest.mark.parametrize("ways", [3, "abc", None])
def test_ways_that_are_no_sequence_are_refused(ways: Any) -> None:
    with pytest.raises(SpaceError, match="give its ways"):
        Space.declare(lambda knob: knob.branch("way", ways)[0])
