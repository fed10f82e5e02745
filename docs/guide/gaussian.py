"""A Gaussian process as a cost model: scores are alike where features are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.features import Extractor
from tilewright.models import Predictor, Training

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
LENGTHS = tuple(2.0**i for i in range(-3, 4))  # how far apart rows tell of each other


@dataclass(frozen=True, slots=True)
class GaussianProcess:
    """Regression with a Matern kernel (smoothness 3/2), the length of which the data choose.

    `noise` is the variance of a score, of rows of weight 1, where the scores' own variance is 1. Of
    more than `rows` rows the last ones are learned from: time grows with their cube.
    """

    noise: float = 0.02
    rows: int = 1024
    features: Extractor | None = None  # the default ones
    objective: ClassVar[str] = "regression"  # `Transfer` asks in what units scores are learned

    def __post_init__(self) -> None:
        if not (self.noise > 0 and self.rows >= 1):
            raise ArgumentError(f"{self!r}: noise is more than 0, and rows are at least 1.")

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        """Fit; with a `previous` process, only lengths near to the one that it chose are tried."""
        y = standardised(data) - data.offset
        use = np.flatnonzero(data.weight > 0)[-self.rows :]
        X, noise = data.X[use].astype(np.float64), self.noise / data.weight[use]
        if not y[use].any():  # no rows, or equal scores: all candidates are equal
            return Posterior(X[:0], np.zeros(0), np.ones(X.shape[1]), 1.0)
        spread = X.std(axis=0)
        scale = np.where(spread > 1e-6, spread, np.inf) * np.sqrt(max(1, (spread > 1e-6).sum()))
        gaps = distances(X / scale, X / scale)
        lengths = LENGTHS
        if isinstance(previous, Posterior) and len(previous.alpha):
            lengths = tuple(one for one in LENGTHS if 0.5 <= one / previous.length <= 2)
        fits = [(*solve(kernel(gaps, length), noise, y[use]), length) for length in lengths]
        _, alpha, length = max(fits, key=lambda fit: fit[0])
        return Posterior(X, alpha, scale, length)


@dataclass(frozen=True, eq=False, slots=True)
class Posterior:
    """What a fit gives: the mean of the process, a sum of kernels at the rows it has seen."""

    X: Matrix
    alpha: Vector
    scale: Vector
    length: float

    def predict(self, X: NDArray[np.float32]) -> Vector:
        return kernel(distances(X / self.scale, self.X / self.scale), self.length) @ self.alpha


def standardised(data: Training) -> Vector:
    """Bring the scores of each group, which is a task, to mean 0 and deviation 1."""
    y = np.zeros(len(data))
    for rows in data.members():
        if data.weight[rows].any():
            centred = data.y[rows] - np.average(data.y[rows], weights=data.weight[rows])
            deviation = np.sqrt(np.average(centred**2, weights=data.weight[rows]))
            y[rows] = centred / deviation if deviation > 1e-9 * np.abs(data.y).max() else 0.0
    return y


def distances(A: Matrix, B: Matrix) -> Matrix:
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.sqrt(np.maximum(squares, 0.0))


def kernel(gaps: Matrix, length: float) -> Matrix:
    r = np.sqrt(3.0) / length * gaps
    return (1 + r) * np.exp(-r)


def solve(K: Matrix, noise: Vector, y: Vector) -> tuple[float, Vector]:
    """Return the log likelihood of scores, but for a constant, and the weight of each row."""
    root = np.linalg.cholesky(K + np.diag(noise))
    alpha = np.asarray(np.linalg.solve(root.T, np.linalg.solve(root, y)), np.float64)
    return float(-y @ alpha / 2 - np.log(np.diag(root)).sum()), alpha
