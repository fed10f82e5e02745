"""Cost features: what a program asks of a machine, added up over its blocks.

Instructions, bytes that a cache of some size has to deliver, registers, code: what an analytic
model of a machine is made of, for a learnt one to weigh. It is told as few numbers a program, which
mean the same in every program: models of much other work learn from this what holds for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.expr.parts import walk as parts_of
from tilewright.expr.scalar import Binary, Cast, Scalar, Select, Unary
from tilewright.features.extractor import of_nests
from tilewright.features.loops import index_read, spans, tile_depth
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, product, walk
from tilewright.loops.nodes import strides as strides_of
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

VECTOR, REGISTERS, LINE = 64, 32, 64  # bytes, their number, bytes: of no machine in particular
LATENCY = 4  # instructions that could be done until the result of one is there
CACHES = {"l1": 24 << 10, "l2": 768 << 10, "l3": 12 << 20}  # bytes of them that one can count on

TOTALS = (
    "operations", "special", "loads", "stores", "scattered", "waits", "spilled", "rounds",
    "unshared", "code", "regions", "blocks", *(f"from beyond {cache}" for cache in CACHES),
)  # fmt: skip
TILE = (
    "work", "lanes", "results", "registers", "copies", "loads a copy", "scattered a copy", "chain",
    "innermost", "held 1", "held 2", "held 3", "held", "shares", "accesses", "reduces",
)  # fmt: skip
STORAGE = ("arguments", "workspace", "local")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Costs:
    """What all blocks take together, what the tile of the one with most work is, and storage.

    All are log2(1 + x); a tile is what is unrolled or in vectors inside of the innermost loop that
    really loops. `held 1` are the bytes that one round of that loop touches, `held 2` and `held 3`
    of those round it, `held` all; `waits` are for results that the next instruction needs.
    """

    version: int = 1

    @property
    def names(self) -> tuple[str, ...]:
        tile = (f"{name} of the most work" for name in TILE)
        return (*TOTALS, *tile, *(f"bytes of {kind}" for kind in STORAGE))

    def of(self, nest: Nest, count: int) -> Array:
        found = [_of_block(nest, outer, block, count) for outer, block in walk(nest.body)]
        totals, tiles = (np.stack(each) for each in zip(*found, strict=True))
        most = np.argmax(tiles[:, 0], axis=0)
        tile = tiles[most, :, np.arange(count)].T
        table = np.concatenate([totals.sum(axis=0), tile, _storage(nest, count)])
        return np.log2(1 + table).T.astype(np.float32)

    def extract(self, space: Space[Schedule], rows: Array) -> Array:
        return of_nests(space, rows, len(self.names), self.of)


@dataclass(frozen=True, eq=False, slots=True)
class _Tile:
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
    def of(outer: tuple[Loop, ...], nbytes: int, count: int) -> _Tile:
        extents = np.ones((len(outer), count))
        for i, loop in enumerate(outer):
            extents[i] = loop.extent
        times = np.concatenate([np.ones((1, count)), np.cumprod(extents, axis=0)])
        depth = tile_depth(outer)
        vector = next((loop for loop in outer[depth:] if loop.kind == "vectorize"), None)
        lanes = np.ones(count) * (vector.extent if vector else 1)
        vectors = np.ceil(lanes * nbytes / VECTOR) if vector else np.ones(count)
        copies = times[-1] / times[depth] / lanes * vectors
        return _Tile(outer, depth, extents, times, vector, lanes, vectors, copies)


def _of_block(nest: Nest, outer: tuple[Loop, ...], block: Block, count: int) -> tuple[Array, Array]:
    stored = nest.by_name[block.buffer]
    tile = _Tile.of(outer, dtypes.nbytes(stored.dtype), count)
    operations, special = _operations(block)
    rounds, copies, work = tile.times[tile.depth], tile.copies, tile.times[-1]
    loads, stores, scattered, registers = (np.zeros(count) for _ in range(4))
    results, held = np.ones(count), np.zeros((len(outer) + 1, count))
    reads = [(nest.by_name[load.buffer], index_read(load)) for load in dict.fromkeys(block.loads)]
    for i, (buffer, index) in enumerate([(stored, block.index), *reads]):
        elements, touched = _touched(buffer, index, tile)
        step = _step(buffer, index, tile)
        values = np.where(step == 1, elements / tile.lanes * tile.vectors, elements)
        if i == 0:
            results = elements / np.where(step == 0, 1, tile.lanes) * tile.vectors
        if buffer.scope == "register":
            continue
        apart = np.where(step > 1, copies * tile.lanes / tile.vectors, 0)
        asked = np.where(step > 1, apart, values)
        if i == 0:
            stores = asked
        if i > 0 or block.reduce:
            loads = loads + asked
        scattered = scattered + apart
        registers = registers + np.where(step == 1, np.minimum(values, 4), 1)
        held += touched
    registers = registers + results
    chain = copies / np.maximum(results, 1) if block.reduce else np.zeros(count)
    waits = np.maximum(LATENCY * chain, copies * operations / 2)
    spilled = np.maximum(registers - REGISTERS, 0) * (block.reduce is not None)
    shares, regions = _shared(tile)
    each = (copies * operations, copies * special, loads, stores, scattered, waits, spilled, 1)
    rest = (work * (shares < 2), copies, regions, 1, *_delivered(held, tile.times))
    innermost = outer[tile.depth - 1].extent if tile.depth else 1
    inside = [held[max(tile.depth - i, 0)] for i in (1, 2, 3)]
    said = (
        work * operations, tile.lanes, results, registers, copies, loads / copies,
        scattered / copies, chain, innermost, *inside, held[0], shares, 1 + len(reads),
        block.reduce is not None,
    )  # fmt: skip
    return _rows((*(rounds * number for number in each), *rest), count), _rows(said, count)


def _rows(numbers: tuple[Any, ...], count: int) -> Array:
    out = np.empty((len(numbers), count))
    for row, number in zip(out, numbers, strict=True):
        row[:] = number
    return out


def _touched(buffer: Buffer, index: Any, tile: _Tile) -> tuple[Array, Array]:
    """Return a tile's elements, and (loops + 1, count) bytes in lines that each depth touches."""
    nbytes = dtypes.nbytes(buffer.dtype)
    elements, lines = np.ones(tile.times.shape), np.ones(tile.times.shape)
    reached = spans(index, tile.outer, tile.extents)
    for d, (span, extent) in enumerate(zip(reached, buffer.shape, strict=True)):
        span = np.minimum(span, extent)
        elements = elements * span
        last = d == len(buffer.shape) - 1
        lines = lines * (np.ceil(span * (nbytes / LINE)) * LINE if last else span)
    whole = np.maximum(np.asarray(product(buffer.shape), float) * nbytes, LINE)
    return elements[tile.depth], np.minimum(lines, whole)


def _step(buffer: Buffer, index: Any, tile: _Tile) -> Array:
    """Return how far the next lane lies, in elements."""
    total = np.zeros(tile.lanes.shape)
    if tile.vector:
        for stride, dimension in zip(strides_of(buffer.shape), index, strict=True):
            total = total + dimension.coefficient(tile.vector.name) * stride
    return np.abs(total)


def _delivered(held: Array, times: Array) -> list[Array]:
    """Return the bytes from beyond each cache: what the outermost depth that it holds touches.

    That is read whenever the depth runs; what no cache holds, in every round.
    """
    moved = held * times
    return [np.min(np.where(held <= size, moved, moved[-1]), axis=0) for size in CACHES.values()]


def _shared(tile: _Tile) -> tuple[Array, Array]:
    """Return among how many threads work can be shared, and how often they are started."""
    places = [i for i, loop in enumerate(tile.outer) if loop.kind == "parallel"]
    if not places:
        return np.ones(tile.lanes.shape), np.zeros(tile.lanes.shape)
    shares = np.ones(tile.lanes.shape)
    for i in places:
        shares = shares * tile.outer[i].extent
    return shares, tile.times[places[0]]


def _operations(block: Block) -> tuple[int, int]:
    """Return how many instructions a value takes, and how many are slow; a product adds at once."""
    parts = list(parts_of(block.value))
    products = any(isinstance(part, Binary) and part.op == "mul" for part in parts)
    count = sum(isinstance(part, Binary | Unary | Select | Cast) for part in parts)
    count += (block.reduce is not None) - (block.reduce == "sum" and products)
    return max(count, 1), sum(map(_is_special, parts))


def _is_special(part: Scalar) -> bool:
    quick = ("add", "sub", "mul", "max", "min")
    return isinstance(part, Unary) or (isinstance(part, Binary) and part.op not in quick)


def _storage(nest: Nest, count: int) -> Array:
    out = np.zeros((len(STORAGE), count))
    for buffer in nest.buffers:
        if buffer.scope != "register":
            kind = buffer.scope if buffer.scope in STORAGE else "arguments"
            size = product(buffer.shape) * dtypes.nbytes(buffer.dtype)
            out[STORAGE.index(kind)] += size
    return out
