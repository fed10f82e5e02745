"""Ensembles against the suite of cost models, and what their acquisitions are for."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.models import Boosted, Ensemble, Training
from tilewright.models.ensemble import Members, _log_gain  # pyright: ignore[reportPrivateUsage]
from tilewright.models.quality import pairwise_accuracy
from tilewright.testing import CostModelSuite

SMALL = partial(Ensemble, Boosted(rounds=40), members=4)


class TestMean(CostModelSuite):
    make = SMALL


class TestUpperBound(CostModelSuite):
    make = partial(SMALL, acquisition="ucb")


class TestExpectedImprovement(CostModelSuite):
    make = partial(SMALL, acquisition="ei")


class TestOfRegressions(CostModelSuite):
    make = partial(Ensemble, Boosted("regression", rounds=40), members=3)


def _line(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of x, known between -1 and 0 only."""
    x = np.random.default_rng(seed).uniform(-1, 0, (n, 1)).astype(np.float32)
    return x, x[:, 0].astype(np.float64)


def test_members_differ_and_the_seed_decides_how() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (60, 3)).astype(np.float32)
    data = Training.of(X, X.sum(axis=1))
    one, same, other = (Ensemble(members=3, seed=s).fit(data) for s in (0, 0, 1))
    assert isinstance(one, Members)
    assert one == same != other
    scores = [member.predict(X) for member in one.members]
    assert not np.array_equal(scores[0], scores[1])
    mean, deviation = one.moments(X)
    assert np.array_equal(one.predict(X), mean)
    assert (deviation > 0).mean() > 0.9


def test_the_bound_is_the_mean_and_so_many_deviations() -> None:
    x, y = _line(50, 0)
    fits = [Ensemble(members=4, acquisition="ucb", kappa=k).fit(Training.of(x, y)) for k in (0, 2)]
    assert isinstance(fits[0], Members)
    mean, deviation = fits[0].moments(x)
    assert fits[1].predict(x) == pytest.approx(mean + 2 * deviation)
    assert fits[0].predict(x) == pytest.approx(mean)


def test_rows_of_each_group_are_drawn_from_it() -> None:
    """A group of one row keeps it in every member; others lose about a third of theirs."""
    seen: list[Training] = []

    class Spy:
        def fit(self, data: Training, previous: object = None) -> Spy:  # noqa: ARG002
            seen.append(data)
            return self

        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.zeros(len(X))

    group = np.array([7] + [3] * 100)
    Ensemble(Spy(), members=5).fit(Training.of(np.arange(101.0)[:, None], np.arange(101.0), group))
    assert len(seen) == 5
    for data in seen:
        assert (data.group == 7).sum() == 1
        assert data.y[data.group == 7] == [0.0]
        assert 50 < len(np.unique(data.y)) < 80


def test_improvement_is_its_formula_and_bears_hopeless_rows() -> None:
    z = np.array([-30.0, -8.0, -5.0, -1.0, 0.0, 3.0])
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in z])
    exact = np.log(np.maximum(density + z * below, 1e-300))
    assert _log_gain(z)[2:] == pytest.approx(exact[2:], abs=1e-2)
    assert np.isfinite(_log_gain(z)).all()
    assert (np.diff(_log_gain(np.linspace(-40, 6, 2000))) > 0).all(), "it never turns"


def test_improvement_prefers_what_is_unsure_among_equals() -> None:
    class Fixed:
        def __init__(self, sign: float) -> None:
            self.sign = sign

        def predict(self, X: np.ndarray) -> np.ndarray:
            return self.sign * X[:, 0].astype(np.float64)

    pair = Members((Fixed(1.0), Fixed(-1.0)), (0.0, 0.0), "ei", 1.0, best=1.0, spread=1.0)
    sure, unsure, wild = pair.predict(np.array([[0.0], [1.0], [2.0]], np.float32))
    assert sure < unsure < wild


def test_improvement_ranks_as_the_mean_does_where_members_agree() -> None:
    rng = np.random.default_rng(0)
    X, new = (rng.uniform(-1, 1, (256, 4)).astype(np.float32) for _ in range(2))
    fitted = SMALL(acquisition="ei").fit(Training.of(X, X[:, 0] + X[:, 1]))
    assert pairwise_accuracy(fitted.predict(new), new[:, 0] + new[:, 1]) > 0.8


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"members": 0}, "members"),
        ({"acquisition": "max"}, "acquisition"),
        ({"kappa": -1}, "kappa"),
        ({"kappa": math.nan}, "kappa"),
        ({"kappa": "1"}, "kappa"),
        ({"members": 1.5}, "members"),
        ({"members": True}, "members"),
        ({"seed": -1}, "seed"),
        ({"base": 5}, "base"),
        ({"base": Boosted}, "base"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, object], name: str) -> None:
    with pytest.raises(ArgumentError, match=rf"Ensemble\({name}="):
        Ensemble(**settings)  # type: ignore[arg-type]
