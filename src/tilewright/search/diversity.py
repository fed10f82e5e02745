"""Pick a batch that is good and covers many knob values: the paper's equation 3."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.space.space import Population


def pick(rows: Population, scores: NDArray[np.float64], n: int, alpha: float) -> NDArray[np.intp]:
    """Return `n` row numbers that greedily maximise L(S) = sum of scores + alpha * |covered|.

    Scores are higher = better (the paper's are costs, with a minus) and are brought to deviation 1
    first, so that `alpha` is what one newly covered pair of knob and value is worth in these units.
    L is submodular: greedy reaches at least 1 - 1/e of its maximum.
    """
    gain = _standardised(scores)
    new = np.ones(rows.shape, bool)  # whether the value of a row's knob is not covered yet
    chosen: list[int] = []
    for _ in range(min(n, len(rows))):
        best = int(np.argmax(gain + alpha * new.sum(axis=1)))
        chosen.append(best)
        gain[best] = -np.inf
        new &= rows != rows[best]
    return np.array(chosen, np.intp)


def _standardised(scores: NDArray[np.float64]) -> NDArray[Any]:
    """Return a copy with mean 0 and deviation 1; what is not finite comes last, still in order."""
    finite = np.isfinite(scores)
    if not finite.any():
        return np.zeros(len(scores))
    centred = scores - scores[finite].mean()
    deviation = float(centred[finite].std()) or 1.0
    return np.where(finite, centred / deviation, np.finfo(np.float64).min / 2)
