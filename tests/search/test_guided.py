from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tilewright.models import Boosted, Predictor, Training, Transfer
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


TOY = toys.problem()
RANDOM = float(np.median(toys.score(TOY, TOY.space.sample(np.random.default_rng(1), 2000))))


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
    assert [q.followed for q in searcher.quality] == [True] * 3
    assert all(q.rows == 32 and q.accuracy > 0.7 for q in searcher.quality)
    assert min(medians[1:]) > RANDOM + 2


def test_a_wrong_model_and_one_that_says_nothing_are_not_followed() -> None:
    for sign, judged in (-1.0, 4), (0.0, 3):
        searcher, medians = _run(Guided(Fixed(sign), Annealing(chains=128)), batches=5)
        assert [q.followed for q in searcher.quality] == [False] * judged
        assert min(medians[2:]) > RANDOM - 8, "later batches are as good as random"


def test_a_model_that_knows_something_leads_the_first_batch_but_for_a_quarter() -> None:
    """Transfer's source is followed at once, and dropped at once where it misleads."""
    toy = toys.problem()
    for sign in (1.0, -1.0):
        spec = Guided(Transfer(source=Fixed(sign)), Annealing(chains=128))
        searcher = spec.start(toy, np.random.default_rng(0))
        first = searcher.ask(32)
        scores = toys.score(toy, first)
        assert (np.mean(scores > RANDOM) > 0.75) == (sign > 0)
        searcher.tell(first, scores)
        second = toys.score(toy, searcher.ask(32))
        assert [q.followed for q in searcher.quality] == [sign > 0]
        assert (np.median(second) > RANDOM + 2) == (sign > 0)


def test_weights_go_with_what_is_learnt() -> None:
    """What the problem says of a row's noise is the weight of the row that the model gets."""
    toy = toys.problem()
    seen: list[Training] = []

    @dataclass(frozen=True)
    class Spy(Fixed):
        def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:  # noqa: ARG002
            seen.append(data)
            return self

    problem = replace(toy, weigh=lambda rows: 1 / (1 + rows[:, 0].astype(float)))
    searcher = Guided(Spy(0.0)).start(problem, np.random.default_rng(0))
    rows = searcher.ask(16)
    searcher.tell(rows, toys.score(toy, rows))
    searcher.ask(16)
    assert np.array_equal(seen[-1].weight, 1 / (1 + rows[:, 0].astype(float)))


def test_rows_of_little_weight_do_not_lead_astray() -> None:
    """A fifth of the scores is nonsense, and said to be: the search does as if it was not told."""

    toy = toys.problem()

    def last(weighed: bool) -> float:
        found: list[float] = []
        for seed in range(3):
            rng, liars = np.random.default_rng(seed), set[bytes]()

            def weigh(rows: Population, liars: set[bytes] = liars) -> NDArray[np.float64]:
                return np.array([key not in liars for key in toy.space.keys(rows)], float)

            problem = replace(toy, weigh=weigh if weighed else None)
            searcher = Guided(optimiser=Annealing(chains=128)).start(problem, rng)
            for _ in range(3):
                rows = searcher.ask(32)
                scores = toys.score(toy, rows)
                lies = np.random.default_rng(seed + 9).random(len(rows)) < 0.4
                liars.update(np.array(toy.space.keys(rows), object)[lies])
                searcher.tell(
                    rows, np.where(lies, np.random.default_rng(1).uniform(-60, 0, 32), scores)
                )
            found.append(float(np.median(toys.score(toy, searcher.ask(32)))))
        return float(np.median(found))

    assert last(weighed=True) > last(weighed=False)


def _too_long(log: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bodies of much code time out; until then more is better: the best stand beside failures."""
    written = log[:, 2] + log[:, 5] + log[:, 6]
    return np.where(written > 8.5, -np.inf, written - 0.5 * np.abs(log[:, 1] - 2))


def _too_wide(log: NDArray[np.float64]) -> NDArray[np.float64]:
    """What fails has nothing to do with what is good."""
    distance = (log[:, 1] - 2) ** 2 + (log[:, 2] - 2) ** 2 + (log[:, 5] - 3) ** 2
    return np.where(log[:, 6] + log[:, 4] > 6.5, -np.inf, -distance)


@pytest.mark.parametrize("model", [Boosted(), Boosted("regression")], ids=["rank", "regression"])
@pytest.mark.parametrize(("outcome", "share"), [(_too_long, 0.7), (_too_wide, 0.3)])
def test_failures_are_avoided(
    model: Boosted, outcome: Callable[[NDArray[np.float64]], NDArray[np.float64]], share: float
) -> None:
    """About a third of the space fails: after three batches much less of what is proposed does."""
    toy = toys.problem()
    rows = toy.space.sample(np.random.default_rng(5), 4000)
    blind = float(np.isinf(outcome(toy.extract(rows).astype(float))).mean())
    assert 0.28 < blind < 0.4
    failed: list[float] = []
    for seed in range(2):
        spec = Guided(model, Annealing(chains=64))
        searcher = spec.start(toy, np.random.default_rng(seed))
        for batch in range(6):
            rows = searcher.ask(32)
            scores = outcome(toy.extract(rows).astype(float))
            searcher.tell(rows, scores)
            if batch >= 3:
                failed.append(float(np.isinf(scores).mean()))
    assert np.mean(failed) < share * blind, failed


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
