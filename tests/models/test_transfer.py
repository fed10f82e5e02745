"""Transfer: right from nothing, no worse than the local model where the source misleads."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tilewright.errors import ArgumentError
from tilewright.models import Boosted, Ensemble, Predictor, Pretrained, Training, Transfer
from tilewright.models.quality import pairwise_accuracy
from tilewright.models.transfer import Sum
from tilewright.testing import CostModelSuite


def _rows(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, 6)).astype(np.float32)


def _known(X: np.ndarray) -> np.ndarray:
    """What all tasks have in common."""
    return (2 * X[:, 1] + X[:, 2]).astype(np.float64)


def _task(X: np.ndarray) -> np.ndarray:
    """The scores of this task."""
    return _known(X) + np.where(X[:, 5] > 0, 1.0, -1.0) * X[:, 4]


def _source(sign: float = 1.0, scale: float = 1.0, objective: str = "rank") -> Predictor:
    """Fit to three other tasks, which differ in level and spread."""
    X = np.concatenate([_rows(150, seed) for seed in (10, 11, 12)])
    group = np.repeat([0, 1, 2], 150)
    y = sign * scale * (1 + group) * _known(X) + 100 * group
    return Boosted(objective).fit(Training.of(X, y, group))  # type: ignore[arg-type]


class TestWithoutSource(CostModelSuite):
    make = Transfer


class TestOfARegression(CostModelSuite):
    make = partial(Transfer, Boosted("regression"))


SOURCE = Boosted(rounds=30).fit(Training.of(_rows(100, 9), _known(_rows(100, 9))))


class TestWithSource(CostModelSuite):
    make = partial(Transfer, Boosted(), SOURCE)

    def test_survives_no_rows_one_row_and_equal_scores(self) -> None:
        """Where nothing is known here, the source orders everything."""
        new = _rows(20, 1)
        for rows in (0, 1, 40):
            fitted = self.fit(Training.of(_rows(rows, 0), np.full(rows, 2.0)))
            assert pairwise_accuracy(fitted.predict(new), SOURCE.predict(new)) == 1.0


@pytest.mark.parametrize("objective", ["rank", "regression"])
@pytest.mark.parametrize("other", ["rank", "regression"])
def test_a_good_source_saves_measurements(objective: str, other: str) -> None:
    """With a few rows it beats the local model alone, whatever loss either was fitted by."""
    local = Boosted(objective)  # type: ignore[arg-type]
    X, new = _rows(24, 0), _rows(400, 1)
    data = Training.of(X, _task(X))
    alone, both = local.fit(data), Transfer(local, _source(objective=other)).fit(data)
    found = [pairwise_accuracy(f.predict(new), _task(new)) for f in (alone, both)]
    assert found[1] > found[0] + 0.03


def test_with_many_rows_the_local_model_adds_what_the_source_does_not_know() -> None:
    X, new = _rows(600, 0), _rows(400, 1)
    source = _source()
    fitted = Transfer(source=source).fit(Training.of(X, _task(X)))
    alone = pairwise_accuracy(source.predict(new), _task(new))
    assert pairwise_accuracy(fitted.predict(new), _task(new)) > alone + 0.04


def test_the_scale_of_the_source_does_not_matter() -> None:
    class Scaled:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def predict(self, X: np.ndarray) -> np.ndarray:
            return self.scale * _known(X) + 1e3 * self.scale

    X, new = _rows(40, 0), _rows(100, 1)
    data = Training.of(X, _task(X))
    one, other = (Transfer(source=Scaled(s)).fit(data).predict(new) for s in (1e-3, 1e3))
    assert one == pytest.approx(other, rel=1e-3, abs=1e-3)


def test_a_source_that_misleads_is_left_out() -> None:
    X, new = _rows(64, 0), _rows(400, 1)
    data = Training.of(X, _task(X))
    fitted = Transfer(source=_source(sign=-1.0)).fit(data)
    assert isinstance(fitted, Sum)
    assert fitted.worth == 0.0
    assert np.array_equal(fitted.predict(new), Boosted().fit(data).predict(new))


def test_a_source_without_a_number_for_a_row_is_no_obstacle() -> None:
    class Holes:
        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.where(X[:, 0] > 0.8, np.nan, _known(X))

    X = _rows(64, 0)
    predicted = Transfer(source=Holes()).fit(Training.of(X, _task(X))).predict(_rows(50, 1))
    assert np.isfinite(predicted).all()


def test_an_ensemble_of_transfers() -> None:
    X, new = _rows(24, 0), _rows(400, 1)
    spec = Ensemble(Transfer(source=_source()), members=3, acquisition="ei")
    found = spec.fit(Training.of(X, _task(X))).predict(new)
    assert pairwise_accuracy(found, _task(new)) > 0.75
    nothing = spec.fit(Training.of(X[:0], []))
    assert pairwise_accuracy(nothing.predict(new), _known(new)) > 0.85


def test_what_cannot_be_added_is_refused() -> None:
    for local in (5, Boosted):
        with pytest.raises(ArgumentError, match=r"Transfer\(local=.*: local is a cost model"):
            Transfer(local=local)  # type: ignore[arg-type]
    for source in (5, Boosted(), Pretrained):
        with pytest.raises(ArgumentError, match="source is a fitted predictor"):
            Transfer(source=source)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="put the ensemble outside"):
        Transfer(Ensemble(acquisition="ei"))
