"""Pooling and resizing said again with plain NumPy, window by window."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from tilewright import dtypes
from tilewright.ops.pool import Pool, PoolPlaces
from tilewright.tuning.task import Operator

Array: TypeAlias = np.ndarray[Any, Any]


def compute(operator: Operator, given: Mapping[str, Array]) -> Array | None:
    """Return the result of an operator of these families in float64, None for any other."""
    match operator:
        case Pool():
            return _pool(operator, given["X"], given.get("D"))
        case PoolPlaces():
            return _places(operator, given["X"])
        case _:
            return None


def windows(pool: Pool) -> list[tuple[tuple[int, ...], list[tuple[int, ...]]]]:
    """Return each place of the result with the places inside of X that its window sees."""
    found: list[tuple[tuple[int, ...], list[tuple[int, ...]]]] = []
    for at in product(*map(range, pool.out)):
        seen = [
            tuple(
                i * stride - pad + k * gap
                for i, stride, pad, k, gap in zip(
                    at, pool.stride, pool.pads, taps, pool.dilation, strict=False
                )
            )
            for taps in product(*map(range, pool.kernel))
        ]
        inside = [p for p in seen if all(0 <= i < n for i, n in zip(p, pool.size, strict=True))]
        found.append((at, inside))
    return found


def _pool(pool: Pool, x: Array, d: Array | None) -> Array:
    out = np.zeros((pool.batch, *pool.out, pool.channels))
    count = np.prod(pool.kernel)
    for at, inside in windows(pool):
        values = np.array([x[(slice(None), *place)] for place in inside])
        if pool.kind == "max":
            made = values.max(0)
        elif pool.kind == "sum":
            made = values.sum(0)
        elif d is None:
            made = values.sum(0) / count
        else:
            made = values.sum(0) * d[at] if dtypes.is_float(pool.dtype) else values.sum(0) / d[at]
        out[(slice(None), *at)] = made
    return out


def _places(operator: PoolPlaces, x: Array) -> Array:
    out = np.zeros((operator.images, *operator.pool.out, 1))
    whole = np.arange(np.prod(operator.size)).reshape(
        operator.size, order="F" if operator.columns else "C"
    )
    for at, inside in windows(operator.pool):
        for image in range(operator.images):
            values = [x[(image, *place, 0)] for place in inside]
            first = inside[int(np.argmax(values))]
            out[(image, *at, 0)] = image * whole.size + whole[first]
    return out
