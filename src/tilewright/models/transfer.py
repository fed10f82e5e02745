"""Transfer: what other tasks taught, and a local model of what that leaves open (equation 4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.models.boosted import Boosted, Zeros
from tilewright.models.bounds import can
from tilewright.models.model import CostModel, Predictor, fit, predict
from tilewright.models.objectives import Objective, Rank, Regression
from tilewright.models.packed import Packed
from tilewright.models.relative import among
from tilewright.models.training import Training

Vector = NDArray[np.float64]
# What a deviation of the source is worth before anything was measured: log-odds of a pair, or
# deviations of scores. A local model fitted by ranks is bold, and does not say how sure it is.
_BELIEF = {"rank": 4.0, "regression": 1.0}
_ROWS = 16.0  # measured rows that count about as much as this belief
_MOST = 16.0  # the greatest worth of a deviation
_FAR = 8.0  # deviations from the middle beyond which scores of `source` are all the same
_NORMAL = 1.349  # the interquartile range of a normal distribution, in standard deviations


@dataclass(frozen=True, slots=True)
class Transfer:
    """Score by f = worth * source + local: the paper's equation 4, for any `local` model.

    `source` is a fitted predictor of the same features, a global model trained on other tasks
    (`tilewright.learn` makes its data). Without local rows it predicts alone, and `Guided` follows
    it from the first batch on. The local model learns with the source's scores as `offset`.

    Scores of other tasks spread differently, so they are brought to the middle (median) and the
    spread (interquartile range) that they have among the local rows. What one such deviation is
    worth, in the units of the local model's own loss, is what explains the local scores best: found
    by a line search on that loss, drawn to a belief while rows are few. A source that misleads
    here comes out worth 0, and only the local model is left.
    """

    local: CostModel = field(default_factory=Boosted)
    source: Predictor = field(default_factory=Zeros)
    features: Any = None  # what both are fitted to, if not what one of them asks for, or the usual

    def __post_init__(self) -> None:
        if not can(self.local, "fit"):
            raise ArgumentError(
                f"Transfer(local={self.local!r}): local is a cost model, such as Boosted()."
            )
        if not can(self.source, "predict"):
            raise ArgumentError(
                f"Transfer(source={self.source!r:.60}): source is a fitted predictor, such as "
                "Pretrained(), Boosted().fit(tw.learn(records, tasks)) or what "
                "models.load(path, features) gives."
            )
        if getattr(self.local, "acquisition", "mean") == "ei":
            raise ArgumentError(
                "Transfer(local=Ensemble(acquisition='ei')): improvements do not add up with other "
                "scores; put the ensemble outside, Ensemble(Transfer(source=...), "
                "acquisition='ei')."
            )

        if self.features is None:
            asked = getattr(self.local, "features", None) or getattr(self.source, "features", None)
            object.__setattr__(self, "features", asked)

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        before = previous.local if isinstance(previous, Sum) else None
        if not len(data):
            return Sum(self.source, 0.0, 1.0, 1.0, fit(self.local, data, before))
        source = among(self.source, data.X)
        scores = _finite(predict(source, data.X))
        middle, deviation = _middle(scores, data)
        local = Sum(source, middle, deviation, 1.0, Zeros())
        known = local.known(scores)
        worth = _worth(known, data, getattr(self.local, "objective", "rank"))
        rest = Training(data.X, data.y, data.group, data.offset + worth * known, data.weight)
        return Sum(source, middle, deviation, worth, fit(self.local, rest, before))


@dataclass(frozen=True, slots=True)
class Sum:
    """The scores of `source`, brought to a middle and spread, times `worth`, and those of `local`.

    Alone, where they are all that is known, they are left as they are.
    """

    source: Predictor
    middle: float
    spread: float
    worth: float
    local: Predictor

    def predict(self, X: NDArray[np.float32]) -> Vector:
        known = self.known(_finite(predict(self.source, X)))
        return self.worth * known + predict(self.local, X)

    def known(self, scores: Vector) -> Vector:
        """Return what scores of the source are here."""
        return np.clip((scores - self.middle) / self.spread, -_FAR, _FAR)

    def pack(self) -> Packed:
        values = {"middle": self.middle, "spread": self.spread, "worth": self.worth}
        return Packed(values, parts=(self.source, self.local))

    @staticmethod
    def unpack(packed: Packed) -> Sum:
        source, local = packed.parts
        middle, spread, worth = (float(packed.values[k]) for k in ("middle", "spread", "worth"))
        if not (np.isfinite([middle, spread, worth]).all() and spread > 0):
            raise ValueError(f"its scale is {packed.values}")
        return Sum(source, middle, spread, worth, local)


def _finite(scores: Vector) -> Vector:
    return np.maximum(scores, -1e30)


def _middle(scores: Vector, data: Training) -> tuple[float, float]:
    """Return the median and the spread of scores, each group moved to its own median first."""
    apart = np.concatenate([scores[rows] - np.median(scores[rows]) for rows in data.members()])
    return float(np.median(scores)), spread(apart)


def spread(scores: Vector) -> float:
    """Return the deviation of a normal distribution with their interquartile range, never 0."""
    low, high = np.quantile(scores, (0.25, 0.75))
    return float((high - low) / _NORMAL or float(scores.std()) or 1.0)


def _worth(known: Vector, data: Training, objective: Any) -> float:
    """Return the w of 0 to `_MOST` for which w * known explains the scores best.

    The loss is convex in w, and so is what a departure from the belief costs: the root of their
    slope is found by halving.
    """
    loss: Objective = Regression(data) if objective == "regression" else Rank(data)
    belief = _BELIEF.get(objective, _BELIEF["rank"])

    def slope(w: float) -> float:
        gradient, _ = loss.derivatives(data.offset + w * known)
        return float(gradient @ known) + _ROWS / 2 * (w / belief - 1)

    low, high = 0.0, _MOST
    if slope(low) >= 0:
        return low
    for _ in range(16):
        middle = (low + high) / 2
        low, high = (low, middle) if slope(middle) >= 0 else (middle, high)
    return (low + high) / 2
