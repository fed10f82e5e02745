import numpy as np

from tilewright.search import Annealing
from tilewright.space import Space
from tilewright.testing import toys


def _score(rows: np.ndarray) -> np.ndarray:
    return toys.score(toys.problem(), rows)


def test_finds_the_best_rows_and_scores_each_once() -> None:
    space = toys.problem().space
    met: list[bytes] = []

    def score(rows: np.ndarray) -> np.ndarray:
        met.extend(space.keys(rows))
        return _score(rows)

    chains = Annealing(chains=128, steps=100).begin(space, np.random.default_rng(0))
    rows, scores = chains.maximise(score, 16)
    assert len(met) == len(set(met))
    assert scores[0] == 0
    assert (np.diff(scores) <= 0).all()
    assert np.array_equal(_score(rows), scores)
    assert len(set(space.keys(rows))) == 16
    everything = _score(space.sample(np.random.default_rng(0), space.size))
    assert scores.mean() >= np.sort(everything)[-40]


def test_excluded_rows_are_walked_on_and_not_returned() -> None:
    space = toys.problem().space
    chains = Annealing(chains=64).begin(space, np.random.default_rng(0))
    first, _ = chains.maximise(_score, 8)
    second, _ = chains.maximise(_score, 8, exclude=set(space.keys(first)))
    assert not set(space.keys(first)) & set(space.keys(second))


def test_chains_persist_when_the_score_changes() -> None:
    space = toys.problem().space
    spec = Annealing(chains=64, steps=40)
    chains = spec.begin(space, np.random.default_rng(0))
    chains.maximise(_score, 8)
    starts: list[float] = []

    def spy(rows: np.ndarray) -> np.ndarray:
        scores = _score(rows)
        starts.append(float(np.median(scores)))
        return scores

    chains.maximise(spy, 8)
    fresh = _score(space.sample(np.random.default_rng(3), 64))
    assert starts[0] > np.quantile(fresh, 0.9)


def test_seeds_take_the_worst_places() -> None:
    space = toys.problem().space
    good, _ = Annealing().begin(space, np.random.default_rng(0)).maximise(_score, 4)
    still = Annealing(chains=16, steps=0).begin(space, np.random.default_rng(1))
    rows, scores = still.maximise(_score, 1, seeds=good)
    assert np.array_equal(rows[0], good[0])
    assert scores[0] == 0


def test_ends_early_when_nothing_gets_better() -> None:
    space = toys.problem().space
    calls = [0]

    def flat(rows: np.ndarray) -> np.ndarray:
        calls[0] += 1
        return np.zeros(len(rows))

    Annealing(chains=32, steps=1000, patience=3).begin(space, np.random.default_rng(0)).maximise(
        flat, 4
    )
    assert calls[0] < 20


def test_an_empty_space_and_scores_that_are_no_numbers() -> None:
    empty = Space.declare(lambda knob: knob.require(knob.size("size", [1, 2]) > 2))
    rows, scores = Annealing().begin(empty, np.random.default_rng(0)).maximise(_score, 4)
    assert (rows.shape, scores.shape) == ((0, 1), (0,))
    space = toys.problem().space
    chains = Annealing(chains=16, steps=4).begin(space, np.random.default_rng(0))
    _, scores = chains.maximise(lambda rows: np.full(len(rows), np.nan), 4)
    assert (scores == -np.inf).all()
