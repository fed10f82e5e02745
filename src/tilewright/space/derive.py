"""A space for any expression: register tiles along a vector axis, unrolling, parallel outer loops.

Elementwise producers are inlined. Reductions of the same rows, such as those of softmax, may be
computed row by row (`rows`). A sum of products that uses operands again is tiled for registers and
caches and its operands are packed (`tiles`); each other stage is tiled along one axis for vectors
and one for unrolling, or reduces in the lanes of vectors (`lanes`). The reduction runs inside of
the tile, and an elementwise consumer is fused there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from tilewright import dtypes
from tilewright.errors import ScheduleError
from tilewright.expr.parts import loads, measure
from tilewright.loops.nodes import Block, Loop, Nest, walk
from tilewright.schedule import find
from tilewright.schedule.schedule import Schedule
from tilewright.space.lanes import MAX_PARTS, by_lanes, contiguous, narrow, shared, streams
from tilewright.space.rows import Chain, by_rows, chain, vector_axes
from tilewright.space.tiles import reused, tiled
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

MAX_VECTORS = 8
MAX_ROWS = 8
MAX_ONCE = 64  # parts of a stage that is inlined where it is read once
MAX_AGAIN = 16  # and where it is read several times


def derive(s: Schedule, knob: Knobs, target: Target) -> Schedule:
    """Schedule every stage of an expression; the space is never empty, whatever the shapes."""
    s = inline_elementwise(s)
    knobs: dict[str, Knobs] = {}  # of the stages that could be computed in rows, but are not
    for found in chains(s):
        way, asked = knob.branch(f"{found.stage} rows", found.ways)
        if way == "apart":
            knobs |= dict.fromkeys((*found.members, found.stage), asked)
        else:
            s = by_rows(s, found, way, asked, target)
    for outer, block in list(walk(s.loops.body)):
        names = {b.stage for _, b in walk(s.loops.body)}
        fused = f"{block.stage}.copy" in names or not _is_root(s.loops, block.stage, outer)
        if not fused:
            s = _scheduled(s, block.stage, knobs.get(block.stage, knob), target)
    return s


@lru_cache(maxsize=64)  # the same for all candidates of an expression
def chains(s: Schedule) -> tuple[Chain, ...]:
    """Return the chains of stages that can be computed row by row; no stage is in two."""
    found: list[Chain] = []
    taken: set[str] = set()
    for stage in reversed([block.stage for _, block in walk(s.loops.body)]):
        made = None if stage in taken else chain(s.loops, stage)
        if made is not None:
            found.append(made)
            taken |= {stage, *made.members}
    return tuple(found)


@lru_cache(maxsize=64)  # the same for all candidates of an expression
def inline_elementwise(s: Schedule) -> Schedule:
    """Inline every small elementwise stage that another reads, unless it reads a computed one.

    Work is done again at each read, so what is read more often must be smaller.
    """
    for stage in [block.stage for _, block in walk(s.loops.body)]:
        nest = s.loops
        block = find.stage(nest, stage, f"inline {stage!r}")[1]
        computed = {b.buffer for _, b in walk(nest.body)}
        reads = [load.buffer for _, b in walk(nest.body) for load in loads(b.value)]
        placed = any(str(index) not in index.variables for index in block.index)
        kept = block.reduce or placed or nest.by_name[block.buffer].scope == "output"
        kept = kept or find.gathered(nest, block.buffer)
        if kept or computed & {load.buffer for load in loads(block.value)}:
            continue
        if measure(block.value)[1] <= (MAX_ONCE if reads.count(block.buffer) < 2 else MAX_AGAIN):
            s = s.inline(stage)
    return s


def _is_root(nest: Nest, stage: str, outer: tuple[Loop, ...]) -> bool:
    """Whether a stage still stands in loops of its own, unscheduled."""
    found = [chain for chain, block in walk(nest.body) if block.stage == stage]
    same = len(found) == 1 and [c.name for c in found[0]] == [c.name for c in outer]
    return same and all(c.kind == "serial" for c in found[0])


def _scheduled(s: Schedule, stage: str, knob: Knobs, target: Target) -> Schedule:
    """Schedule a stage in loops of its own, in one of the ways that suit it."""
    outer, block = find.stage(s.loops, stage, f"derive a space for {stage!r}")
    ways: dict[str, Callable[[Schedule, str, Knobs, Target], tuple[Schedule, str]]] = {}
    again = reused(outer, block)
    lanes = target.lanes(dtypes.nbytes(s.loops.by_name[block.buffer].dtype))
    if (
        block.reduce
        and contiguous(s.loops, outer, block)
        and (not again or streams(s.loops, outer, block) or narrow(s.loops, outer, block, lanes))
    ):
        ways["lanes"] = by_lanes
    if again:
        ways["tiles"] = tiled
    elif any(not loop.reduce for loop in outer):
        ways["vectors"] = _vectors
    if not ways:
        return s
    way = next(iter(ways))
    if len(ways) > 1:
        way, knob = knob.branch(f"{stage} in", tuple(ways))
    s, at = ways[way](s, stage, knob, target)
    return _fuse(s, stage, block, at) if at else s


def _vectors(s: Schedule, stage: str, knob: Knobs, target: Target) -> tuple[Schedule, str]:
    """Run a data axis in vectors; return the schedule, and the loop at which a tile is complete."""
    outer, block = find.stage(s.loops, stage, f"derive a space for {stage!r}")
    data = [loop for loop in outer if not loop.reduce]
    reduce = [loop.name for loop in outer if loop.reduce]
    lanes = target.lanes(4)
    axes = tuple(vector_axes(s.loops, block, data))
    wide = {
        axis: knob.split(
            f"{stage} {axis} vector", s.extent(axis), 2, max_inner=lanes * MAX_VECTORS,
            multiple=lanes,
        )
        for axis in axes
    }  # fmt: skip
    row_of = {axis: next((x.name for x in reversed(data) if x.name != axis), "") for axis in axes}
    tall = {
        row: knob.split(f"{stage} {row} rows", s.extent(row), 2, max_inner=MAX_ROWS)
        for row in dict.fromkeys(row_of.values())
        if row
    }
    vector = knob.choice(f"{stage} vector axis", axes)
    row, columns = row_of[vector], wide[vector]
    knob.require(columns[1] <= 1024)
    far = shared(outer)
    parts = knob.split(f"{stage} {far} parts", s.extent(far), 2) if far else (1,)
    knob.require(parts[0] <= MAX_PARTS)
    rest = [loop.name for loop in data if loop.name != vector]
    s = s.split(vector, columns)
    head, tile = [f"{vector}.0"], [f"{vector}.1"]
    if row:
        rows = tall[row]
        knob.require(rows[1] * -(-columns[1] // lanes) <= target.registers - 2)
        s = s.split(row, rows)
        head = [*rest[:-1], f"{row}.0", f"{vector}.0"]
        tile = [f"{row}.1", f"{vector}.1"]
    if far:
        s = s.split(far, parts)
        reduce[reduce.index(far)] = f"{far}.1"
        head = [f"{far}.0", *head]
    s = s.reorder(*head, *reduce, *tile)
    s = s.unroll(tile[0]) if rest else s
    s = s.vectorize(tile[-1])
    whole, at = stage, head[-1]
    if far:
        s, stage = s.rfactor(stage, far + ".0"), f"{stage}.part"
        at = f"{whole}:{at}"
    for loop in head:
        s = s.parallel(loop)
    if not far and reduce and knob.flag(f"{stage} unroll reduction"):
        extent = s.extent(reduce[-1])
        s = s.unroll(reduce[-1]) if int(extent) <= 16 else s
    return (s.cache_write(stage, head[-1]) if far else s), at


def _fuse(s: Schedule, stage: str, block: Block, at: str) -> Schedule:
    """Fuse the elementwise consumer of a stage at its tile; else keep a reduction in registers."""
    readers = find.readers(s.loops, block.buffer)
    if len(readers) == 1 and not readers[0][1].reduce:
        try:
            return s.fuse_at(readers[0][1].stage, at)
        except ScheduleError:
            pass
    return s.cache_write(stage, at) if block.reduce else s
