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
from tilewright.expr.parts import children
from tilewright.expr.parts import walk as parts_of
from tilewright.expr.scalar import Binary, Cast, Scalar, Select, Unary, Within
from tilewright.features.extractor import of_nests
from tilewright.features.loops import index_read
from tilewright.features.tile import LINE, RUN, Access, Tile
from tilewright.loops.nodes import Block, Loop, Nest, product, walk
from tilewright.schedule.schedule import Schedule
from tilewright.space.space import Space

REGISTERS, FEW = 32, 16  # of no machine in particular
LATENCY = 4  # instructions that could be done until the result of one is there
SLOW = 12  # instructions in the time of a special one
TURN = 2  # cycles of a round, whatever is in it
CACHES = {"l1": 24 << 10, "l2": 768 << 10, "l3": 12 << 20}  # bytes of them that one can count on
RATES = 32, 20, 6  # bytes a cycle from beyond each of them

TOTALS = (
    "operations", "special", "loads", "stores", "scattered", "waits", "spilled", "rounds",
    "unshared", "code", "regions", "blocks", *(f"from beyond {cache}" for cache in CACHES),
    *(f"runs from beyond {cache}" for cache in CACHES), "runs stored", "jumps", "hoisted",
    "broadcasts", "moved", "updates", "cycles", "cycles hoisted", "cycles of two threads", "time",
)  # fmt: skip
TILE = (
    "work", "lanes", "results", "registers", "copies", "loads a copy", "scattered a copy", "chain",
    "innermost", "held 1", "held 2", "held 3", "held", "shares", "accesses", "reduces",
    "vectors", "moved a copy", "copies a load", "spilled of few", "run", "step",
)  # fmt: skip
STORAGE = ("arguments", "workspace", "local")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Costs:
    """What all blocks take together, what the tile of the one with most work is, and storage.

    All are log2(1 + x); a tile is what is unrolled or in vectors inside of the innermost loop that
    really loops. `held 1` are the bytes that one round of that loop touches, `held 2` and `held 3`
    of those round it, `held` all; `waits` are for results that the next instruction needs. A run is
    what lies together in memory, and a jump a round of the innermost loop that leaves it. `hoisted`
    loads are those that the innermost loop does not do in vain, results are `moved` when a sum is
    done, `updates` are the steps of sums. `cycles` is what of a tile takes longest, `time` that and
    the way of its bytes.
    """

    version: int = 2

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
class _Asked:
    """What the accesses of a tile come to, the first of which is where it stores."""

    loads: Array
    stores: Array
    scattered: Array
    broadcasts: Array
    hoisted: Array  # loads, shared among the rounds of a loop in which they stay the same
    held: Array  # (loops + 1, count) bytes
    runs: Array  # (loops + 1, count)
    jumps: Array
    registers: Array  # that loaded values take
    run: Array  # bytes of one, on average
    step: Array  # bytes from round to round, at most

    @staticmethod
    def of(accesses: list[Access], tile: Tile, *, reduces: bool) -> _Asked:
        loads, stores, scattered, broadcasts, hoisted, jumps, registers, run, step = np.zeros(
            (9, tile.lanes.size)
        )
        held, runs = np.zeros(tile.times.shape), np.zeros(tile.times.shape)
        inner = tile.outer[tile.depth - 1].name if tile.depth else ""
        for i, access in enumerate(accesses):
            if access.scope == "register":
                continue
            held, runs = held + access.touched, runs + access.runs
            run = run + np.minimum(access.run, RUN) / len(accesses)
            step = np.maximum(step, access.step)
            leaves = access.step > np.maximum(access.run, LINE)
            jumps = jumps + leaves * access.runs[tile.depth]
            scattered = scattered + access.apart
            registers = registers + np.where(access.lane == 1, np.minimum(access.values, 4), 1)
            if i == 0:
                stores = access.asked
            if i > 0 or reduces:
                loads = loads + access.asked
            if i > 0:
                stays = tile.innermost if inner not in access.moves else 1
                hoisted = hoisted + access.asked / stays
                broadcasts = broadcasts + np.where(access.lane == 0, access.values, 0)
        return _Asked(
            loads, stores, scattered, broadcasts, hoisted, held, runs, jumps, registers, run, step
        )


def _of_block(nest: Nest, outer: tuple[Loop, ...], block: Block, count: int) -> tuple[Array, Array]:
    stored = nest.by_name[block.buffer]
    tile = Tile.of(outer, dtypes.nbytes(stored.dtype), count)
    reads = [(nest.by_name[load.buffer], index_read(load)) for load in dict.fromkeys(block.loads)]
    accesses = [Access.of(b, index, tile) for b, index in [(stored, block.index), *reads]]
    asked = _Asked.of(accesses, tile, reduces=bool(block.reduce))
    operations, special = _operations(block)
    rounds, copies, work = tile.rounds, tile.copies, tile.times[-1]
    result = accesses[0]
    results = result.elements / np.where(result.lane == 0, 1, tile.lanes) * tile.vectors
    registers = asked.registers + results
    chain = copies / np.maximum(results, 1) if block.reduce else np.zeros(count)
    waits = np.maximum(LATENCY * chain, copies * operations / 2)
    reduces = block.reduce is not None
    shares, regions = _shared(tile)
    moved = results * (tile.rounds_apart(result.moves) if reduces else rounds)
    spent = _Spent.of(block, tile, asked, chain, moved / rounds)
    each = (
        copies * operations, copies * special, asked.loads, asked.stores, asked.scattered, waits,
        np.maximum(registers - REGISTERS, 0) * reduces, 1,
    )  # fmt: skip
    new = (asked.jumps, asked.hoisted, asked.broadcasts)
    delivered, fetched = _delivered(asked, tile.times)
    way = sum(bytes_ / rate for bytes_, rate in zip(delivered, RATES, strict=True))
    uneven = np.ceil(shares / 2) * 2 / shares
    totals = (
        *(rounds * number for number in each), work * (shares < 2), copies, regions, 1, *delivered,
        *fetched, result.runs[tile.depth] * rounds * (result.scope != "register"),
        *(rounds * number for number in new), moved, rounds * _steps(tile), rounds * spent.plain,
        rounds * spent.hoisted, rounds * spent.plain * uneven, rounds * spent.hoisted + way,
    )  # fmt: skip
    inside = [asked.held[max(tile.depth - i, 0)] for i in (1, 2, 3)]
    said = (
        work * operations, tile.lanes, results, registers, copies, asked.loads / copies,
        asked.scattered / copies, chain, tile.innermost, *inside, asked.held[0], shares,
        1 + len(reads), reduces, results / tile.vectors, moved / (copies * rounds),
        copies / np.maximum(asked.hoisted, 1 / rounds), np.maximum(2 * registers - FEW, 0),
        asked.run, asked.step,
    )  # fmt: skip
    return _rows(totals, count), _rows(said, count)


@dataclass(frozen=True, eq=False, slots=True)
class _Spent:
    """Cycles of a round of a tile: those of what takes longest, where all goes on at once."""

    plain: Array
    hoisted: Array

    @staticmethod
    def of(block: Block, tile: Tile, asked: _Asked, chain: Array, moved: Array) -> _Spent:
        """`moved` are the results that a round stores, if sums stay in registers till then."""
        count, special = _arithmetic(block.value)
        products = any(isinstance(p, Binary) and p.op == "mul" for p in parts_of(block.value))
        count += (block.reduce is not None) - (block.reduce == "sum" and products)
        busy = np.maximum(tile.copies * (max(count, 0.5) + SLOW * special) / 2, LATENCY * chain)
        busy = np.maximum(busy, moved)
        loads = asked.loads - asked.stores if block.reduce else asked.loads
        return _Spent(
            np.maximum(busy, loads / 2) + TURN, np.maximum(busy, asked.hoisted / 2) + TURN
        )


def _arithmetic(value: Scalar) -> tuple[int, int]:
    """Return how many instructions a value takes inside of all borders, and how many are slow."""
    if isinstance(value, Within):
        return 0, 0
    parts = (value.yes, value.no) if isinstance(value, Select) else children(value)
    inner = [_arithmetic(part) for part in parts]
    own = isinstance(value, Binary | Unary | Cast)
    return own + sum(n for n, _ in inner), _is_special(value) + sum(n for _, n in inner)


def _delivered(asked: _Asked, times: Array) -> tuple[list[Array], list[Array]]:
    """Return bytes from beyond each cache, those of the outermost depth that it holds, and runs.

    That is read whenever the depth runs; what no cache holds, in every round.
    """
    bytes_, runs = asked.held * times, asked.runs * times
    delivered: list[Array] = []
    fetched: list[Array] = []
    for size in CACHES.values():
        fits = asked.held <= size
        moved = np.where(fits, bytes_, bytes_[-1])
        at = np.argmin(moved, axis=0)[None]
        delivered.append(np.take_along_axis(moved, at, 0)[0])
        fetched.append(np.take_along_axis(np.where(fits, runs, runs[-1]), at, 0)[0])
    return delivered, fetched


def _steps(tile: Tile) -> Array:
    """Return how many steps of its sums a tile does at once."""
    steps = np.ones(tile.lanes.size)
    for loop, extent in zip(tile.outer[tile.depth :], tile.extents[tile.depth :], strict=True):
        if loop.reduce:
            steps = steps * extent
    return steps


def _rows(numbers: tuple[Any, ...], count: int) -> Array:
    out = np.empty((len(numbers), count))
    for row, number in zip(out, numbers, strict=True):
        row[:] = number
    return out


def _shared(tile: Tile) -> tuple[Array, Array]:
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
