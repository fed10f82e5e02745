"""The context of every loop of a nest: the paper's Table of loop features, for a population.

For each loop: how often it runs, what runs outside and inside of it, how it is annotated, how much
memory one round of everything inside touches, how often that memory is reused, and in what strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import loads
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, offset, walk

COLUMNS = (
    "extent", "outer", "inner", "serial", "parallel", "vectorize", "unroll", "reduce",
    "touched", "touched_max", "touched_store", "reuse", "reuse_max", "stride_min", "stride_max",
    "intensity", "written_out",
)  # fmt: skip

Array = np.ndarray[Any, Any]


def contexts(nest: Nest, count: int) -> Array:
    """Return float32 (count, loops, columns): sizes as log2(1 + x), flags as 0 and 1."""
    rows: list[Array] = []
    for outer, block in walk(nest.body):
        rows += _of_block(outer, block, nest, count)
    return np.stack(rows, axis=1) if rows else np.zeros((count, 1, len(COLUMNS)), np.float32)


def _of_block(outer: tuple[Loop, ...], block: Block, nest: Nest, count: int) -> list[Array]:
    accesses = [(nest.by_name[block.buffer], block.index)]
    for load in dict.fromkeys(loads(block.value)):
        accesses.append((nest.by_name[load.buffer], load.index))
    extents = np.ones((len(outer), count))
    for depth, loop in enumerate(outer):
        extents[depth] = loop.extent
    inner = np.cumprod(extents[::-1], axis=0)[::-1]
    before = np.cumprod(extents, axis=0) / extents
    reach = [touched(buffer, index, outer, extents) for buffer, index in accesses]
    strides = [_strides(buffer, index, outer, count) for buffer, index in accesses]
    written = _written_out(outer, extents)
    table = np.zeros((len(outer), len(COLUMNS), count), np.float32)
    for depth, loop in enumerate(outer):
        bytes_ = np.stack([t[depth] for t in reach])
        reuse = inner[depth] * 4 / bytes_
        step = np.stack([s[depth] for s in strides])
        table[depth, 0] = extents[depth]
        table[depth, 1] = before[depth]
        table[depth, 2] = inner[depth]
        table[depth, 8] = bytes_.sum(axis=0)
        table[depth, 9] = bytes_.max(axis=0)
        table[depth, 10] = bytes_[0]
        table[depth, 11] = reuse.min(axis=0)
        table[depth, 12] = reuse.max(axis=0)
        table[depth, 13] = step.min(axis=0)
        table[depth, 14] = step.max(axis=0)
        table[depth, 15] = 2 * inner[depth] / bytes_.sum(axis=0)
        table[depth, 16] = written[depth]
        table[depth] = np.log2(1 + table[depth])
        table[depth, 3:8] = 0
        table[depth, COLUMNS.index(loop.kind)] = 1
        table[depth, 7] = loop.reduce
    return [np.ascontiguousarray(row.T) for row in table]


def touched(
    buffer: Buffer, index: tuple[Affine, ...], outer: tuple[Loop, ...], extents: Array
) -> Array:
    """Return (loops, count): bytes that a loop and all loops inside of it touch of a buffer."""
    total = np.full(extents.shape, float(dtypes.nbytes(buffer.dtype)))
    for dimension in index:
        reach = np.zeros(extents.shape[1])
        for depth in reversed(range(len(outer))):
            coefficient = dimension.coefficient(outer[depth].name)
            if isinstance(coefficient, np.ndarray) or coefficient:
                reach = reach + np.abs(coefficient) * (extents[depth] - 1)
            total[depth] *= reach + 1
    return total


def _strides(
    buffer: Buffer, index: tuple[Affine, ...], outer: tuple[Loop, ...], count: int
) -> Array:
    """Return (loops, count): how far a loop's next round moves in a buffer, in elements."""
    flat = offset(buffer.shape, index)
    out = np.zeros((len(outer), count))
    for depth, loop in enumerate(outer):
        out[depth] = np.abs(flat.coefficient(loop.name))
    return out


def _written_out(outer: tuple[Loop, ...], extents: Array) -> Array:
    """Return (loops, count): how many copies of the block unrolling and vectors make inside."""
    out = np.ones(extents.shape)
    copies = np.ones(extents.shape[1])
    for depth in reversed(range(len(outer))):
        if outer[depth].kind in ("unroll", "vectorize"):
            copies = copies * extents[depth]
        out[depth] = copies
    return out
