"""What a measured time is worth to a model: the less, the more its repeats differ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.records.trial import Measured, Outcome
from tilewright.space.space import Population, Space

HALF = 0.1  # noise, as a share of the time, at which a trial counts half


def weight(outcome: Outcome) -> float:
    """Return how much an outcome counts, from 0 to 1: 1 / (1 + (noise / HALF)^2).

    A failure is certain. So is what was timed once, for it was several times slower than the best.
    """
    noise = outcome.noise if isinstance(outcome, Measured) else 0.0
    return 1.0 if math.isnan(noise) else 1 / (1 + (noise / HALF) ** 2)


class Weights:
    """The weights of the rows of a space that were measured; 1 for all others."""

    def __init__(self, space: Space[Any]) -> None:
        self._space = space
        self._of: dict[bytes, float] = {}

    def note(self, rows: Population, outcomes: list[Outcome]) -> None:
        self._of.update(zip(self._space.keys(rows), map(weight, outcomes), strict=True))

    def __call__(self, rows: Population) -> NDArray[np.float64]:
        return np.array([self._of.get(key, 1.0) for key in self._space.keys(rows)], np.float64)
