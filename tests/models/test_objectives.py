"""Gradients and Hessians against finite differences, the loss against the paper's formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.models import Training
from tilewright.models.objectives import Objective, Rank, Regression


def _data(n: int, seed: int, ties: bool = True) -> Training:
    rng = np.random.default_rng(seed)
    y = np.round(rng.standard_normal(n), 1) if ties else rng.standard_normal(n)
    return Training.of(np.zeros((n, 1)), y, rng.integers(0, 3, n), weight=rng.uniform(0.5, 2, n))


def _equation_2(data: Training, f: np.ndarray) -> float:
    """The sum over unordered pairs i, j of a group, written as the paper does."""
    total = 0.0
    for rows in data.members():
        y, g, w = data.y[rows], f[rows], data.weight[rows]
        sign = np.sign(y[:, None] - y[None, :])
        cost = np.logaddexp(0, -sign * (g[:, None] - g[None, :]))
        pairs = (sign != 0) * w[:, None] * w[None, :] * cost
        total += pairs.sum() / 2 * (2 / w.sum())
    return total


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 40), seed=st.integers(0, 1000))
def test_rank_loss_is_equation_2(n: int, seed: int) -> None:
    data = _data(n, seed)
    f = np.random.default_rng(seed + 1).standard_normal(n)
    assert Rank(data).loss(f) == pytest.approx(_equation_2(data, f), rel=1e-5)


@pytest.mark.parametrize("make", [Rank, Regression])
@pytest.mark.parametrize("n", [2, 17, 600])  # 600 rows need more than one block
def test_derivatives_agree_with_finite_differences(make: type[Rank | Regression], n: int) -> None:
    data = _data(n, seed=n)
    objective: Objective = make(data)
    f = np.random.default_rng(0).standard_normal(n)
    gradient, hessian = objective.derivatives(f)
    for i in range(0, n, max(1, n // 7)):
        step = np.zeros(n)
        step[i] = 1e-3
        below, at, above = (objective.loss(f + s * step) for s in (-1, 0, 1))
        assert gradient[i] == pytest.approx((above - below) / 2e-3, rel=1e-3, abs=1e-4)
        assert hessian[i] == pytest.approx((above - 2 * at + below) / 1e-6, rel=1e-2, abs=1e-3)


def test_rank_does_not_depend_on_scale_order_of_rows_or_other_groups() -> None:
    data = _data(60, seed=1, ties=False)
    f = np.random.default_rng(0).standard_normal(60)
    gradient, _ = Rank(data).derivatives(f)
    scaled = Training.of(data.X, np.exp(3 * data.y), data.group, weight=data.weight)
    assert Rank(scaled).derivatives(f)[0] == pytest.approx(gradient)
    order = np.random.default_rng(2).permutation(60)
    shuffled = Training.of(data.X, data.y[order], data.group[order], weight=data.weight[order])
    assert Rank(shuffled).derivatives(f[order])[0] == pytest.approx(gradient[order], abs=1e-5)
    lifted = Training.of(data.X, data.y + 100 * data.group, data.group, weight=data.weight)
    assert Rank(lifted).derivatives(f)[0] == pytest.approx(gradient)


def test_rank_bears_far_predictions() -> None:
    data = Training.of(np.zeros((3, 1)), [1.0, 2.0, 3.0])
    gradient, hessian = Rank(data).derivatives(np.array([1e4, 0.0, -1e4]))
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()
    assert gradient[0] > 0 > gradient[2]


def test_objectives_are_false_when_there_is_nothing_to_learn() -> None:
    for make in (Rank, Regression):
        for y, group in (([], []), ([1.0], [0]), ([2.0, 2.0], [0, 0]), ([1.0, 2.0], [0, 1])):
            assert not make(Training.of(np.zeros((len(y), 1)), y, group))
        assert make(Training.of(np.zeros((2, 1)), [1.0, 2.0]))
        assert not make(Training.of(np.zeros((2, 1)), [1.0, 2.0], weight=0.0))
