"""A good guess without a measurement: the schedule whose tile does most work for its loads."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.expr.scalar import loads
from tilewright.features.loops import touched
from tilewright.loops.nodes import Block, Loop, Nest, walk
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

SAMPLE = 256

Array = np.ndarray[Any, Any]


def promising(space: Space[Schedule]) -> Array:
    """Return the row of `space` that looks best among a fixed sample; the same at every call."""
    rows = space.sample(np.random.default_rng(0), SAMPLE)
    if len(rows) == 0:
        return space.encode(space.default())
    score = np.zeros(len(rows))
    for where, schedule in space.populations(rows):
        score[where] = reuse(schedule.loops, len(where))
    return rows[int(np.argmax(score))]


def reuse(nest: Nest, count: int) -> Array:
    """Return, for each candidate, operations for each byte that the innermost tile loads.

    The tile is what is unrolled or in vectors inside of the innermost loop that really loops.
    Copies of the body beyond a few hundred count against it.
    """
    outer, block = max(walk(nest.body), key=lambda path: len(path[0]))
    depth = max(
        (i + 1 for i, loop in enumerate(outer) if loop.kind in ("serial", "parallel")), default=0
    )
    tile = outer[depth:]
    extents = np.ones((len(tile), count))
    for i, loop in enumerate(tile):
        extents[i] = loop.extent
    work = extents.prod(axis=0) if len(tile) else np.ones(count)
    return work / _loaded(nest, block, tile, extents, count) - work * 1e-6


def _loaded(nest: Nest, block: Block, tile: tuple[Loop, ...], extents: Array, count: int) -> Array:
    total = np.full(count, 4.0)
    for load in dict.fromkeys(loads(block.value)):
        if tile:
            total += touched(nest.by_name[load.buffer], load.index, tile, extents)[0]
    return total
