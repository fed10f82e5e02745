"""Ensemble: several fits of a model to resampled data; how they differ says what is not known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.models.boosted import Boosted
from tilewright.models.bounds import can, within
from tilewright.models.model import CostModel, Predictor, fit, predict
from tilewright.models.packed import Packed
from tilewright.models.training import Training

ACQUISITIONS = ("mean", "ei", "ucb")
_SHARED = 0.25  # errors that all members make, as a share of how scores vary among trained rows


@dataclass(frozen=True, slots=True)
class Ensemble:
    """Fit `base` to `members` bootstraps: as many rows of each group, drawn with replacement.

    `acquisition` is what candidates are scored by (the paper's section 3.3): the members' "mean";
    "ei", the logarithm of the improvement to be expected over the best row of the last group; or
    "ucb", the mean and `kappa` deviations. To explore with `Transfer`, put that inside as `base`.
    """

    base: CostModel = field(default_factory=Boosted)
    members: int = 8
    acquisition: Literal["mean", "ei", "ucb"] = "mean"
    kappa: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        fits = {
            "base": (can(self.base, "fit"), "a cost model, such as Boosted()"),
            "members": (within(self.members, 1, whole=True), "a whole number of at least 1"),
            "acquisition": (self.acquisition in ACQUISITIONS, f"one of {', '.join(ACQUISITIONS)}"),
            "kappa": (within(self.kappa, 0), "finite and not negative"),
            "seed": (within(self.seed, 0, whole=True), "a whole number from 0"),
        }
        for name, (fine, what) in fits.items():
            if not fine:
                raise ArgumentError(f"Ensemble({name}={getattr(self, name)!r}): {name} is {what}.")

    @property
    def features(self) -> Any:
        """The extractor that the base asks for, if it asks for one."""
        return getattr(self.base, "features", None)

    def fit(self, data: Training, previous: Predictor | None = None) -> Predictor:
        """Fit each member, from the one that had its place in `previous`."""
        before = previous.members if isinstance(previous, Members) else ()
        fitted: list[Predictor] = []
        for i in range(self.members):
            rng = np.random.default_rng([self.seed, i])
            fitted.append(
                fit(self.base, _resampled(data, rng), before[i] if i < len(before) else None)
            )
        last = data.members()[-1] if len(data) else np.zeros(0, np.intp)
        scores = _scores(tuple(fitted), data.X[last])
        middle = tuple(scores.mean(axis=1).tolist()) if len(last) else (0.0,) * self.members
        average = (scores - np.array(middle)[:, None]).mean(axis=0) + data.offset[last]
        return Members(
            tuple(fitted),
            middle,
            self.acquisition,
            self.kappa,
            float(average[np.argmax(data.y[last])]) if len(last) else 0.0,
            float(average.std()) if len(last) else 0.0,
        )


@dataclass(frozen=True, slots=True)
class Members:
    """Fitted members, and what turns their scores into one.

    Each is brought to `middle` 0 among the rows it was trained for, as a rank model's zero says
    nothing. There `best` is the mean score of the row that was best, `spread` how scores vary.
    """

    members: tuple[Predictor, ...]
    middle: tuple[float, ...]
    acquisition: str
    kappa: float
    best: float
    spread: float

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        mean, deviation = self.moments(X)
        match self.acquisition:
            case "ucb":
                return mean + self.kappa * deviation
            case "ei" if self.spread > 0:
                deviation = np.hypot(deviation, _SHARED * self.spread)
                return np.log(deviation) + _log_gain((mean - self.best) / deviation)
            case _:
                return mean

    def moments(self, X: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean of the members' scores and their standard deviation, for each row."""
        scores = _scores(self.members, X) - np.array(self.middle)[:, None]
        return scores.mean(axis=0), scores.std(axis=0)

    def pack(self) -> Packed:
        values = {
            "middle": list(self.middle), "acquisition": self.acquisition, "kappa": self.kappa,
            "best": self.best, "spread": self.spread,
        }  # fmt: skip
        return Packed(values, parts=self.members)

    @staticmethod
    def unpack(packed: Packed) -> Members:
        v = packed.values
        middle = tuple(map(float, v["middle"]))
        if len(middle) != len(packed.parts) or v["acquisition"] not in ACQUISITIONS:
            raise ValueError("its members and their values do not fit together")
        kappa, best, spread = (float(v[name]) for name in ("kappa", "best", "spread"))
        if not (np.isfinite([*middle, kappa, best, spread]).all() and min(kappa, spread) >= 0):
            raise ValueError(f"its values are {v}")
        return Members(packed.parts, middle, v["acquisition"], kappa, best, spread)


def _resampled(data: Training, rng: np.random.Generator) -> Training:
    """Draw as many rows of each group as it has, with replacement; they stay in their order."""
    drawn = [np.sort(rows[rng.integers(0, len(rows), len(rows))]) for rows in data.members()]
    rows = np.sort(np.concatenate(drawn)) if drawn else np.zeros(0, np.intp)
    return data.rows(rows)


def _scores(members: tuple[Predictor, ...], X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return a row of finite scores for each member."""
    scores = np.stack([predict(member, X) for member in members])
    return np.maximum(scores, -1e30)


def _log_gain(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log(phi(z) + z Phi(z)), the expected improvement by deviations; stable far below 0.

    Without the logarithm all that is unlikely to improve would score 0, and no search could climb.
    """
    near = np.clip(z, -5.0, None)
    density = np.exp(-(near**2) / 2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in near.tolist()])
    far = np.minimum(z, -5.0)
    # phi(z) + z Phi(z) -> phi(z) / z^2 (1 - 3 / z^2 + 15 / z^4 - ...) as z -> -inf.
    tail = (
        -(far**2) / 2
        - math.log(math.sqrt(2 * math.pi))
        - 2 * np.log(-far)
        + np.log1p(-3 / far**2 + 15 / far**4 - 105 / far**6)
    )
    return np.where(z > -5.0, np.log(density + near * below), tail)
