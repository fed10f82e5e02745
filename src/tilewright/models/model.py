"""The two interfaces of a cost model, f^ in the paper: a spec that fits and what predicts."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.models.training import Training


class Predictor(Protocol):
    """What a fit gives. It can be pickled and never changes."""

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return a finite score for each row (n, features), higher is better.

        Only the order within a task matters. Offsets given in training are not included.
        """
        ...


class CostModel(Protocol):
    """A frozen spec of how to learn scores from features."""

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        """Learn from all of `data`, deterministically; `previous` may serve as a warm start.

        With no rows, or none that differ, the predictor returns zeros.
        """
        ...
