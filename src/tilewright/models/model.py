"""The two interfaces of a cost model, f^ in the paper: a spec that fits and what predicts."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.models.training import Training


class Predictor(Protocol):
    """What a fit gives. It can be pickled and never changes."""

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return a finite score for each row (n, features), higher is better.

        Only the order within a task matters. Offsets given in training are not included. What is no
        number counts as -inf: such rows are not proposed.
        """
        ...


class CostModel(Protocol):
    """A frozen spec of how to learn scores from features.

    An attribute `features`, if it has one, is the extractor that the model wants to learn from;
    else it is given what it is given (in tuning, `features.FEATURES`). An attribute `objective`
    tells `Transfer` in what units it scores: "rank" (log-odds of a pair, also if there is none) or
    "regression" (standard deviations of a group's scores); `Training.offset` is in the same.
    """

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        """Learn from all of `data`, deterministically; `previous` may serve as a warm start.

        With no rows, or none that differ, the predictor returns zeros.
        """
        ...


def fit(model: CostModel, data: Training, previous: Predictor | None) -> Predictor:
    """Fit a model; raise ArgumentError that names it if what it gives cannot predict."""
    made: Any = model.fit(data, previous)
    if not callable(getattr(made, "predict", None)):
        raise ArgumentError(
            f"{_named(model)}.fit gave {made!r:.60}, which cannot predict: return an object with a "
            "method predict(X) that gives one score a row."
        )
    return made


def predict(predictor: Predictor, X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return a score for each row, -inf for what is no number; raise ArgumentError for others."""
    made: Any = predictor.predict(X)
    array = made if isinstance(made, np.ndarray) else None
    if array is None or array.shape != (len(X),) or array.dtype.kind not in "fiub":
        given = f"{made!r:.60}" if array is None else f"{array.dtype} of shape {array.shape}"
        raise ArgumentError(
            f"{_named(predictor)}.predict gave {given} for features of shape {X.shape}: return one "
            f"score a row, an array of floats of shape ({len(X)},)."
        )
    scores = np.where(np.isnan(array), -np.inf, array).astype(np.float64)
    if np.isposinf(scores).any():
        raise ArgumentError(
            f"{_named(predictor)}.predict gave inf for {int(np.isposinf(scores).sum())} of "
            f"{len(X)} rows: return finite scores, that the best can be told apart."
        )
    return scores


def _named(extension: Any) -> str:
    return type(extension).__name__
