"""Rows: reductions over the same data axes, and what is made of them, one row after the other.

Softmax is such a chain: the greatest element of a row, the exponentials, their sum, the quotients.
All are computed inside of one parallel loop over rows, so that a row stays in the nearest cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tilewright import dtypes
from tilewright.expr.affine import Affine, is_zero
from tilewright.expr.parts import loads
from tilewright.loops.nodes import MAX_LOCAL, Block, Loop, Nest, offset, walk
from tilewright.schedule import find
from tilewright.schedule.schedule import Schedule
from tilewright.space.lanes import MAX_VECTORS, contiguous, steps_by_one
from tilewright.space.tiles import reused
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

MAX_KEPT = MAX_LOCAL // 2  # bytes of a row that stages pass on
MIN_AHEAD = 512  # bytes of a row that is worth asking for before its turn
MAX_MAPPED = 4  # vectors of an elementwise stage in one round


@dataclass(frozen=True, slots=True)
class Chain:
    """A stage, its rows (some of its data loops), and the stages that it needs row by row.

    `loops` maps each stage to its own loop for each row; `along` says that some reduction is
    contiguous inside of a row, `across` names the row along which memory is contiguous, if any.
    """

    stage: str
    rows: tuple[str, ...]
    members: tuple[str, ...]
    loops: dict[str, dict[str, str]]
    along: bool
    across: str
    nbytes: int  # of what the members pass on in one row

    @property
    def ways(self) -> tuple[str, ...]:
        found = (("along", self.along), ("across", bool(self.across)))
        return (*(way for way, there in found if there), "apart")


def chain(nest: Nest, stage: str) -> Chain | None:
    """Return the chain that ends in a stage, if it is worth computing row by row."""
    outer, block = find.stage(nest, stage, f"find the rows of {stage!r}")
    paths = {b.stage: (around, b) for around, b in walk(nest.body)}
    members = _members(nest, paths, stage)
    rows = [loop.name for loop in outer if not loop.reduce]
    if reused(outer, block) or not all(_plain(i) for i in block.index):
        return None
    loops: dict[str, dict[str, str]] = {}
    while rows:
        loops = {stage: {row: row for row in rows}}
        lost = next(filter(None, (_lost(nest, paths, loops, m, rows) for m in members)), "")
        if not lost:
            break
        rows.remove(lost)
    reducing = [m for m in members if paths[m][1].reduce]
    simple = len(rows) == len(outer) and len(reducing) < 2
    if not rows or not reducing or simple:
        return None
    within = {m: [x for x in paths[m][0] if x.name not in loops[m].values()] for m in members}
    kept = {m: prod(int(x.extent) for x in within[m] if not x.reduce) for m in members}
    nbytes = sum(n * dtypes.nbytes(nest.by_name[paths[m][1].buffer].dtype) for m, n in kept.items())
    along = any(contiguous(nest, *paths[m]) for m in (*reducing, stage))
    across = _across(nest, paths, loops, (*reducing, stage), rows)
    made = Chain(
        stage, tuple(rows), tuple(reversed(members)), loops, along or not across, across, nbytes
    )
    return made if nbytes <= MAX_KEPT else None


def _members(nest: Nest, paths: dict[str, tuple[tuple[Loop, ...], Block]], stage: str) -> list[str]:
    """Return the stages that only the chain reads, the last first."""
    group = [stage]
    for name in reversed([n for n in paths if n != stage]):
        outer, block = paths[name]
        readers = {b.stage for _, b, _ in find.readers(nest, block.buffer)}
        plain = bool(outer) and all(_plain(i) for i in block.index) and not block.guards
        if readers and readers <= set(group) and plain and not reused(outer, block):
            group.append(name)
    return group[1:]


def _plain(index: Affine) -> bool:
    return is_zero(index.constant) and len(index.terms) == 1 and int(index.terms[0][1]) == 1


def _lost(
    nest: Nest,
    paths: dict[str, tuple[tuple[Loop, ...], Block]],
    loops: dict[str, dict[str, str]],
    member: str,
    rows: list[str],
) -> str:
    """Note the member's own loop for each row; return a row of which it would do work again."""
    block = paths[member][1]
    mine: dict[str, str] = {}
    for _, reader, found in find.readers(nest, block.buffer):
        for load in found:
            for row in rows:
                theirs = loops[reader.stage][row]
                at = [d for d, i in enumerate(load.index) if theirs in i.variables]
                if len(at) != 1 or not _plain(load.index[at[0]]):
                    return row
                own = block.index[at[0]].variables[0]
                if mine.setdefault(row, own) != own:
                    return row
    loops[member] = mine
    return ""


def _across(
    nest: Nest,
    paths: dict[str, tuple[tuple[Loop, ...], Block]],
    loops: dict[str, dict[str, str]],
    stages: tuple[str, ...],
    rows: list[str],
) -> str:
    """Return the row along which a load of a reduction, or the result, is contiguous."""
    for row in reversed(rows):
        for stage in stages:
            outer, block = paths[stage]
            own = loops[stage][row]
            if next(int(x.extent) for x in outer if x.name == own) == 1:
                continue
            accesses = [(x.buffer, x.index) for x in loads(block.value)]
            if stage == stages[-1]:
                accesses.append((block.buffer, block.index))
            for name, index in accesses:
                flat = offset(nest.by_name[name].shape, index)
                if len(index) > 1 and steps_by_one(flat, own):
                    return row
    return ""


def by_rows(s: Schedule, found: Chain, way: str, knob: Knobs, target: Target) -> Schedule:
    """Compute all stages of a chain inside of its rows: in vectors along a row, or across rows."""
    outer, block = find.stage(s.loops, found.stage, f"schedule the rows of {found.stage!r}")
    data = [loop.name for loop in outer if not loop.reduce and loop.name not in found.rows]
    reduce = [loop.name for loop in outer if loop.reduce]
    rows, tile = list(found.rows), list[str]()
    if way == "across":
        lanes = target.lanes(dtypes.nbytes(s.loops.by_name[block.buffer].dtype))
        row = found.across
        across = knob.split(f"{found.stage} {row}", s.extent(row), 2,
                            max_inner=lanes * MAX_MAPPED, multiple=lanes)  # fmt: skip
        knob.require(across[1] * found.nbytes <= MAX_KEPT)
        s = s.split(row, across)
        rows, tile = [*(r for r in rows if r != row), f"{row}.0"], [f"{row}.1"]
    ahead = _ahead(s.loops, found)
    s = s.reorder(*rows, *data, *reduce, *tile)
    for loop in rows:
        s = s.parallel(loop)
    for member in reversed(found.members):
        s = s.compute_at(member, rows[-1])
    for stage in (*found.members, found.stage):
        inside = _inside(s, stage, rows[-1])
        if way == "across":
            vector = tile[0] if stage == found.stage else found.loops[stage][found.across]
            s = s.reorder(*(x.name for x in inside if x.name != vector), vector)
            s = s.vectorize(vector)
        elif any(x.reduce for x in inside):
            s = _reduced(s, stage, inside, found, knob, target)
        else:
            s = _mapped(s, stage, inside, found, knob, target)
        if stage == found.stage and block.reduce:
            s = s.cache_write(stage, [rows[-1], *data][-1])
    if way == "along" and ahead and knob.flag(f"{found.stage} prefetch"):
        for name, distance in ahead.items():
            s = s.prefetch(name, distance)
    return s


def _ahead(nest: Nest, found: Chain) -> dict[str, int]:
    """Return how many bytes after a row of an input the next row begins, for long rows."""
    distances: dict[str, int] = {}
    for _, block in walk(nest.body):
        if block.stage not in found.loops:
            continue
        own = found.loops[block.stage][found.rows[-1]]
        for load in loads(block.value):
            buffer = nest.by_name[load.buffer]
            step = offset(buffer.shape, load.index).coefficient(own)
            nbytes = int(step) * dtypes.nbytes(buffer.dtype)
            if buffer.scope == "input" and MIN_AHEAD <= nbytes <= MAX_KEPT:
                distances[load.buffer] = nbytes
    return distances


def _inside(s: Schedule, stage: str, at: str) -> tuple[Loop, ...]:
    """Return the loops of a stage inside of a row: data first, then those that reduce."""
    outer, _ = find.stage(s.loops, stage, f"schedule {stage!r}")
    mine = outer[[loop.name for loop in outer].index(at) + 1 :]
    return tuple(sorted(mine, key=lambda loop: loop.reduce))


def _reduced(
    s: Schedule, stage: str, inside: tuple[Loop, ...], found: Chain, knob: Knobs, target: Target
) -> Schedule:
    outer, block = find.stage(s.loops, stage, f"reduce {stage!r}")
    along = contiguous(s.loops, outer, block)
    if not along:
        return s
    wide = _width(s, block, along, f"{found.stage} reduce", MAX_VECTORS, knob, target)
    s = s.split(along, wide)
    names = [loop.name for loop in inside if loop.name != along]
    s = s.reorder(*names, f"{along}.0", f"{along}.1").rfactor(stage, f"{along}.1")
    return s.vectorize(f"{along}.1").vectorize(f"{stage}:{along}.1")


def _mapped(
    s: Schedule, stage: str, inside: tuple[Loop, ...], found: Chain, knob: Knobs, target: Target
) -> Schedule:
    own = found.loops[stage].values()
    data = [loop for loop in inside if loop.name not in own]
    if not data:
        return s
    block = find.stage(s.loops, stage, f"vectorize {stage!r}")[1]
    vector = vector_axes(s.loops, block, data)[0]
    wide = _width(s, block, vector, f"{found.stage} map", MAX_MAPPED, knob, target)
    rest = [loop.name for loop in inside if loop.name != vector]
    s = s.split(vector, wide).reorder(*rest, f"{vector}.0", f"{vector}.1")
    return s.vectorize(f"{vector}.1")


def _width(
    s: Schedule, block: Block, loop: str, name: str, most: int, knob: Knobs, target: Target
) -> tuple[Any, ...]:
    """Ask how long vectors are; stages of equal extents and elements have the same."""
    lanes = target.lanes(dtypes.nbytes(s.loops.by_name[block.buffer].dtype))
    extent = s.extent(loop)
    return knob.split(
        f"{name} {extent} by {lanes}", extent, 2, max_inner=lanes * most, multiple=lanes
    )


def vector_axes(nest: Nest, block: Block, data: list[Loop]) -> list[str]:
    """Return the loops along which some access is contiguous, the store's first; at least one."""
    accesses = [(block.buffer, block.index), *((x.buffer, x.index) for x in loads(block.value))]
    found: dict[str, None] = {}
    for name, index in accesses:
        flat = offset(nest.by_name[name].shape, index)
        for loop in reversed(data):
            if steps_by_one(flat, loop.name) and loop.extent > 1:
                found[loop.name] = None
    return list(found) or [data[-1].name]
