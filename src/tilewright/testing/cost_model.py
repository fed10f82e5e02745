"""What every cost model must do; subclass and set `make`."""

from __future__ import annotations

import pickle
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilewright.models.model import Predictor
from tilewright.models.quality import pairwise_accuracy
from tilewright.models.training import Training

Features = NDArray[np.float32]


class CostModelSuite:
    """Tests of a cost model's contract, on up to 400 rows of 6 made-up features; for pytest.

    class TestMine(CostModelSuite):
        make = Mine                # or partial(Mine, option=...): called without arguments

    Specs are equal by value; they and what they fit can be pickled, so their classes are found in a
    module. Fitting is deterministic and leaves its data and NumPy's global generator alone. No
    rows, one, or equal scores fit to zeros. Scores are finite, one a row. Of a sum and a product
    with some noise, 80 % of the pairs of new rows are put in order. Levels of groups say nothing,
    rows of weight 0 nothing, and what `offset` explains is not learned again. The spec's
    `features` are not looked at: `ExtractorSuite` is for them.
    """

    make: ClassVar[Any]  # Callable[[], CostModel]; Any, so that a plain function is not bound

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        return type(self).make().fit(data, previous)

    def test_spec_and_predictor_pickle(self) -> None:
        spec = type(self).make()
        assert pickle.loads(pickle.dumps(spec)) == spec == type(self).make(), (
            "specs of the same options are equal, as those of a frozen dataclass are"
        )
        X = _features(64, seed=0)
        fitted = self.fit(Training.of(X, _signal(X)))
        assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X)), (
            "a predictor predicts something else after it was pickled"
        )

    def test_deterministic_and_independent_of_global_state(self) -> None:
        X = _features(128, seed=0)
        data = Training.of(X, _signal(X))
        before = pickle.dumps(np.random.get_state())  # noqa: NPY002 the legacy state is checked
        one = self.fit(data).predict(X)
        after = pickle.dumps(np.random.get_state())  # noqa: NPY002
        assert after == before, "NumPy's global generator was used"
        assert np.array_equal(self.fit(data).predict(X), one), "two fits to the same data differ"

    def test_ranks_a_planted_signal(self) -> None:
        X, new = _features(256, seed=0), _features(256, seed=1)
        noise = 0.1 * np.random.default_rng(2).standard_normal(256)
        fitted = self.fit(Training.of(X, _signal(X) + noise))
        _ranks(fitted, new, 0.8)

    def test_predictions_are_finite_and_one_a_row(self) -> None:
        X = _features(64, seed=0)
        fitted = self.fit(Training.of(X, 1e6 * _signal(X)))
        for rows in (0, 1, 7):
            predicted = fitted.predict(_features(rows, seed=3))
            assert predicted.shape == (rows,), f"{predicted.shape} for {rows} rows"
            assert np.isfinite(predicted).all(), "a prediction is no finite number"

    def test_data_is_left_alone(self) -> None:
        X = _features(64, seed=0)
        data = Training.of(X, _signal(X), group=np.arange(64) % 2)
        for array in (data.X, data.y):
            array.flags.writeable = False
        before = pickle.dumps((data.X, data.y, data.group))
        self.fit(data).predict(data.X)
        assert pickle.dumps((data.X, data.y, data.group)) == before, "fit or predict wrote to data"

    def test_survives_no_rows_one_row_and_equal_scores(self) -> None:
        new = _features(5, seed=1)
        for rows in (0, 1, 40):
            fitted = self.fit(Training.of(_features(rows, seed=0), np.full(rows, 2.0)))
            assert np.array_equal(fitted.predict(new), np.zeros(5)), (
                f"{rows} equal rows say nothing"
            )

    def test_scores_are_compared_within_groups_only(self) -> None:
        X, new = _features(256, seed=0), _features(256, seed=1)
        group = np.argsort(np.argsort(X[:, 0])) // 32  # eight, and the first feature tells which
        fitted = self.fit(Training.of(X, _signal(X) + 1000.0 * group, group))
        _ranks(fitted, new, 0.75)

    def test_learns_what_offsets_leave_unexplained(self) -> None:
        X, new = _features(400, seed=0), _features(400, seed=1)
        known = np.where(X[:, 4] > 0, 1.5, -1.5).astype(np.float64)
        y = known + _signal(X)
        y = (y - y.mean()) / y.std()
        with_offset = self.fit(Training.of(X, y, offset=known / (known + _signal(X)).std()))
        without = self.fit(Training.of(X, y))
        step = [_step(fitted, new, feature=4) for fitted in (with_offset, without)]
        assert step[0] < 0.9 * step[1], (
            f"feature 4 moves predictions by {step}, offset known or not"
        )

    def test_rows_of_no_weight_do_not_matter(self) -> None:
        X, new = _features(300, seed=0), _features(200, seed=1)
        lies = np.arange(300) % 3 == 0
        y = np.where(lies, -10 * _signal(X), _signal(X))
        fitted = self.fit(Training.of(X, y, weight=np.where(lies, 0.0, 1.0)))
        _ranks(fitted, new, 0.75)

    def test_takes_a_previous_predictor(self) -> None:
        X = _features(64, seed=0)
        first = self.fit(Training.of(X[:32], _signal(X[:32])))
        again = self.fit(Training.of(X, _signal(X)), first)
        _ranks(again, X, 0.8)


def _features(rows: int, seed: int) -> Features:
    return np.random.default_rng(seed).uniform(-1, 1, (rows, 6)).astype(np.float32)


def _signal(X: Features) -> NDArray[np.float64]:
    return (X[:, 1] + X[:, 2] * X[:, 3]).astype(np.float64)


def _ranks(fitted: Predictor, X: Features, share: float) -> None:
    """Assert that more than a share of the pairs of rows are put in order."""
    found = pairwise_accuracy(fitted.predict(X), _signal(X))
    assert found > share, f"{found:.3f} of the pairs are in order, to be reached: {share}"


def _step(fitted: Predictor, X: Features, feature: int) -> float:
    """Return how much predictions move, on average, when one feature goes from -0.5 to 0.5."""
    low, high = X.copy(), X.copy()
    low[:, feature], high[:, feature] = -0.5, 0.5
    return float(np.mean(fitted.predict(high) - fitted.predict(low)))
