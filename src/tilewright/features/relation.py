"""Context relation features: what loops are like, told without saying which loop is which.

R[i, j, t] = max of feature i over the loops whose feature j is below the threshold beta_t (the
paper's section 4). Thresholds are log2-spaced. The vector has one length for programs of any shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tilewright.features.extractor import lowered
from tilewright.features.loops import COLUMNS
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

_OF = ("extent", "outer", "reuse_max", "stride_max", "vectorize", "unroll", "intensity")
_BELOW = ("touched", "inner", "written_out")


@dataclass(frozen=True)
class Relation:
    """Relations among context features at `thresholds` points, 2 ** (step * t)."""

    thresholds: int = 12
    step: float = 2.0
    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(
            f"max {i} where {j} < 2^{self.step * (t + 1):g}"
            for j in _BELOW
            for t in range(self.thresholds)
            for i in _OF
        )

    def of(self, table: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        count = len(table)
        table = table.transpose(2, 1, 0)  # (columns, loops, rows)
        values = table[[COLUMNS.index(name) for name in _OF]]
        flat = values.reshape(len(_OF), -1)
        best = np.zeros((values.shape[1] + 1, len(_OF), count), np.float32)
        of, row = np.arange(len(_OF))[:, None], np.arange(count)
        beta = self.step * np.arange(1, self.thresholds + 1, dtype=np.float32)
        parts: list[np.ndarray[Any, Any]] = []
        for name in _BELOW:
            key = table[COLUMNS.index(name)]
            order = np.argsort(key, axis=0)
            best[1:] = flat.take(order * count + row, axis=1).transpose(1, 0, 2)
            for smaller, larger in pairwise(best):  # faster than np.maximum.accumulate
                np.maximum(smaller, larger, out=larger)
            below = (key[:, None] < beta[:, None]).sum(axis=0)
            found = best[below[:, None], of, row]  # (thresholds, of, rows)
            parts.append(found.transpose(2, 0, 1).reshape(count, -1))
        return np.hstack(parts)

    def extract(self, space: Space[Schedule], rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return lowered(space, rows, self.of)
