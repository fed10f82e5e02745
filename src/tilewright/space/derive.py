"""A space for any expression: register tiles along a vector axis, unrolling, parallel outer loops.

Elementwise producers are inlined. A sum of products that uses operands again is tiled for
registers and caches and its operands are packed (`tiles`); each other stage is tiled along one axis
for vectors and one for unrolling. The reduction runs inside of the tile, and an elementwise
consumer is fused there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.errors import ScheduleError
from tilewright.expr.affine import is_zero
from tilewright.expr.scalar import loads, measure
from tilewright.loops.nodes import Block, Loop, Nest, offset, walk
from tilewright.schedule import find
from tilewright.schedule.schedule import Schedule
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
    for outer, block in list(walk(s.loops.body)):
        names = {b.stage for _, b in walk(s.loops.body)}
        fused = f"{block.stage}.copy" in names or not _is_root(s.loops, block.stage, outer)
        if fused:
            continue
        if reused(outer, block):
            s, at = tiled(s, block.stage, knob, target)
            s = _fuse(s, block.stage, block, at)
        else:
            s = _stage(s, block.stage, knob, target)
    return s


def inline_elementwise(s: Schedule) -> Schedule:
    """Inline every small elementwise stage that another reads, unless it reads a computed one.

    Work is done again at each read, so what is read more often must be smaller.
    """
    for stage in [block.stage for _, block in walk(s.loops.body)]:
        nest = s.loops
        block = find.stage(nest, stage, f"inline {stage!r}")[1]
        computed = {b.buffer for _, b in walk(nest.body)}
        reads = [load.buffer for _, b in walk(nest.body) for load in loads(b.value)]
        kept = block.reduce or nest.by_name[block.buffer].scope == "output"
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


def _stage(s: Schedule, stage: str, knob: Knobs, target: Target) -> Schedule:
    outer, block = find.stage(s.loops, stage, f"derive a space for {stage!r}")
    data = [loop for loop in outer if not loop.reduce]
    reduce = [loop.name for loop in outer if loop.reduce]
    if not data:
        return s
    lanes = target.lanes(4)
    axes = tuple(_vector_axes(s.loops, block, data))
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
    rest = [loop.name for loop in data if loop.name != vector]
    s = s.split(vector, columns)
    head, tile = [f"{vector}.0"], [f"{vector}.1"]
    if row:
        rows = tall[row]
        knob.require(rows[1] * -(-columns[1] // lanes) <= target.registers - 2)
        s = s.split(row, rows)
        head = [*rest[:-1], f"{row}.0", f"{vector}.0"]
        tile = [f"{row}.1", f"{vector}.1"]
    s = s.reorder(*head, *reduce, *tile)
    for loop in head:
        s = s.parallel(loop)
    s = s.unroll(tile[0]) if rest else s
    s = s.vectorize(tile[-1])
    if reduce and knob.flag(f"{stage} unroll reduction"):
        extent = s.extent(reduce[-1])
        s = s.unroll(reduce[-1]) if int(extent) <= 16 else s
    return _fuse(s, stage, block, head[-1])


def _vector_axes(nest: Nest, block: Block, data: list[Loop]) -> list[str]:
    """Return the loops along which some access is contiguous, the store's first; at least one."""
    accesses = [(block.buffer, block.index), *((x.buffer, x.index) for x in loads(block.value))]
    found: dict[str, None] = {}
    for name, index in accesses:
        flat = offset(nest.by_name[name].shape, index)
        for loop in reversed(data):
            step = flat.coefficient(loop.name)
            if not is_zero(step) and int(step) == 1 and loop.extent > 1:
                found[loop.name] = None
    return list(found) or [data[-1].name]


def _fuse(s: Schedule, stage: str, block: Block, at: str) -> Schedule:
    """Fuse the elementwise consumer of a stage at its tile; else keep a reduction in registers."""
    readers = find.readers(s.loops, block.buffer)
    if len(readers) == 1 and not readers[0][1].reduce:
        try:
            return s.fuse_at(readers[0][1].stage, at)
        except ScheduleError:
            pass
    return s.cache_write(stage, at) if block.reduce else s
