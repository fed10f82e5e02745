"""What indexing, sorting and sums of products compute, said again with NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tilewright.ops.einsum import Einsum
from tilewright.ops.gather import GatherNd
from tilewright.ops.scan import Scan
from tilewright.ops.scatter import ScatterElements, ScatterNd
from tilewright.ops.sort import TopK
from tilewright.tuning.task import Operator

Array: TypeAlias = np.ndarray[Any, Any]
_COMBINED: Mapping[str, Any] = {
    "none": lambda _old, new: new,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def compute(operator: Operator, arrays: Mapping[str, Array]) -> Array | None:
    """Return the result in float64, in the shape of the expression; None for other operators."""
    match operator:
        case GatherNd():
            made = _gathered(operator, arrays)
        case ScatterElements() | ScatterNd():
            made = _scattered(operator, arrays)
        case Scan():
            made = _scanned(operator, arrays["X"].reshape(operator.shape))
        case TopK():
            x = arrays["X"].reshape(operator.shape)
            order = np.argsort(x if operator.least else -x, operator.axis, kind="stable")
            made = np.take(order, np.arange(operator.count), operator.axis)
        case Einsum():
            given = [arrays[f"X{i}"] for i in range(len(operator.shapes))]
            made = np.einsum(operator.equation, *given)
        case _:
            return None
    return made.reshape(operator.expression().shape)


def _gathered(op: GatherNd, arrays: Mapping[str, Array]) -> Array:
    x, at = arrays["X"].reshape(op.shape), arrays["I"].reshape(op.indices).astype(np.int64)
    depth = op.indices[-1]
    extents = np.array(op.shape[op.shared : op.shared + depth])
    at = np.clip(at, -extents, extents - 1)
    return np.array([x[(*row[: op.shared], *at[row])] for row in np.ndindex(op.indices[:-1])])


def _scattered(op: ScatterElements | ScatterNd, arrays: Mapping[str, Array]) -> Array:
    out = arrays["X"].reshape(op.shape).copy()
    at = arrays["I"].reshape(op.indices).astype(np.int64)
    nd = isinstance(op, ScatterNd)
    first = op.indices[:-1] if nd else op.indices
    new = arrays["U"].reshape(*first, *(op.shape[op.indices[-1] :] if nd else ()))
    for row in np.ndindex(first):
        if nd:
            place = tuple(int(i) for i in at[row])
        else:
            place = (*row[: op.axis], int(at[row]), *row[op.axis + 1 :])
        if all(-n <= i < n for i, n in zip(place, op.shape, strict=False)):
            out[place] = _COMBINED[op.kind](out[place], new[row])
    return out


def _scanned(op: Scan, x: Array) -> Array:
    made: Any = np.cumsum if op.kind == "sum" else np.cumprod
    x = np.flip(x, op.axis) if op.reverse else x
    if op.exclusive:
        one = np.full_like(np.take(x, [0], op.axis), float(op.kind == "prod"))
        kept = np.take(x, np.arange(x.shape[op.axis] - 1), op.axis)
        x = np.concatenate([one, kept], op.axis)
    out = made(x, op.axis)
    return np.flip(out, op.axis) if op.reverse else out
