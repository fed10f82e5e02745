from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.errors import ScheduleError, SpaceError
from tilewright.space import Config, Knobs, Space


def _program(knob: Knobs) -> dict[str, Any]:
    y = knob.split("y", 24, 3)
    x = knob.split("x", 7, 2)
    unroll = knob.size("unroll", [1, 4, 16])
    order = knob.order("order", ["i", "j", "k"])
    how = knob.choice("how", ["direct", "packed"])
    knob.require(y[2] * x[1] <= 32)
    if how == "packed":
        knob.require(unroll > 1)
    return {"tile": y[1] * y[2] * x[1] * unroll, "order": order, "how": how, "y": y}


def _space() -> Space[dict[str, Any]]:
    return Space.declare(_program)


def test_rows_numbers_and_configs_are_the_same_thing() -> None:
    space = _space()
    for row in space.sample(np.random.default_rng(0), 50):
        assert np.array_equal(space.row(space.index(row)), row)
        assert np.array_equal(space.encode(space.config(row)), row)
        assert Config.from_json(space.config(row).to_json()) == space.config(row)
    assert space.index(space.row(space.size - 1)) == space.size - 1 == np.prod(space.sizes) - 1


def test_a_population_is_what_each_candidate_is_alone() -> None:
    space = _space()
    pop = space.sample(np.random.default_rng(1), 300)
    seen = []
    for rows, made in space.populations(pop):
        assert made["tile"].dtype == np.int64
        for at, row in enumerate(rows):
            alone = space.instantiate(space.config(pop[row]))
            assert alone["tile"] == made["tile"][at]
            assert isinstance(alone["tile"], int)
            assert (alone["order"], alone["how"]) == (made["order"], made["how"])
            assert alone["y"] == tuple(part[at] for part in made["y"])
        seen.extend(rows)
    assert sorted(seen) == list(range(300))


@given(seed=st.integers(0, 1000))
def test_moves_stay_in_the_space(seed: int) -> None:
    space, rng = _space(), np.random.default_rng(seed)
    a, b = space.sample(rng, 40), space.sample(rng, 40)
    assert len(set(space.keys(a))) == 40
    moved, mixed = space.neighbours(rng, a), space.crossover(rng, a, b)
    for rows in (a, moved, mixed):
        assert rows.dtype == np.int32
        assert space.valid(rows).all()
    assert ((moved != a).sum(axis=1) <= 1).all()
    assert ((moved != a).sum(axis=1) == 1).mean() > 0.8
    assert ((mixed == a) | (mixed == b)).all()


def test_validity_agrees_with_instantiate() -> None:
    space = _space()
    rows = np.array([space.row(i) for i in range(0, space.size, 97)])
    for row, valid in zip(rows, space.valid(rows), strict=True):
        config = space.config(row)
        if valid:
            space.instantiate(config)
        else:
            with pytest.raises(SpaceError, match="fails requirement"):
                space.instantiate(config)


def test_sampling_finds_all_that_is_valid_and_no_more() -> None:
    space = _space()
    everything = np.array([space.row(i) for i in range(space.size)])
    valid = int(space.valid(everything).sum())
    assert len(space.sample(np.random.default_rng(0), 10**6)) == valid < space.size


def test_rare_candidates_of_a_large_space_are_found() -> None:
    def rare(knob: Knobs) -> Any:
        parts = [knob.split(name, 512, 4, max_inner=8) for name in "abc"]
        knob.require((parts[0][3] == 8) & (parts[1][3] == 8) & (parts[2][3] == 1))
        return parts

    space = Space.declare(rare)
    assert len(space.sample(np.random.default_rng(0), 200)) == 200
    assert space.instantiate(space.default())[0][3] == 8


def test_programs_run_only_as_far_as_their_last_requirement() -> None:
    runs = [0]

    def costly(knob: Knobs) -> None:
        size = knob.size("size", list(range(1, 101)))
        knob.require(size < 50)
        runs[0] += 1

    space = Space.declare(costly)
    rows = space.sample(np.random.default_rng(0), 10)
    before = runs[0]
    assert space.valid(rows).all()
    assert runs[0] == before


def test_what_raises_outside_the_space_does_not_spoil_the_rest() -> None:
    def touchy(knob: Knobs) -> Any:
        size = knob.size("size", [0, 1, 2, 3])
        knob.require(size > 0)
        if np.any(np.asarray(size) == 0):
            raise ScheduleError("a loop of no rounds")
        return 6 // size

    space = Space.declare(touchy)
    assert space.valid(np.arange(4, dtype=np.int32)[:, None]).tolist() == [False, True, True, True]
    assert space.default() == Config((("size", 1),))


def test_a_fault_inside_the_space_is_shown() -> None:
    def broken(knob: Knobs) -> None:
        knob.require(knob.size("size", [1, 2]) > 0)
        raise ScheduleError("no such loop")

    with pytest.raises(ScheduleError, match="no such loop"):
        Space.declare(broken)


def test_knobs_that_depend_on_a_value_are_refused() -> None:
    def sometimes(knob: Knobs) -> None:
        if knob.choice("algorithm", ["a", "b"]) == "b":
            knob.size("tile", [1, 2])

    def wider(knob: Knobs) -> None:
        knob.size("tile", [1, 2] if knob.flag("wide") else [1])

    for program, message in (
        (sometimes, "'tile' was not declared in a candidate with algorithm=b"),
        (wider, "'tile' has other options in a candidate with wide=True"),
    ):
        with pytest.raises(SpaceError, match=message):
            Space.declare(program)


def test_a_name_used_twice_is_one_knob_or_an_error() -> None:
    space = Space.declare(lambda knob: (knob.flag("u"), knob.flag("u")))
    assert len(space.knobs) == 1
    with pytest.raises(SpaceError, match="asked for twice with other options"):
        Space.declare(lambda knob: (knob.flag("u"), knob.size("u", [1, 2])))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda knob: knob.choice("c", []), "has no options"),
        (lambda knob: knob.choice("c", [1, 1]), "repeats an option"),
        (lambda knob: knob.choice("c", [object()]), "does not survive JSON"),
        (lambda knob: knob.order("o", range(8)), "have too many orders"),
        (lambda knob: knob.split("y", np.array([4, 8]), 2), "depends on another knob"),
    ],
)
def test_bad_knobs_are_refused(ask: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        Space.declare(ask)


def test_configs_of_other_spaces_are_refused() -> None:
    space = Space.declare(lambda knob: knob.split("y", 4, 2))
    with pytest.raises(SpaceError, match=r"cannot encode y=\(3, 3\): it is not offered"):
        space.encode(Config((("y", (3, 3)),)))
    with pytest.raises(SpaceError, match="this space has the knobs y; give these exactly"):
        space.encode(Config((("z", 1),)))
    with pytest.raises(SpaceError, match="no row has the number 3"):
        space.row(3)


def test_an_impossible_space_says_so() -> None:
    space = Space.declare(lambda knob: knob.require(knob.size("size", [1, 2]) > 2))
    assert len(space.sample(np.random.default_rng(0), 5)) == 0
    with pytest.raises(SpaceError, match="no configuration meets the requirements"):
        space.default()
    with pytest.raises(SpaceError, match="none meets the requirements"):
        space.populations(np.zeros((1, 1), np.int32))


def test_a_space_without_knobs_has_one_candidate() -> None:
    space = Space.declare(lambda _: "made")
    assert space.size == 1
    pop = space.sample(np.random.default_rng(0), 5)
    assert pop.shape == (1, 0)
    assert len(space.keys(pop)) == 1
    assert np.array_equal(space.neighbours(np.random.default_rng(0), pop), pop)
    assert [made for _, made in space.populations(pop)] == ["made"]
    assert space.instantiate(space.default()) == "made"


@pytest.mark.parametrize("condition", [1, 0.5, None, "yes", [True], np.arange(3), np.ones(2)])
def test_a_requirement_is_a_condition(condition: Any) -> None:
    """A number, which is true if it is not zero, would let through what was to be left out."""

    def program(knob: Knobs) -> int:
        size = knob.size("size", (1, 2, 3))
        way, inner = knob.branch("way", ("plain", "inside"))
        (knob if way == "plain" else inner).require(condition)
        return size

    with pytest.raises(SpaceError, match=r"cannot require .* give a condition"):
        Space.declare(program)


def test_conditions_are_those_of_python_and_of_numpy() -> None:
    def program(knob: Knobs) -> Any:
        size = knob.size("size", (1, 2, 3))
        for condition in (True, np.True_, size < 3, np.all(np.ones(1)), np.asarray(size) > 1):
            knob.require(condition)
        return size

    assert len(Space.declare(program).sample(np.random.default_rng(0), 9)) == 1
