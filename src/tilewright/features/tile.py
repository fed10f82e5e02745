"""The tile round a block, and what each of its accesses asks of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.expr.affine import Affine, Extent
from tilewright.features.loops import spans, tile_depth
from tilewright.loops.nodes import Buffer, Loop, offset, product

VECTOR, LINE = 64, 64  # bytes of a register and of a cache line: of no machine in particular
RUN = 1 << 12  # bytes; a longer run is no better

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False, slots=True)
class Tile:
    """Loops round a block, from `depth` on its tile, which runs `rounds` times."""

    outer: tuple[Loop, ...]
    depth: int
    extents: Array  # (loops, count)
    times: Array  # (loops + 1, count): how often what is so deep runs
    vector: Loop | None
    lanes: Array
    vectors: Array  # registers that so many lanes take
    copies: Array  # instructions that do an operation in all of the tile

    @staticmethod
    def of(outer: tuple[Loop, ...], nbytes: int, count: int) -> Tile:
        extents = np.ones((len(outer), count))
        for i, loop in enumerate(outer):
            extents[i] = loop.extent
        times = np.concatenate([np.ones((1, count)), np.cumprod(extents, axis=0)])
        depth = tile_depth(outer)
        vector = next((loop for loop in outer[depth:] if loop.kind == "vectorize"), None)
        lanes = np.ones(count) * (vector.extent if vector else 1)
        vectors = np.ceil(lanes * nbytes / VECTOR) if vector else np.ones(count)
        copies = times[-1] / times[depth] / lanes * vectors
        return Tile(outer, depth, extents, times, vector, lanes, vectors, copies)

    @property
    def rounds(self) -> Array:
        return self.times[self.depth]

    @property
    def innermost(self) -> Array | int:
        """How often the innermost loop that really loops does so."""
        return self.extents[self.depth - 1] if self.depth else 1

    def rounds_apart(self, moves: frozenset[str]) -> Array:
        """Return the rounds, without those of the innermost loops in which nothing moves."""
        depth = self.depth
        while depth and self.outer[depth - 1].name not in moves:
            depth -= 1
        return self.times[depth]


@dataclass(frozen=True, eq=False, slots=True)
class Access:
    """What a tile reads of a buffer, or stores to it; a run is what lies together in memory."""

    scope: str
    moves: frozenset[str]  # loops with which the place in the buffer changes
    lane: Array  # how far the next lane lies, in elements
    elements: Array  # of the tile
    values: Array  # the registers that these fill
    apart: Array  # lanes that are asked for one by one
    touched: Array  # (loops + 1, count) bytes, in whole lines, that each depth touches
    runs: Array  # (loops + 1, count) in which these lie
    run: Array  # bytes of one of the tile
    step: Array  # bytes that the next round of the innermost loop is away

    @staticmethod
    def of(buffer: Buffer, index: tuple[Affine, ...], tile: Tile) -> Access:
        nbytes, flat = dtypes.nbytes(buffer.dtype), offset(buffer.shape, index)
        lane = np.zeros(tile.lanes.shape)
        if tile.vector:
            lane = lane + np.abs(flat.coefficient(tile.vector.name))
        step = np.zeros(tile.lanes.shape)
        if tile.depth:
            step = step + np.abs(flat.coefficient(tile.outer[tile.depth - 1].name)) * nbytes
        reached = _within(spans(index, tile.outer, tile.extents), buffer.shape)
        elements = reached.prod(axis=0)[tile.depth]
        runs, run = _runs(reached, buffer.shape, nbytes)
        return Access(
            buffer.scope,
            frozenset(name for d in index for name in d.variables),
            lane,
            elements,
            np.where(lane == 1, elements / tile.lanes * tile.vectors, elements),
            np.where(lane > 1, tile.copies * tile.lanes / tile.vectors, 0),
            _lines(reached, buffer.shape, nbytes),
            runs,
            run[tile.depth],
            np.where(np.asarray(tile.innermost) > 1, step, 0),
        )

    @property
    def asked(self) -> Array:
        """How many times memory is asked in each round."""
        return np.where(self.lane > 1, self.apart, self.values)


def _within(reached: Array, shape: tuple[Extent, ...]) -> Array:
    """Return how far each depth gets, in no dimension further than the buffer does."""
    out = np.empty(reached.shape)
    for d, extent in enumerate(shape):
        np.minimum(reached[d], extent, out=out[d])
    return out


def _lines(reached: Array, shape: tuple[Extent, ...], nbytes: int) -> Array:
    lines = reached[:-1].prod(axis=0)
    for last in reached[-1:]:
        lines = lines * np.ceil(last * (nbytes / LINE)) * LINE
    whole = np.maximum(np.asarray(product(shape), float) * nbytes, LINE)
    return np.minimum(lines, whole)


def _runs(reached: Array, shape: tuple[Extent, ...], nbytes: int) -> tuple[Array, Array]:
    """Return in how many runs elements lie, and the bytes of one: whole rows follow each other."""
    runs, run = np.ones(reached.shape[1:]), np.full(reached.shape[1:], float(nbytes))
    joined = np.ones(reached.shape[1:], bool)
    for span, extent in zip(reached[::-1], shape[::-1], strict=True):
        run = np.where(joined, run * span, run)
        runs = np.where(joined, runs, runs * span)
        joined = joined & (span >= extent)
    return runs, run
