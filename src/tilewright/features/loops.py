"""The context of every loop of a nest: the paper's Table of loop features, for a population.

For each loop: how often it runs, what runs outside and inside of it, how it is annotated, how much
memory one round of everything inside touches, how often that memory is reused, and in what strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Load, loads, variables
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Path, offset, walk

COLUMNS = (
    "extent", "outer", "inner", "serial", "parallel", "vectorize", "unroll", "reduce",
    "touched", "touched_max", "touched_store", "reuse", "reuse_max", "stride_min", "stride_max",
    "intensity", "written_out",
)  # fmt: skip

Array = np.ndarray[Any, Any]


def contexts(nest: Nest, count: int) -> Array:
    """Return float32 (count, loops, columns): sizes as log2(1 + x), flags as 0 and 1.

    Blocks that multiply and add come first, so that who reads only so many loops sees those.
    """
    rows = [row for _, of_block in by_block(nest, count) for row in of_block]
    return np.stack(rows, axis=1) if rows else np.zeros((count, 1, len(COLUMNS)), np.float32)


def by_block(nest: Nest, count: int) -> Iterator[tuple[Path, list[Array]]]:
    """Yield each block, in the order of `contexts`, with (count, columns) for each loop round it.

    What a loop is told of memory is of one block, so a loop round several has several contexts.
    """
    for outer, block in sorted(walk(nest.body), key=_weight):
        yield (outer, block), _of_block(outer, block, nest, count)


def _weight(path: Path) -> tuple[bool, bool]:
    """Sort sums of products first, then other reductions: that is where the time goes."""
    block = path[1]
    return len(loads(block.value)) < 2 or block.reduce is None, block.reduce is None


def _of_block(outer: tuple[Loop, ...], block: Block, nest: Nest, count: int) -> list[Array]:
    accesses = [(nest.by_name[block.buffer], block.index)]
    for load in dict.fromkeys(loads(block.value)):
        accesses.append((nest.by_name[load.buffer], _read(load)))
    extents = np.ones((len(outer), count))
    for depth, loop in enumerate(outer):
        extents[depth] = loop.extent
    inner = np.cumprod(extents[::-1], axis=0)[::-1]
    bytes_ = np.stack([touched(buffer, index, outer, extents) for buffer, index in accesses])
    reuse = inner * 4 / bytes_
    steps = np.stack([_strides(buffer, index, outer, count) for buffer, index in accesses])
    table = np.zeros((len(outer), len(COLUMNS), count), np.float32)
    table[:, 0] = extents
    table[:, 1] = np.cumprod(extents, axis=0) / extents
    table[:, 2] = inner
    table[:, 8] = bytes_.sum(axis=0)
    table[:, 9] = bytes_.max(axis=0)
    table[:, 10] = bytes_[0]
    table[:, 11] = reuse.min(axis=0)
    table[:, 12] = reuse.max(axis=0)
    table[:, 13] = steps.min(axis=0)
    table[:, 14] = steps.max(axis=0)
    table[:, 15] = 2 * inner / bytes_.sum(axis=0)
    table[:, 16] = _written_out(outer, extents)
    table = np.log2(1 + table)
    table[:, 3:8] = 0
    for depth, loop in enumerate(outer):
        table[depth, COLUMNS.index(loop.kind)] = 1
        table[depth, 7] = loop.reduce
    return list(np.ascontiguousarray(table.transpose(0, 2, 1)))


def _read(load: Load) -> tuple[Affine, ...]:
    """Return a load's index as if each round of a loop gathered the element after the last one."""
    index = list(load.index)
    for d, value in load.gathered:
        index[d] = Affine.sum(0, [(name, 1) for name in variables(value)])
    return tuple(index)


def touched(
    buffer: Buffer, index: tuple[Affine, ...], outer: tuple[Loop, ...], extents: Array
) -> Array:
    """Return (loops, count): bytes that a loop and all loops inside of it touch of a buffer."""
    place = {loop.name: depth for depth, loop in enumerate(outer)}
    total = np.full(extents.shape, float(dtypes.nbytes(buffer.dtype)))
    for dimension in index:
        reach = np.zeros(extents.shape)
        for name, coefficient in dimension.terms:
            if name in place:
                reach[place[name]] = np.abs(coefficient) * (extents[place[name]] - 1)
        total *= np.cumsum(reach[::-1], axis=0)[::-1] + 1
    return total


def _strides(
    buffer: Buffer, index: tuple[Affine, ...], outer: tuple[Loop, ...], count: int
) -> Array:
    """Return (loops, count): how far a loop's next round moves in a buffer, in elements."""
    place = {loop.name: depth for depth, loop in enumerate(outer)}
    out = np.zeros((len(outer), count))
    for name, coefficient in offset(buffer.shape, index).terms:
        if name in place:
            out[place[name]] = np.abs(coefficient)
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
