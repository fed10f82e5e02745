"""What boosting minimises: the paper's rank loss (equation 2), and squared error."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tilewright.models.training import Training

Vector = NDArray[np.float64]
_BLOCK = 256  # rows whose pairs are looked at together, so that they stay in the cache
_FAR = 40.0  # predictions further than this from their group's middle count as this far


class Objective(Protocol):
    """A loss of predictions f (n,), with its gradient and the diagonal of its Hessian."""

    def loss(self, f: Vector) -> float: ...

    def derivatives(self, f: Vector) -> tuple[Vector, Vector]: ...

    def part(self, rows: NDArray[np.intp]) -> Objective:
        """Return the loss of some rows, by number, without the others."""
        ...


@dataclass(frozen=True, eq=False, slots=True)
class _Sorted:
    """A group's rows, best first, with their scores, their weights, and the share of a pair."""

    rows: NDArray[np.intp]
    y: NDArray[np.float32]
    weight: NDArray[np.float32]
    scale: float


class Rank:
    """Sum of log(1 + exp(-sign(y_i - y_j) (f_i - f_j))) over all pairs i, j of a group.

    Equal scores are no pair. A pair weighs the product of its rows' weights; each group is divided
    by half its total weight, so that a row's gradient does not grow with the group. A derivative
    costs time for n^2 / 2 pairs, in blocks, and no memory to speak of.
    """

    def __init__(self, data: Training) -> None:
        self._data = data
        self._groups: list[_Sorted] = []
        for members in data.members():
            rows = members[np.argsort(-data.y[members], kind="stable")]
            weight = data.weight[rows].astype(np.float32)
            # Ranks, not scores: near scores that float32 cannot tell apart keep their order.
            rank = np.unique(data.y[rows], return_inverse=True)[1].astype(np.float32)
            if rank[0] > 0 and weight.any():
                self._groups.append(_Sorted(rows, rank, weight, 2.0 / float(weight.sum())))

    def __bool__(self) -> bool:
        return bool(self._groups)

    def loss(self, f: Vector) -> float:
        total = 0.0
        for group in self._groups:
            g, y, w = f[group.rows], group.y, group.weight
            for start in range(0, len(y), _BLOCK):
                rows = slice(start, start + _BLOCK)
                better = y[rows, None] > y[None, start:]
                costs = np.logaddexp(0.0, g[None, start:] - g[rows, None])
                pairs = np.where(better, costs, 0.0)
                total += group.scale * float(w[rows] @ pairs @ w[start:])
        return total

    def derivatives(self, f: Vector) -> tuple[Vector, Vector]:
        gradient, hessian = np.zeros(len(f)), np.zeros(len(f))
        for group in self._groups:
            g, h = _derivatives(group, f[group.rows])
            gradient[group.rows], hessian[group.rows] = group.scale * g, group.scale * h
        return gradient, hessian

    def part(self, rows: NDArray[np.intp]) -> Rank:
        return Rank(self._data.rows(rows))


def _derivatives(group: _Sorted, f: Vector) -> tuple[Vector, Vector]:
    """With sorted rows only i < j can be pairs; wrong = how much j is thought to beat i."""
    y, w, n = group.y, group.weight, len(group.y)
    middle = (f.max() + f.min()) / 2
    e = np.exp(np.clip(f - middle, -_FAR, _FAR)).astype(np.float32)
    gradient, hessian = np.zeros(n), np.zeros(n)
    for start in range(0, n, _BLOCK):
        rows, rest = slice(start, start + _BLOCK), slice(start, n)
        wrong = e[None, rest] / (e[rows, None] + e[None, rest])
        slope = np.where(y[rows, None] > y[None, rest], wrong, np.float32(0))
        gradient[rows] -= slope @ w[rest]
        gradient[rest] += w[rows] @ slope
        slope *= 1 - wrong
        hessian[rows] += slope @ w[rest]
        hessian[rest] += w[rows] @ slope
    return w * gradient, w * hessian


class Regression:
    """Half the squared error to the scores, which are brought to mean 0, deviation 1 per group."""

    def __init__(self, data: Training) -> None:
        self._y = np.zeros(len(data))
        self._weight = data.weight
        for rows in data.members():
            y, w = data.y[rows], data.weight[rows]
            if not w.any():
                continue
            centred = y - np.average(y, weights=w)
            deviation = float(np.sqrt(np.average(centred**2, weights=w)))
            # Below rounding of the scores themselves, a deviation is noise.
            if deviation > 1e-12 * float(np.abs(y).max()):
                self._y[rows] = centred / deviation

    def __bool__(self) -> bool:
        return bool(self._y.any())

    def loss(self, f: Vector) -> float:
        return float(self._weight @ (f - self._y) ** 2) / 2

    def derivatives(self, f: Vector) -> tuple[Vector, Vector]:
        return self._weight * (f - self._y), np.array(self._weight)

    def part(self, rows: NDArray[np.intp]) -> Regression:
        some = copy(self)
        some._y, some._weight = self._y[rows], self._weight[rows]
        return some
