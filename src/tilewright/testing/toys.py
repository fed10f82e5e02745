"""Small problems with a known answer, for conformance suites and tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tilewright.expr.tensor import compute, reduce_axis, sum, tensor
from tilewright.schedule.schedule import Schedule
from tilewright.search.problem import Problem
from tilewright.space.knobs import Knobs
from tilewright.space.space import Population, Space


def tiles(knob: Knobs) -> tuple[tuple[int, ...], tuple[int, ...], int, bool]:
    """Tile two loops and choose an unrolling: 4 knobs, 9,408 combinations, most of them valid."""
    y = knob.split("y", 64, 3)
    x = knob.split("x", 32, 3)
    unroll = knob.choice("unroll", [1, 2, 4, 8, 16, 32, 64, 128])
    swap = knob.flag("swap")
    knob.require(y[2] * x[2] <= 256)
    return y, x, unroll, swap


def problem() -> Problem:
    """Return the space of `tiles`, whose features are its numbers in powers of two."""
    space = Space.declare(tiles)

    def extract(rows: Population) -> NDArray[np.float32]:
        features = np.empty((len(rows), 8), np.float32)
        for at, (y, x, unroll, swap) in space.populations(rows):
            columns = np.broadcast_arrays(*y, *x, unroll, 1 + swap, np.ones(len(at)))
            features[at] = np.log2(np.stack(columns[:-1], axis=1))
        return features

    return Problem(space, extract)


def score(toy: Problem, rows: Population) -> NDArray[np.float64]:
    """Score rows of `problem()`: 0 at best, lower with the distance from one tile; some fail.

    The best is y=(·, 4, 4), x=(·, ·, 8), unroll 16, swap; an innermost x of 1 fails.
    """
    log = toy.extract(rows).astype(np.float64)
    distance = (log[:, 1] - 2) ** 2 + (log[:, 2] - 2) ** 2 + (log[:, 5] - 3) ** 2
    distance += 0.5 * (log[:, 6] - 4) ** 2 + (log[:, 7] < 1) * (1 + log[:, 5])
    return np.where(log[:, 5] == 0, -np.inf, -distance)


def product(n: int = 64, factor: float = 1.0) -> Schedule:
    """Return a plain schedule of a small matrix product, times a factor; its loops are y, x, k."""
    a, b, k = tensor("A", (n, n)), tensor("B", (n, n)), reduce_axis("k", n)
    return Schedule(compute("C", (n, n), lambda y, x: sum(a[y, k] * b[k, x] * factor, over=k)))
