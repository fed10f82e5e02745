from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.models import Predictor, Training
from tilewright.search import Annealing, Guided
from tilewright.space.space import Population
from tilewright.testing import toys


@dataclass(frozen=True)
class Fixed:
    """Predicts a function of the features and learns nothing."""

    sign: float

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:  # noqa: ARG002
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        distance = (X[:, 1] - 2) ** 2 + (X[:, 2] - 2) ** 2 + (X[:, 5] - 3) ** 2
        return self.sign * (-distance - 0.5 * (X[:, 6] - 4) ** 2).astype(np.float64)


def _run(spec: Guided, batches: int = 4, size: int = 32):
    toy = toys.problem()
    searcher = spec.start(toy, np.random.default_rng(0))
    medians: list[float] = []
    for _ in range(batches):
        rows = searcher.ask(size)
        scores = toys.score(toy, rows)
        searcher.tell(rows, scores)
        medians.append(float(np.median(scores)))
    return searcher, medians


def test_a_good_model_is_followed_and_its_quality_shown() -> None:
    searcher, medians = _run(Guided(Fixed(1.0), Annealing(chains=128)))
    assert [q.followed for q in searcher.quality] == [True, True]
    assert all(q.rows == 32 and q.accuracy > 0.8 for q in searcher.quality)
    assert medians[1] > medians[0] + 2


def test_a_wrong_model_and_one_that_says_nothing_are_not_followed() -> None:
    for sign in (-1.0, 0.0):
        searcher, medians = _run(Guided(Fixed(sign), Annealing(chains=128)), batches=5)
        assert [q.followed for q in searcher.quality] == [False] * 3
        assert min(medians[2:]) > medians[0] - 8, "later batches are as good as random"


def test_epsilon_one_is_random_and_epsilon_zero_is_all_the_model_s() -> None:
    _, blind = _run(Guided(Fixed(1.0), Annealing(chains=128), epsilon=1.0))
    _, led = _run(Guided(Fixed(1.0), Annealing(chains=128), epsilon=0.0))
    assert min(led[1:]) > max(blind)


def test_failures_are_learnt_as_the_worst() -> None:
    searcher, _ = _run(Guided(), batches=3)
    toy = toys.problem()
    rows = searcher.ask(32)
    assert np.isinf(toys.score(toy, rows)).mean() < 0.2, "a fifth of the space fails"


def _odd_ones(rows: NDArray[np.float32]) -> NDArray[np.bool_]:
    """A third of all rows, the best among them."""
    return np.abs(rows[:, 2] - 2) + np.abs(rows[:, 5] - 3) < 2


@pytest.mark.parametrize("every", [False, True], ids=["some rows", "all rows"])
def test_rows_without_features_are_never_proposed_by_a_model(every: bool) -> None:
    """They cannot be scheduled: they score -inf, are not learnt from, and random draws may try."""
    toy = toys.problem()

    def extract(rows: Population) -> NDArray[np.float32]:
        features = toy.extract(rows)
        features[_odd_ones(features) | every] = np.nan
        return features

    spec = Guided(Fixed(1.0), Annealing(chains=128), epsilon=0.0)
    searcher = spec.start(replace(toy, extract=extract), np.random.default_rng(0))
    for batch in range(4):
        rows = searcher.ask(32)
        bad = np.isnan(extract(rows)).any(axis=1)
        assert len(rows) == 32
        assert batch == 0 or every or not bad.any()
        searcher.tell(rows, np.where(bad, -np.inf, toys.score(toy, rows)))
    assert all(q.rows == 32 - 32 * every or q.rows < 32 for q in searcher.quality)


def test_the_first_batch_is_half_what_the_prior_ranks_high() -> None:
    toy = toys.problem()
    problem = replace(toy, prior=lambda rows: toys.score(toy, rows))
    informed, blind = (
        np.sort(toys.score(toy, Guided().start(p, np.random.default_rng(3)).ask(32)))
        for p in (problem, toy)
    )
    sampled = toys.score(toy, toy.space.sample(np.random.default_rng(4), 2000))
    good = np.quantile(sampled, 0.9)
    assert (informed > good).sum() >= 12, "of the 16 that the prior chose"
    assert (informed < np.median(sampled)).sum() >= 4, "and some that it did not"
    assert (blind > good).sum() < 12
