"""What every search must do; subclass and set `make`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilewright.search.problem import Problem, Searcher
from tilewright.space.knobs import Knobs
from tilewright.space.space import Population, Space
from tilewright.testing import toys


class SearchSuite:
    """Tests of a search's contract, on a toy of 9,408 rows and one of 11; for pytest.

    class TestMine(SearchSuite):
        make = Mine                # or partial(Mine, option=...): called without arguments
        beats_random = True        # for searches that learn from scores
        seeded = False             # for searches that draw nothing at random

    Specs are equal by value and can be pickled. `ask(n)` gives int32 rows that are valid and never
    given or told before: `n` of them while the space has as many, then the rest, then none. The
    same generator gives the same rows, another one others, and NumPy's global one is left alone.
    `ask` may come again before `tell`; `tell` in any order, in parts, of rows from elsewhere, all
    equal or all failed. Of 256 rows in batches of 32 the best is in the best tenth of the toy; with
    `beats_random` in its best thousandth, and half of the last 64 in its best tenth (medians of 3
    seeds).
    """

    make: ClassVar[Any]  # Callable[[], Search]; Any, so that a plain function is not bound
    beats_random: ClassVar[bool] = False
    seeded: ClassVar[bool] = True

    def start(self, problem: Problem, seed: int = 0) -> Searcher:
        return type(self).make().start(problem, np.random.default_rng(seed))

    def test_spec_pickles_and_is_equal_by_value(self) -> None:
        spec = type(self).make()
        assert pickle.loads(pickle.dumps(spec)) == spec == type(self).make(), (
            "specs of the same options are equal, as those of a frozen dataclass are"
        )

    def test_proposals_are_valid_and_never_repeated(self) -> None:
        toy = toys.problem()
        asked = [rows for rows, _ in _play(self.start(toy), toy, batches=6, size=32)]
        assert all(len(rows) == 32 for rows in asked), "the space has more rows than were asked"
        rows = np.concatenate(asked)
        assert rows.dtype == np.int32, f"rows are of {rows.dtype}, not of int32"
        assert toy.space.valid(rows).all(), "a row does not meet the space's requirements"
        assert len(set(toy.space.keys(rows))) == len(rows), "a row was proposed twice"

    def test_same_seed_gives_the_same_proposals(self) -> None:
        toy = toys.problem()
        one, two, other = (
            np.concatenate([rows for rows, _ in _play(self.start(toy, s), toy, 4, 16)])
            for s in (7, 7, 8)
        )
        assert np.array_equal(one, two), "one seed gave different rows"
        assert np.array_equal(one, other) != self.seeded, (
            "two seeds gave the same rows" if self.seeded else "two seeds gave different rows"
        )

    def test_global_random_state_is_left_alone(self) -> None:
        before = _global_state()
        toy = toys.problem()
        list(_play(self.start(toy), toy, batches=3, size=16))
        assert _global_state() == before, "NumPy's global generator was used"

    def test_rows_told_from_elsewhere_are_never_proposed(self) -> None:
        space = Space.declare(_small)
        everything = space.sample(np.random.default_rng(1), 12)
        searcher = self.start(Problem(space, lambda rows: rows.astype(np.float32)))
        searcher.tell(everything[:6], np.arange(6.0))
        proposed = np.concatenate([searcher.ask(4), searcher.ask(4)])
        assert not set(space.keys(proposed)) & set(space.keys(everything[:6])), "a told row again"
        assert sorted(space.keys(proposed)) == sorted(space.keys(everything[6:])), (
            f"{len(proposed)} rows, where 5 were left"
        )

    def test_asked_again_before_told_and_told_out_of_order(self) -> None:
        toy = toys.problem()
        searcher = self.start(toy)
        asked = [searcher.ask(16) for _ in range(3)]
        for rows in reversed(asked):
            back = rows[::-1]
            searcher.tell(back[:5], toys.score(toy, back[:5]))
            searcher.tell(back[5:], toys.score(toy, back[5:]))
        rows = np.concatenate([*asked, searcher.ask(16)])
        assert len(set(toy.space.keys(rows))) == 64, "not 64 different rows, asked 16 at a time"

    def test_a_small_space_is_proposed_whole_and_then_nothing(self) -> None:
        space = Space.declare(_small)
        small = Problem(space, lambda rows: rows.astype(np.float32))
        searcher = self.start(small)
        found: list[bytes] = []
        for _ in range(12):
            rows = searcher.ask(5)
            searcher.tell(rows, -rows.sum(axis=1).astype(np.float64))
            found += space.keys(rows)
        assert len(found) == len(set(found)) == 11, "4 * 3 combinations, of which one is invalid"
        assert searcher.ask(5).shape == (0, 2), "no rows of 2 knobs are left"

    def test_survives_when_every_candidate_fails(self) -> None:
        toy = toys.problem()
        searcher = self.start(toy)
        for _ in range(4):
            rows = searcher.ask(24)
            assert len(rows) == 24, f"{len(rows)} rows, asked for 24"
            searcher.tell(rows, np.full(24, -np.inf))

    def test_survives_equal_scores_and_a_batch_of_one(self) -> None:
        toy = toys.problem()
        searcher = self.start(toy)
        for size in (1, 16, 1, 16):
            rows = searcher.ask(size)
            assert len(rows) == size, f"{len(rows)} rows, asked for {size}"
            searcher.tell(rows, np.full(size, 3.0))

    def test_asking_for_none_and_telling_none_is_fine(self) -> None:
        toy = toys.problem()
        searcher = self.start(toy)
        searcher.tell(np.zeros((0, 4), np.int32), np.zeros(0))
        assert searcher.ask(0).shape == (0, 4)
        assert searcher.ask(3).shape == (3, 4)

    def test_finds_good_candidates_and_learns_where_they_are(self) -> None:
        toy = toys.problem()
        scores = toys.score(toy, toy.space.sample(np.random.default_rng(2), toy.space.size))
        best: list[float] = []
        late: list[float] = []
        for seed in range(3):
            told = [scores for _, scores in _play(self.start(toy, seed), toy, batches=8, size=32)]
            best.append(float(np.max(told)))
            late.append(float(np.median(told[-2:])))
        goal = np.quantile(scores, 0.999 if self.beats_random else 0.9)
        assert np.median(best) >= goal, f"best of 256: {best}, to be reached: {goal}"
        if self.beats_random:
            goal = np.quantile(scores, 0.9)
            assert np.median(late) >= goal, f"median of the last 64: {late}, to be reached: {goal}"


def _play(
    searcher: Searcher, toy: Problem, batches: int, size: int
) -> Iterator[tuple[Population, NDArray[np.float64]]]:
    for _ in range(batches):
        rows = searcher.ask(size)
        scores = toys.score(toy, rows)
        searcher.tell(rows, scores)
        yield rows, scores


def _small(knob: Knobs) -> tuple[Any, ...]:
    a, b = knob.size("a", [1, 2, 3, 4]), knob.choice("b", ["x", "y", "z"])
    knob.require((a < 4) | (b != "z"))
    return a, b


def _global_state() -> bytes:
    return pickle.dumps(np.random.get_state())  # noqa: NPY002 the legacy state is what is checked
