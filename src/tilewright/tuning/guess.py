"""A guess at what a candidate costs: the work that it does, and what its tiles load."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.dtypes import nbytes
from tilewright.expr.parts import loads
from tilewright.features.loops import tile_depth, touched
from tilewright.loops.nodes import Block, Loop, Nest, offset, walk
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

# Fitted to 3,700 trials of convolutions and matrix products: ranks, not times.
LANES = 16  # what one operation does at once, at most
LOAD = 1.5  # operations in the time of a load; those that have the time are done meanwhile
BYTE = 0.1  # operations that a loaded byte costs: it comes from a cache
COPY = 0.01  # and a copy of the body, as a share of it: long code is slow to fetch
REGION = float(1 << 13)  # starting threads once more, and leaving the cache: a microsecond or so

Array = np.ndarray[Any, Any]


def guess(space: Space[Schedule], rows: Array) -> Array:
    """Return a score of each row, higher is better: minus the logarithm of its guessed cost.

    What cannot be scheduled scores -inf.
    """
    scores = np.full(len(rows), -np.inf)
    for where, schedule in space.populations(rows):
        scores[where] = -np.log2(cost(schedule.loops, len(where)))
    return scores


def cost(nest: Nest, count: int) -> Array:
    """Return a guess of how long each candidate takes: its operations, and what its tiles load."""
    total = np.full(count, REGION * len(nest.body))
    for outer, block in walk(nest.body):
        total += _of_block(nest, outer, block, count)
    return total


def _of_block(nest: Nest, outer: tuple[Loop, ...], block: Block, count: int) -> Array:
    """A tile is what is unrolled or in vectors inside of the innermost loop that really loops."""
    extents = np.ones((len(outer), count))
    for i, loop in enumerate(outer):
        extents[i] = loop.extent
    depth = tile_depth(outer)
    tile, rounds = outer[depth:], extents[:depth].prod(axis=0)
    work = extents[depth:].prod(axis=0)
    lanes = np.ones(count)
    for loop in tile:
        if loop.kind == "vectorize":
            lanes = np.minimum(loop.extent, LANES)
    loaded, moved = np.zeros(count), np.zeros(count)
    for load in dict.fromkeys(loads(block.value)):
        buffer = nest.by_name[load.buffer]
        if not tile or buffer.scope == "local":
            continue
        nbytes_ = touched(buffer, load.index, tile, extents[depth:])[0]
        elements = nbytes_ / nbytes(buffer.dtype)
        flat = offset(buffer.shape, load.index)
        for loop in tile:
            step = np.asarray(flat.coefficient(loop.name))
            if loop.kind == "vectorize":  # lanes that lie apart are loaded one by one, and placed
                elements = np.where(step == 1, elements / lanes, elements)
                elements = elements + work * ((step != 0) & (step != 1))
        loaded, moved = loaded + elements, moved + nbytes_
    work = work / lanes
    return rounds * (np.maximum(work, LOAD * loaded) + BYTE * moved + COPY * work**2)
