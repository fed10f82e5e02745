"""The spread of repeats is used: noisy rows count less, and near ties are timed again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.tuning.toys import Toy, by_text

from tilewright.measure.build import Request
from tilewright.models import Boosted, Predictor, Training
from tilewright.ops.dense import Dense
from tilewright.records import Failed, Measured, Outcome
from tilewright.records.store import Records
from tilewright.search import Annealing, Guided, RandomSearch
from tilewright.tuning.finalists import FINALISTS, NEAR, ROUNDS
from tilewright.tuning.task import Task
from tilewright.tuning.tune import tune
from tilewright.tuning.weights import HALF, weight

MATMUL = Dense(32, 48, 40)


def test_noise_is_the_error_of_the_median_as_a_share_of_it() -> None:
    assert Measured((1.0, 1.0, 1.0)).noise == 0
    assert math.isnan(Measured((1.0,)).noise)
    steady, shaky = Measured((1.0, 1.01, 0.99)), Measured((1.0, 1.5, 0.5))
    assert shaky.noise == pytest.approx(50 * steady.noise)
    assert Measured((1.0, 1.01, 0.99, 50.0, 1.0)).noise < 2 * steady.noise, "one was disturbed"
    rng = np.random.default_rng(0)
    times = 1 + 0.1 * rng.standard_normal((2000, 9))
    off = np.median(times, axis=1).std()
    assert np.mean([Measured(tuple(t)).noise for t in times.tolist()]) == pytest.approx(
        off, rel=0.2
    )
    scaled = [Measured(tuple(factor * s for s in (1.0, 1.1, 1.3))).noise for factor in (1e-6, 1e3)]
    assert scaled[0] == pytest.approx(scaled[1])


def test_weights_fall_with_noise_and_failures_are_certain() -> None:
    assert weight(Measured((1.0, 1.0))) == 1
    assert weight(Measured((1.0,))) == weight(Failed("run", "crash")) == 1
    noisy = Measured((1.0, 1.2, 0.8))
    assert weight(noisy) == pytest.approx(1 / (1 + (noisy.noise / HALF) ** 2))
    assert 0.1 < weight(noisy) < 0.5
    assert 0 < weight(Measured((1.0, 5.0, 3.0))) < weight(noisy)


@dataclass(frozen=True)
class Spy:
    """Keeps what the model is given."""

    seen: list[Training] = field(default_factory=list[Training])

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        self.seen.append(data)
        return Boosted(rounds=5).fit(data, previous)


def _shaky(request: Request) -> Outcome:
    """Every third candidate, by its text, is measured badly."""
    outcome = by_text(request)
    assert isinstance(outcome, Measured)
    t = outcome.median
    bad = int(t * 1e9) % 3 == 0
    return Measured((0.7 * t, t, 1.3 * t)) if bad else Measured((t, t, t))


def test_the_model_learns_noisy_trials_with_less_weight_and_after_a_restart_too() -> None:
    spy = Spy()
    search = Guided(spy, Annealing(chains=32, steps=4))  # type: ignore[arg-type]
    with Records(":memory:") as records:
        task = Task(MATMUL)
        tune(task, trials=24, records=records, search=search, measure=Toy(_shaky), batch=8)
        given = spy.seen[-1].weight
        assert len(given) == 16
        assert set(np.round(given, 6)) == {1.0, round(weight(Measured((0.7, 1.0, 1.3))), 6)}
        tune(task, trials=8, records=records, search=search, measure=Toy(_shaky), batch=8)
        assert len(spy.seen[-1].weight) == 24, "before the last batch"
        assert spy.seen[-1].weight.min() < 0.5


def test_near_ties_are_timed_again_before_a_winner_is_named() -> None:
    """One was lucky at first; of the near ones, all timed again, the truly fastest wins."""
    met: dict[str, int] = {}
    truth: dict[str, float] = {}

    def lucky(request: Request) -> Outcome:
        text = str(request.nest)
        met[text] = met.get(text, 0) + 1
        place = truth.setdefault(text, 1e-3 * (1 + 0.01 * len(truth)))
        luck = 0.95 if met[text] == 1 and place == truth_of(2) else 1.0
        return Measured((luck * place,) * 3)

    def truth_of(n: int) -> float:
        return 1e-3 * (1 + 0.01 * n)

    with Records(":memory:") as records:
        task = Task(MATMUL)
        toy = Toy(lucky)
        result = tune(task, trials=12, records=records, search=RandomSearch(), measure=toy, batch=4)
        assert toy.measured == 12 + FINALISTS * ROUNDS
        again = [text for text, count in met.items() if count == 1 + ROUNDS]
        assert sorted(truth[text] for text in again) == [truth_of(n) for n in (0, 1, 2)]
        assert truth[str(result.best.loops)] == truth_of(0)
        kept = [len(t.outcome.seconds) for t in records.trials(task.key, task.where)
                if isinstance(t.outcome, Measured)]  # fmt: skip
        assert sorted(kept)[-FINALISTS:] == [3 * (1 + ROUNDS)] * FINALISTS


def test_what_is_far_behind_is_not_timed_again() -> None:
    def apart(request: Request) -> Outcome:
        place = places.setdefault(str(request.nest), len(places))
        return Measured((1e-3 * (NEAR + 0.05) ** place,))

    places: dict[str, int] = {}
    toy = Toy(apart)
    tune(Task(MATMUL), trials=8, search=RandomSearch(), measure=toy, batch=4)
    assert toy.measured == 8
