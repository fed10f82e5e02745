"""Tiles for sums of products, as matrix products and convolutions are: registers, caches, packing.

A register tile spans the axes along which an operand is used again and one axis for vectors; the
whole reduction runs inside of it. Constants are laid out as they are read, others if that pays.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import dtypes
from tilewright.expr.affine import Affine, anywhere, is_zero
from tilewright.expr.parts import conditions, operands
from tilewright.expr.scalar import Load
from tilewright.loops.nodes import Block, Loop, Nest, offset
from tilewright.schedule import find
from tilewright.schedule.intrinsics import INTRINSICS, Intrinsic
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

MAX_BODY = 256  # multiply-adds written out in one round; more slows the compiler and the code
MAX_CODE = 700  # the same over all variants for borders
MAX_TILE_VECTORS = 8
MAX_TILE_ROWS = 28
SMALL = 8  # a reduction of so few rounds may be written out whole
PREFETCH = 16384  # bytes ahead, for constants that do not stay in the cache next to a core


def reused(outer: tuple[Loop, ...], block: Block) -> list[str]:
    """Return the data loops along which an operand of a sum of products is used again."""
    each = [load.variables for load in dict.fromkeys(operands(block.value))]
    if block.reduce != "sum" or len(each) < 2:
        return []
    data = [loop.name for loop in outer if not loop.reduce and loop.extent > 1]
    return [name for name in data if any(name not in used for used in each)]


def tiled(s: Schedule, stage: str, knob: Knobs, target: Target) -> tuple[Schedule, str]:
    """Tile a stage; return the schedule, and the loop at which its tile is complete."""
    outer, block = find.stage(s.loops, stage, f"tile {stage!r}")
    data = [loop.name for loop in outer if not loop.reduce]
    reduce = [loop.name for loop in outer if loop.reduce]
    extent = {loop.name: int(loop.extent) for loop in outer}
    again = reused(outer, block)
    lanes = target.lanes(dtypes.nbytes(s.loops.by_name[block.buffer].dtype))
    vector = _vector_axis(s.loops, outer, block, again, lanes)
    rows = [name for name in again if name != vector][-2:]
    longest = max(reduce, key=lambda name: extent[name])
    word = instruction(
        s.loops, block, vector, {name: extent[name] for name in reduce}, again, target
    )
    if word:
        longest = word.along

    def split(name: str, parts: int, **limits: int) -> tuple[Any, ...]:
        return knob.split(f"{stage} {name}", extent[name], parts, between=True, **limits)

    columns = split(vector, 3, max_inner=lanes * MAX_TILE_VECTORS, multiple=lanes)
    tiles = {
        name: split(name, 2 if len(rows) == 2 and name == rows[-1] else 3,
                    max_inner=8 if name != rows[-1] else MAX_TILE_ROWS)
        for name in rows
    }  # fmt: skip
    rounds = word.intrinsic.rounds if word else 1
    depth = knob.split(f"{stage} {longest}", -(-extent[longest] // rounds), 2, max_inner=16)
    short = [n for n in reduce if n != longest and 1 < extent[n] <= SMALL]
    spread = short[-1:] if short and knob.flag(f"{stage} unroll {short[-1]}") else []
    inside = knob.choice(f"{stage} reduce", ("as it is", "longest first")[: len(reduce)])
    first = knob.choice(f"{stage} outer", ("columns", "rows")[: 1 + bool(rows)])
    packed = [
        load.buffer
        for load in _packable(s.loops, block, again)
        if s.loops.by_name[load.buffer].scope == "constant"
        or (word and load.buffer in word.packs)
        or knob.flag(f"{stage} pack {load.buffer}")
    ]

    vectors = -(-columns[2] // lanes)
    pixels = prod(tile[-1] for tile in tiles.values())
    taps = prod(extent[n] for n in spread)
    knob.require(pixels * vectors + vectors + 1 <= target.registers)
    knob.require(pixels * vectors * depth[1] * taps <= MAX_BODY)
    variants = _variants(block, tiles, extent, spread)
    knob.require(pixels * vectors * depth[1] * taps * variants <= MAX_CODE)

    parts = (*depth, rounds) if word else depth
    for name, factors in ((vector, columns), *tiles.items(), (longest, parts)):
        s = s.split(name, factors)
    rest = [name for name in data if name != vector and name not in rows]
    order = [vector, *rows] if first == "columns" else [*rows, vector]
    levels = {name: len(tiles[name]) if name in tiles else 3 for name in order}
    head = [f"{name}.0" for name in order if levels[name] > 2]
    middle = [f"{name}.1" for name in order if levels[name] > 2]
    last = [f"{name}.0" for name in order if levels[name] == 2]
    around = [f"{longest}.0" if name == longest else name for name in reduce]
    if inside == "longest first":
        around.sort(key=lambda name: name != f"{longest}.0")
    inner = [f"{name}.{levels[name] - 1}" for name in rows]
    lane = [f"{vector}.2", f"{longest}.2"] if word else [f"{vector}.2"]
    s = s.reorder(*rest, *head, *middle, *last, *around, f"{longest}.1", *inner, *lane)
    for loop in (*rest, *head):
        s = s.parallel(loop)
    for loop in (f"{longest}.1", *inner, *spread):
        s = s.unroll(loop)
    s = s.vectorize(f"{vector}.2")
    for name in packed:
        nest, constant = s.loops, s.loops.by_name[name].scope == "constant"
        s = s.pack(name)
        nbytes = prod(nest.by_name[name].shape) * dtypes.nbytes(nest.by_name[name].dtype)
        if constant:
            s = fetched(s, name, nbytes, target)
    if word:
        s = s.tensorize(f"{vector}.2", word.intrinsic.name)
    return s, [*rest, *head, *middle, *last][-1]


def fetched(s: Schedule, name: str, nbytes: int, target: Target) -> Schedule:
    """Ask ahead for a packed constant of so many bytes, if it outgrows the cache near a core."""
    large = nbytes >= target.caches[-2:][0]
    return s.prefetch(f"{name}.packed", PREFETCH) if large else s


class Word(NamedTuple):
    """An instruction that adds up several rounds of a reduction, and what it asks of a stage."""

    intrinsic: Intrinsic
    along: str  # the reduce loop
    packs: frozenset[str]  # the operands that it can only read when they are packed


def instruction(
    nest: Nest,
    block: Block,
    vector: str,
    reduce: Mapping[str, int],
    again: list[str],
    target: Target,
) -> Word | None:
    """Return the instruction for a sum of products, along the longest reduction that it can do."""
    packable = {load.buffer for load in _packable(nest, block, again)}
    stored = offset(nest.by_name[block.buffer].shape, block.index)
    if anywhere(stored.coefficient(vector) != 1):
        return None
    for intrinsic in INTRINSICS.values():
        if nest.by_name[block.buffer].dtype != intrinsic.meaning.dtype or not intrinsic.on(target):
            continue
        factors = intrinsic.operands(block.value)
        if not factors:
            continue
        for name in sorted(reduce, key=lambda name: -reduce[name]):
            packs: set[str] = set()
            for load in factors.values():
                flat = offset(nest.by_name[load.buffer].shape, load.index)
                steps = flat.coefficient(vector), flat.coefficient(name)
                if not is_zero(steps[0]) or anywhere(steps[1] != 1):
                    packs.add(load.buffer)
            used = all(name in load.variables for load in factors.values())
            if used and reduce[name] > 1 and packs <= packable:
                return Word(intrinsic, name, frozenset(packs))
    return None


def border_variants(tiles: tuple[Any, ...], taps: int, *, whole: bool) -> Any:
    """Return how many bodies the borders of one dimension make: some taps fall outside there.

    `tiles` is how many tiles there are, and how long each is; `whole` that taps are unrolled.
    """
    if taps == 1:
        return np.minimum(tiles[0], 3)
    borders, inside = np.minimum(tiles[0], 2), tiles[0] > 2
    return borders * (1 if whole else 2) + inside


def _variants(
    block: Block, tiles: dict[str, tuple[Any, ...]], extent: dict[str, int], spread: list[str]
) -> Any:
    total: Any = 1
    for name, parts in tiles.items():
        taps = [
            [v for v in condition.index.variables if v not in tiles]
            for condition in conditions(block.value)
            if name in condition.index.variables
        ]
        if not taps:
            continue
        among = {v for found in taps for v in found}
        count = border_variants(
            (prod(parts[:-1]), parts[-1]),
            max((extent[v] for v in among), default=1),
            whole=bool(among & set(spread)),
        )
        total = total * (np.where(parts[-1] > 1, count, 1) if len(parts) > 2 else count)
    return total


def _vector_axis(
    nest: Nest, outer: tuple[Loop, ...], block: Block, again: list[str], lanes: int
) -> str:
    """Return the axis along which the store is contiguous, or failing that one of reuse.

    One that does not fill a vector is worth less than one along which a load is contiguous.
    """
    data = {loop.name: int(loop.extent) for loop in reversed(outer) if not loop.reduce}
    stored = _contiguous(nest, block.buffer, block.index, data)
    loaded = [_contiguous(nest, x.buffer, x.index, data) for x in operands(block.value)]
    found = [name for name in (stored, *loaded) if name]
    if not found:
        return again[-1]
    return max(found, key=lambda name: (min(data[name], lanes), name == stored))


def _contiguous(nest: Nest, name: str, index: tuple[Affine, ...], data: dict[str, int]) -> str:
    """Return the loop from each round of which to the next an access moves by one element."""
    flat = offset(nest.by_name[name].shape, index)
    for loop, extent in data.items():
        step = flat.coefficient(loop)
        if extent > 1 and not is_zero(step) and int(step) == 1:
            return loop
    return ""


def _packable(nest: Nest, block: Block, again: list[str]) -> list[Load]:
    """Return the loads whose operand can be laid out anew: constants, and what is used again."""
    found: list[Load] = []
    for load in dict.fromkeys(operands(block.value)):
        buffer = nest.by_name[load.buffer]
        readers = find.readers(nest, load.buffer)
        alone = len(readers) == 1 and len(set(readers[0][2])) == 1
        plain = all(len(i.variables) <= 1 for i in load.index)
        constant = buffer.scope == "constant"
        given = buffer.scope in ("input", "workspace") and plain
        used = load.variables
        pays = constant or (given and any(name not in used for name in again))
        if alone and pays and not buffer.layout and not load.gathered and len(used) > 1:
            found.append(load)
    return found
