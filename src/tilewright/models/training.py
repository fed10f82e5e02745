"""Training: what a cost model learns from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError


@dataclass(frozen=True, eq=False, slots=True)
class Training:
    """Measured candidates: features and scores, a row each; it may have none.

    `X` is float32 (n, features). `y` (n,) is finite, higher is better, and compared only within a
    `group` (n,), one a task. `offset` (n,) is what a prior already predicts and the model has to
    add to; `weight` (n,) says how much a row counts. Nothing may be written to.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    group: NDArray[np.int64]
    offset: NDArray[np.float64]
    weight: NDArray[np.float64]

    @staticmethod
    def of(X: Any, y: Any, group: Any = 0, offset: Any = 0.0, weight: Any = 1.0) -> Training:
        """Check and convert arrays; a single `group`, `offset` or `weight` holds for all rows."""
        rows, y = np.ascontiguousarray(X, np.float32), np.asarray(y, np.float64)
        if rows.ndim != 2 or y.shape != rows.shape[:1]:
            raise ArgumentError(
                f"cannot train on X of shape {rows.shape} and y of shape {y.shape}: give X as "
                "(rows, features) and y with one score a row."
            )
        if not np.isfinite(y).all():
            raise ArgumentError(
                f"cannot train on y: {int((~np.isfinite(y)).sum())} of {len(y)} scores are not "
                "finite; give failed candidates a score below the worst measured."
            )
        rest = [
            _column("group", group, np.dtype(np.int64), len(y)),
            _column("offset", offset, np.dtype(np.float64), len(y)),
            _column("weight", weight, np.dtype(np.float64), len(y)),
        ]
        return Training(rows, y, *rest)

    def __len__(self) -> int:
        return len(self.y)

    def __repr__(self) -> str:
        groups = len(np.unique(self.group))
        return f"Training({len(self)} rows, {self.X.shape[1]} features, {groups} groups)"

    def rows(self, rows: NDArray[np.intp]) -> Training:
        """Return some rows, by number, in this order; the same one may come several times."""
        return Training(
            self.X[rows], self.y[rows], self.group[rows], self.offset[rows], self.weight[rows]
        )

    def members(self) -> list[NDArray[np.intp]]:
        """Return the row numbers of each group."""
        order = np.argsort(self.group, kind="stable")
        starts = np.flatnonzero(np.diff(self.group[order])) + 1
        return np.split(order, starts) if len(order) else []


def _column(name: str, value: Any, dtype: np.dtype[Any], rows: int) -> NDArray[Any]:
    array = np.asarray(value, dtype)
    if array.ndim and array.shape != (rows,):
        raise ArgumentError(
            f"cannot train with {name} of shape {array.shape}: give one number a row ({rows},), or "
            "one for all."
        )
    return np.broadcast_to(array, (rows,))
