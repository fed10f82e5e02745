"""Import TopK: of long rows, the greatest are looked for among the greatest of their blocks."""

from __future__ import annotations

import numpy as np

from tilewright import dtypes
from tilewright.graph.onnx.source import Refusal, Source

_LONG = 512  # elements of a row from which blocks pay for the kernels that they add
_FEWER = 3  # times as few pairs to compare as in the whole row


def top_k(source: Source) -> tuple[str, str]:
    shape, value = source.shape(), source.value()
    (axis,) = source.axes([source.attribute("axis", -1)], len(shape))
    count = source.attribute("k", 0)
    count = int(source.number(1, "k")) if source.has(1) else count
    if not 1 <= count <= shape[axis]:
        raise Refusal(f"it takes {count} of {shape[axis]} elements")
    least, block = 1 - source.attribute("largest", 1), block_of(shape[axis], count)
    if block:
        places = _among_blocks(source, axis, count, least, block)
    else:
        places = source.node("top_k", value, output=1, axis=axis, count=count, least=least)
    return source.node("gather_elements", value, places, axis=axis), places


def block_of(n: int, count: int) -> int:
    """Return the length of blocks that leaves the fewest pairs to compare; 0 for the whole row.

    Blocks of B take n * B comparisons, and what is left of them (count * n / B) squared.
    """
    block = max(count, round((2 * n * count**2) ** (1 / 3)))
    pairs = n * block + (-(-n // block) * count) ** 2
    return block if n >= _LONG and _FEWER * pairs <= n * n else 0


def _among_blocks(source: Source, axis: int, count: int, least: int, block: int) -> str:
    """Return the places of the greatest of a row, in order, of equal ones the first first."""
    value, shape = source.value(), source.shape()
    before, behind, blocks = shape[:axis], shape[axis + 1 :], -(-shape[axis] // block)
    if missing := blocks * block - shape[axis]:
        end = np.full((*before, missing, *behind), _last(source.dtype(), least))
        end = end.astype(dtypes.numpy(source.dtype()))
        value = source.node("concat", value, source.literal(end, "end"), part="whole", axis=axis)
    rows = source.reshaped(value, (*before, blocks, block, *behind), "blocks")
    order = {"count": count, "least": least}
    at = source.node("top_k", rows, part="within", axis=axis + 1, **order)
    best = source.node("gather_elements", rows, at, part="best", axis=axis + 1)
    starts = np.arange(0, blocks * block, block).reshape(blocks, *(1,) * (len(behind) + 1))
    numbers = source.map("add", at, source.literal(starts, "starts"), part="numbers")
    row = (*before, blocks * count, *behind)
    best, numbers = source.reshaped(best, row, "rest"), source.reshaped(numbers, row, "places")
    kept = source.node("top_k", best, part="kept", axis=axis, **order)
    return source.node("gather_elements", numbers, kept, output=1, axis=axis)


def _last(dtype: str, least: int) -> float:
    """Return what comes after all others, but for what is equal and stands before it."""
    if dtypes.is_float(dtype):
        return np.nan if least else -np.inf  # NaN is greater than all
    kept = np.iinfo(dtype)
    return kept.max if least else kept.min
