"""Random inputs of an expression, on which candidates are checked and timed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.expr.parts import loads
from tilewright.expr.tensor import Reduce, Tensor


def sample(rng: np.random.Generator, t: Tensor, extent: int | None = None) -> np.ndarray[Any, Any]:
    """Return random data for a tensor: unit normal, or small integers, none of them all zero.

    With `extent` they are indices of so many elements, half of them counted from the end.
    """
    if dtypes.is_float(t.dtype):
        return rng.standard_normal(t.shape).astype(dtypes.numpy(t.dtype))
    if t.dtype == "bool":
        return rng.integers(0, 2, t.shape).astype(np.bool_)
    low, high = (-8, 9) if extent is None else (-extent, extent)
    limits = np.iinfo(t.dtype)
    low, high = (0 if limits.min == 0 else max(low, limits.min)), min(high, limits.max + 1)
    return rng.integers(low, high, t.shape).astype(t.dtype)


def indexed(expression: Tensor) -> dict[str, int]:
    """Return, for each input whose elements are indices, the least extent that they index."""
    shapes = {t.name: t.shape for t in (*expression.inputs, *expression.stages)}
    found: dict[str, int] = {}
    for t in expression.stages:
        assert t.stage
        value = t.stage.value
        for load in loads(value.value if isinstance(value, Reduce) else value):
            for d, index in load.gathered:
                extent = shapes[load.buffer][d]
                for x in loads(index):
                    found[x.buffer] = min(found.get(x.buffer, extent), extent)
    return found
