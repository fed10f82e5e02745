"""A good guess without a measurement: the schedule that seems to do least work and fewest loads."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.expr.scalar import loads
from tilewright.features.loops import touched
from tilewright.loops.nodes import Block, Loop, Nest, offset, walk
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

SAMPLE = 256
BYTE = 0.25  # what loading a byte costs, in operations
REGION = float(1 << 17)  # starting threads once more, and leaving the cache: a microsecond or so
LANE = 16.0  # bytes whose loading costs as much as one lane by itself
COPY = 1e-3  # what each copy of the body costs, as a share: long code is slow to fetch

Array = np.ndarray[Any, Any]


def promising(space: Space[Schedule]) -> Array:
    """Return the row of `space` that looks best among a fixed sample; the same at every call."""
    rows = space.sample(np.random.default_rng(0), SAMPLE)
    if len(rows) == 0:
        return space.encode(space.default())
    return rows[int(np.argmax(guess(space, rows)))]


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
    depth = max(
        (i + 1 for i, loop in enumerate(outer) if loop.kind in ("serial", "parallel")), default=0
    )
    tile, rounds = outer[depth:], extents[:depth].prod(axis=0)
    work = extents[depth:].prod(axis=0)
    loaded = np.full(count, 4.0)
    for load in dict.fromkeys(loads(block.value)):
        if tile and nest.by_name[load.buffer].scope != "local":
            loaded += touched(nest.by_name[load.buffer], load.index, tile, extents[depth:])[0]
        flat = offset(nest.by_name[load.buffer].shape, load.index)
        for loop in tile:
            step = np.asarray(flat.coefficient(loop.name))
            if loop.kind == "vectorize":  # lanes that lie apart are loaded one by one
                loaded += LANE * work * ((step != 0) & (step != 1))
    return rounds * (work * (1 + COPY * work / 64) + BYTE * loaded)
