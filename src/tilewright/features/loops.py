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
from tilewright.expr.parts import variables
from tilewright.expr.scalar import Load
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Path, strides, walk

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
    tables = [table for _, table in by_block(nest, count) if len(table)]
    if not tables:
        return np.zeros((count, 1, len(COLUMNS)), np.float32)
    return np.concatenate(tables).transpose(2, 0, 1)


def by_block(nest: Nest, count: int) -> Iterator[tuple[Path, Array]]:
    """Yield each block, in the order of `contexts`, with (loops, columns, count) of those round it.

    What a loop is told of memory is of one block, so a loop round several has several contexts.
    """
    for outer, block in sorted(walk(nest.body), key=_weight):
        yield (outer, block), _of_block(outer, block, nest, count)


def _weight(path: Path) -> tuple[bool, bool]:
    """Sort sums of products first, then other reductions: that is where the time goes."""
    block = path[1]
    return len(block.loads) < 2 or block.reduce is None, block.reduce is None


def _of_block(outer: tuple[Loop, ...], block: Block, nest: Nest, count: int) -> Array:
    accesses = [(nest.by_name[block.buffer], block.index)]
    for load in dict.fromkeys(block.loads):
        accesses.append((nest.by_name[load.buffer], index_read(load)))
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
    for depth, loop in enumerate(outer):
        table[depth, COLUMNS.index(loop.kind)] = 1
        table[depth, 7] = loop.reduce
    return table


def tile_depth(outer: tuple[Loop, ...]) -> int:
    """Return how many loops are round a tile: the innermost loop that really loops is the last."""
    looping = (i + 1 for i, loop in enumerate(outer) if loop.kind in ("serial", "parallel"))
    return max(looping, default=0)


def index_read(load: Load) -> tuple[Affine, ...]:
    """Return a load's index as if each round of a loop gathered the element after the last one."""
    index = list(load.index)
    for d, value in load.gathered:
        index[d] = Affine.sum(0, [(name, 1) for name in variables(value)])
    return tuple(index)


def touched(
    buffer: Buffer, index: tuple[Affine, ...], outer: tuple[Loop, ...], extents: Array
) -> Array:
    """Return (loops, count): bytes that a loop and all loops inside of it touch of a buffer."""
    return dtypes.nbytes(buffer.dtype) * spans(index, outer, extents)[:, :-1].prod(axis=0)


def spans(index: tuple[Affine, ...], outer: tuple[Loop, ...], extents: Array) -> Array:
    """Return (dimensions, loops + 1, count): how far a loop and all inside of it get in a buffer.

    The last is what is inside of all loops: one element.
    """
    place = {loop.name: depth for depth, loop in enumerate(outer)}
    sizes = np.ones((len(index), len(outer) + 1, extents.shape[1]))
    for d, dimension in enumerate(index):
        for name, coefficient in dimension.terms:
            if name in place:
                depth = place[name]
                sizes[d, : depth + 1] += abs(coefficient) * (extents[depth] - 1)
    return sizes


def _strides(
    buffer: Buffer, index: tuple[Affine, ...], outer: tuple[Loop, ...], count: int
) -> Array:
    """Return (loops, count): how far a loop's next round moves in a buffer, in elements."""
    place = {loop.name: depth for depth, loop in enumerate(outer)}
    out = np.zeros((len(outer), count))
    for step, dimension in zip(strides(buffer.shape), index, strict=True):
        for name, coefficient in dimension.terms:
            if name in place:
                out[place[name]] += coefficient * step
    return np.abs(out)


def _written_out(outer: tuple[Loop, ...], extents: Array) -> Array:
    """Return (loops, count): how many copies of the block unrolling and vectors make inside."""
    out = np.ones(extents.shape)
    copies = np.ones(extents.shape[1])
    for depth in reversed(range(len(outer))):
        if outer[depth].kind in ("unroll", "vectorize"):
            copies = copies * extents[depth]
        out[depth] = copies
    return out
