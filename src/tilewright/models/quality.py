"""How well predictions rank: measures from 0 to 1, or -1 to 1, that ignore their scale."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def pairwise_accuracy(
    predicted: ArrayLike,
    actual: ArrayLike,
    among: ArrayLike | None = None,
    beyond: float = 0.0,
) -> float:
    """Return the share of pairs whose order is predicted right; chance is 0.5.

    Pairs whose actual scores are no more than `beyond` apart do not count; equal predictions are
    half right. With `among`, a bool a row, only pairs with at least one such row count. nan if
    there is no pair.

    >>> pairwise_accuracy([1, 2, 3], [10, 30, 20])
    0.6666666666666666
    >>> pairwise_accuracy([1, 2, 3], [1, 9, 8.9], beyond=0.5)
    1.0
    """
    p, a = np.asarray(predicted, np.float64), np.asarray(actual, np.float64)
    rows = np.arange(len(p)) if among is None else np.flatnonzero(among)
    weight = np.full((len(rows), len(p)), 2)
    weight[:, rows] = 1  # pairs within `rows` are met from both sides
    wanted, given = _signs(a, rows, beyond), _signs(p, rows)
    counts = (wanted != 0) * weight
    right = counts * (1 + wanted * given) / 2
    total = counts.sum()
    return float(right.sum() / total) if total else float("nan")


def kendall(predicted: ArrayLike, actual: ArrayLike) -> float:
    """Return the rank correlation, from -1 to 1: right pairs minus wrong ones, by those that count.

    >>> round(kendall([1, 2, 3], [10, 30, 20]), 3)
    0.333
    """
    return 2 * pairwise_accuracy(predicted, actual) - 1


def top_recall(predicted: ArrayLike, actual: ArrayLike, k: int) -> float:
    """Return the share of the `k` best rows that are among the `k` predicted best.

    >>> top_recall([1, 2, 3, 4], [0, 9, 8, 1], k=2)
    0.5
    """
    p, a = np.asarray(predicted), np.asarray(actual)
    k = min(k, len(p))
    if k < 1:
        return float("nan")
    best, chosen = (set(np.argsort(-v, kind="stable")[:k].tolist()) for v in (a, p))
    return len(best & chosen) / k


def _signs(values: Any, rows: Any, beyond: float = 0.0) -> Any:
    """Return -1, 0 or 1 for each pair of a row and any row; -inf equals -inf."""
    left, right = values[rows, None], values[None, :]
    return (left > right + beyond).astype(np.int8) - (left + beyond < right).astype(np.int8)
