"""Every search against the conformance suite, and against recorded measurements."""

from functools import partial

import numpy as np
import pytest
from tests.search.recorded import DATA, load

from tilewright.errors import ArgumentError
from tilewright.models import Boosted
from tilewright.search import Genetic, Guided, RandomSearch, Search
from tilewright.search.history import History, without_failures
from tilewright.testing import SearchSuite, toys

RECORDED = sorted(DATA.glob("gemm_*.csv.gz"))


class TestRandom(SearchSuite):
    make = RandomSearch


class TestGenetic(SearchSuite):
    beats_random = True
    make = partial(Genetic, population=24)


class TestGuidedByRank(SearchSuite):
    make = Guided
    beats_random = True


class TestGuidedByRegression(SearchSuite):
    beats_random = True
    make = partial(Guided, Boosted("regression", rounds=50))


def _share_of_best(search: Search, path: object, seed: int, trials: int) -> float:
    """Return the speed of the best of `trials` candidates by that of the best there is."""
    problem, measure, best = load(path)  # type: ignore[arg-type]
    searcher = search.start(problem, np.random.default_rng(seed))
    found = -np.inf
    for _ in range(trials // 32):
        rows = searcher.ask(32)
        scores = measure(rows)
        searcher.tell(rows, scores)
        found = max(found, scores.max())
    return float(np.exp(found - best))


@pytest.mark.skipif(not RECORDED, reason="the recorded data is not beside this checkout")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.split(".")[0])
def test_guided_beats_random_on_recorded_measurements(path: object) -> None:
    guided, blind = (
        np.mean([_share_of_best(search, path, seed, trials=160) for seed in range(3)])
        for search in (Guided(), RandomSearch())
    )
    assert guided > blind
    assert guided > 0.93


def test_history_keeps_the_last_score_and_counts_nan_as_failed() -> None:
    toy = toys.problem()
    history = History(toy.space)
    rows = toy.space.sample(np.random.default_rng(0), 3)
    history.tell(rows, np.array([1.0, np.nan, -np.inf]))
    history.tell(rows[:1], np.array([2.0]))
    assert np.array_equal(history.rows, rows)
    assert history.scores.tolist() == [2.0, -np.inf, -np.inf]
    assert np.array_equal(history.best(5), rows[:1])
    with pytest.raises(ArgumentError, match="cannot tell 1 scores of rows of shape"):
        history.tell(rows, np.zeros(1))


def test_failures_are_worse_than_the_worst() -> None:
    assert without_failures(np.array([1.0, -np.inf, 2.0])).tolist() == [1.0, 0.9, 2.0]
    assert without_failures(np.array([1.0, -np.inf])).tolist() == [1.0, 0.0]
    assert without_failures(np.full(2, -np.inf)).tolist() == [0.0, 0.0]
