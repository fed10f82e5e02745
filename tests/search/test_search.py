"""Every search against the conformance suite, and against recorded measurements."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.models import Boosted, Ensemble, Transfer
from tilewright.search import Annealing, Evolution, Genetic, Grid, Guided, RandomSearch, Search
from tilewright.search.history import History, without_failures
from tilewright.testing import SearchSuite, toys
from tilewright.testing.recorded import read_table

DATA = Path(__file__).parents[2] / "experiments" / "data"
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


class TestGuidedByEvolution(SearchSuite):
    beats_random = True
    make = partial(Guided, optimiser=Evolution())


class TestGuidedByEnsemble(SearchSuite):
    beats_random = True
    make = partial(
        Guided, Ensemble(Boosted(rounds=25), members=3, acquisition="ei"), Annealing(chains=128)
    )


class TestGuidedByTransferOfNothing(SearchSuite):
    beats_random = True
    make = partial(Guided, Transfer(), Annealing(chains=128))


class TestSpreadGrid(SearchSuite):
    make = partial(Grid, spread=True)


class TestGrid(SearchSuite):
    make = Grid
    seeded = False

    def test_finds_good_candidates_and_learns_where_they_are(self) -> None:
        """It finds what stands first: rows come in the order of their numbers."""
        toy = toys.problem()
        rows = np.concatenate([self.start(toy).ask(300)])
        numbers = [toy.space.index(row) for row in rows]
        assert numbers == sorted(numbers)
        between = toy.space.rows(np.arange(numbers[-1] + 1))
        assert len(rows) == toy.space.valid(between).sum()


def _share_of_best(search: Search, path: Path, seed: int, trials: int) -> float:
    """Return the speed of the best of `trials` candidates by that of the best there is."""
    recorded = read_table(path)
    searcher = search.start(recorded.problem, np.random.default_rng(seed))
    return float(2.0 ** (recorded.run(searcher, trials)[-1] - recorded.best))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name.split(".")[0])
def test_guided_beats_random_on_recorded_measurements(path: Path) -> None:
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
