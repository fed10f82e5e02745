"""Relative: what holds of many tasks is learnt, however large each of them is."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.errors import ArgumentError, ModelError
from tilewright.models import Boosted, Predictor, Training
from tilewright.models.quality import pairwise_accuracy
from tilewright.models.relative import Relative, among

BOOSTED = Boosted(rounds=30)


def _tasks(seed: int, tasks: int = 12, rows: int = 20) -> Training:
    """Return tasks of very different sizes: fewer than usual of the first is always better."""
    rng = np.random.default_rng(seed)
    size = np.repeat(rng.uniform(0, 100, tasks), rows)
    X = rng.standard_normal((tasks * rows, 2)).astype(np.float32)
    return Training.of(X + size[:, None], -X[:, 0], np.repeat(np.arange(tasks), rows))


def _accuracy(predictor: Predictor, data: Training) -> float:
    return float(
        np.mean(
            [pairwise_accuracy(predictor.predict(data.X[r]), data.y[r]) for r in data.members()]
        )
    )


def test_it_ranks_tasks_of_sizes_that_it_never_saw() -> None:
    seen, new = _tasks(0), _tasks(1)
    assert _accuracy(Relative(BOOSTED).fit(seen), new) > 0.9
    assert _accuracy(BOOSTED.fit(seen), new) < 0.8


def test_rows_are_compared_with_their_company_or_with_those_it_was_told() -> None:
    fitted, X = Relative(BOOSTED).fit(_tasks(0)), _tasks(1, tasks=1).X
    settled = among(fitted, X)
    np.testing.assert_array_equal(settled.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(settled.predict(X[:3]), settled.predict(X)[:3])
    assert among(fitted, X[:0]) is fitted
    assert len(fitted.predict(X[:0])) == 0


def test_what_compares_nothing_stays_as_it_is() -> None:
    plain = BOOSTED.fit(_tasks(0))
    assert among(plain, _tasks(1).X) is plain


def test_other_features_and_no_model_are_refused() -> None:
    fitted = Relative(BOOSTED).fit(_tasks(0))
    with pytest.raises(ModelError, match="cannot predict from 3 features: this model was fitted"):
        fitted.predict(np.zeros((4, 3), np.float32))
    with pytest.raises(ArgumentError, match="base is a cost model"):
        Relative(5)  # type: ignore[arg-type]
