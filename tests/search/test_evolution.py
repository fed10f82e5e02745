"""Evolution maximises any score function, keeps its population, and scores a row once."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.search import Annealing, Evolution
from tilewright.search.optimiser import Optimiser
from tilewright.testing import toys

OPTIMISERS = [Annealing(chains=128), Evolution(population=128)]


@pytest.mark.parametrize("spec", OPTIMISERS, ids=lambda s: type(s).__name__)
def test_the_best_of_a_space_is_found(spec: Optimiser) -> None:
    toy = toys.problem()
    every = toy.space.sample(np.random.default_rng(0), toy.space.size)
    best = np.sort(toys.score(toy, every))[::-1]
    climber = spec.begin(toy.space, np.random.default_rng(1))
    rows, scores = climber.maximise(lambda pop: toys.score(toy, pop), 16)
    assert len(rows) == len(scores) == 16
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    assert np.array_equal(scores, toys.score(toy, rows))
    assert scores[0] == best[0]
    assert scores[-1] >= best[64]


@pytest.mark.parametrize("spec", OPTIMISERS, ids=lambda s: type(s).__name__)
def test_rows_are_scored_once_and_excluded_ones_not_returned(spec: Optimiser) -> None:
    toy = toys.problem()
    seen: list[bytes] = []

    def score(pop: np.ndarray) -> np.ndarray:
        seen.extend(toy.space.keys(pop))
        return toys.score(toy, pop)

    first, _ = spec.begin(toy.space, np.random.default_rng(1)).maximise(score, 8)
    assert len(seen) == len(set(seen))
    seen.clear()
    known = set(toy.space.keys(first))
    again, _ = spec.begin(toy.space, np.random.default_rng(1)).maximise(
        score, 8, exclude=known, seeds=first
    )
    assert len(seen) == len(set(seen))
    assert len(again) == 8
    assert not known & set(toy.space.keys(again))


def test_the_population_stays_between_score_functions() -> None:
    toy = toys.problem()
    climber = Evolution(population=64, generations=4).begin(toy.space, np.random.default_rng(0))
    found = [climber.maximise(lambda pop: toys.score(toy, pop), 1)[1][0] for _ in range(6)]
    assert found == sorted(found)
    assert found[-1] > found[0]


def test_no_generations_and_no_finite_scores_are_survived() -> None:
    toy = toys.problem()
    climber = Evolution(generations=0).begin(toy.space, np.random.default_rng(0))
    assert len(climber.maximise(lambda pop: toys.score(toy, pop), 5)[0]) == 5
    climber = Evolution().begin(toy.space, np.random.default_rng(0))
    rows, scores = climber.maximise(lambda pop: np.full(len(pop), np.nan), 5)
    assert len(rows) == 5
    assert np.isneginf(scores).all()


@pytest.mark.parametrize(
    "settings",
    [{"population": 1}, {"generations": -1}, {"crossover": 2}, {"mutation": -1}, {"patience": 0}],
)
def test_settings_that_cannot_be(settings: dict[str, float]) -> None:
    with pytest.raises(ArgumentError, match=rf"Evolution\({next(iter(settings))}="):
        Evolution(**settings)  # type: ignore[arg-type]
