"""Reductions along a contiguous axis: each vector lane reduces its own part, then the lanes reduce.

Several vectors accumulate side by side, so that none waits for another's last addition; what they
hold at the end is reduced in registers. Few outputs of much data are shared among threads by parts
of the reduction, whose results are reduced at the end.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tilewright import dtypes
from tilewright.expr.affine import Affine, anywhere
from tilewright.expr.parts import operands
from tilewright.loops.nodes import Block, Loop, Nest, offset
from tilewright.schedule import find
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

MAX_VECTORS = 8  # that accumulate side by side; the latency of an addition times two a cycle
MAX_ROWS = 8
MAX_PARTS = 64  # of a reduction that threads share
FEW = 16  # outputs that are too few to be shared among threads
MUCH = 1 << 15  # elements that are worth sharing


def contiguous(nest: Nest, outer: tuple[Loop, ...], block: Block) -> str:
    """Return the longest reduce loop that steps through a load by single elements, or nothing."""
    found: dict[str, int] = {}
    for load in operands(block.value):
        flat = offset(nest.by_name[load.buffer].shape, load.index)
        for loop in outer:
            if loop.reduce and steps_by_one(flat, loop.name) and int(loop.extent) > 1:
                found[loop.name] = int(loop.extent)
    return max(found, key=lambda name: found[name], default="")


def streams(nest: Nest, outer: tuple[Loop, ...], block: Block) -> bool:
    """Whether a sum of products reads an operand once, along a reduce loop: matrix times vector.

    The operand is indexed by every data loop, so that no tile of the result would use it again.
    """
    along = contiguous(nest, outer, block)
    data = {loop.name for loop in outer if not loop.reduce and loop.extent > 1}
    for load in operands(block.value):
        used = load.variables
        flat = offset(nest.by_name[load.buffer].shape, load.index)
        if along and data and data <= used and steps_by_one(flat, along):
            return True
    return False


def narrow(nest: Nest, outer: tuple[Loop, ...], block: Block, lanes: int) -> bool:
    """Whether a sum has a contiguous load of data along a reduction, but no vector of results.

    As a convolution to the three channels of an image has: most lanes of a vector would be empty.
    """
    along = contiguous(nest, outer, block)
    accesses = [(block.buffer, block.index), *((x.buffer, x.index) for x in operands(block.value))]
    flats = [offset(nest.by_name[name].shape, index) for name, index in accesses]
    data = [loop for loop in outer if not loop.reduce]
    wide = [int(o.extent) for o in data for flat in flats if steps_by_one(flat, o.name)]
    return bool(along) and max(wide, default=1) * 4 <= lanes


def steps_by_one(flat: Affine, loop: str) -> bool:
    """Whether an offset moves by one element with each round of a loop, in every candidate."""
    return not anywhere(flat.coefficient(loop) != 1)


def shared(outer: tuple[Loop, ...]) -> str:
    """Return the reduce loop whose parts threads are to share, or nothing where outputs suffice."""
    outputs = prod(int(loop.extent) for loop in outer if not loop.reduce)
    reduce = {loop.name: int(loop.extent) for loop in outer if loop.reduce}
    if not reduce or outputs >= FEW or outputs * prod(reduce.values()) < MUCH:
        return ""
    return max(reduce, key=lambda name: reduce[name])


def by_lanes(s: Schedule, stage: str, knob: Knobs, target: Target) -> tuple[Schedule, str]:
    """Reduce in vector lanes; return the schedule, and the loop at which a tile is complete."""
    outer, block = find.stage(s.loops, stage, f"reduce {stage!r} in lanes")
    data = [loop.name for loop in outer if not loop.reduce]
    reduce = [loop.name for loop in outer if loop.reduce]
    along, far = contiguous(s.loops, outer, block), shared(outer)
    if not data:
        far = far or along
    lanes = target.lanes(dtypes.nbytes(s.loops.by_name[block.buffer].dtype))
    depth = knob.split(
        f"{stage} {along} lanes", s.extent(along), 3 if far == along else 2,
        max_inner=lanes * MAX_VECTORS, multiple=lanes,
    )  # fmt: skip
    parts = depth if far == along else (1,)
    if far and far != along:
        parts = knob.split(f"{stage} {far} parts", s.extent(far), 2)
    knob.require(parts[0] <= MAX_PARTS)
    rows = knob.split(f"{stage} {data[-1]} rows", s.extent(data[-1]), 2, max_inner=MAX_ROWS) if (
        data
    ) else (1, 1)  # fmt: skip
    knob.require(rows[1] * -(-depth[-1] // lanes) <= target.registers - 2)

    s = s.split(along, depth)
    rest = [name for name in reduce if name != along]
    if far and far != along:
        s = s.split(far, parts)
        rest[rest.index(far)] = f"{far}.1"
    last = f"{along}.{len(depth) - 1}"
    head, tile = [f"{far}.0"] if far else [], list[str]()
    if data:
        s = s.split(data[-1], rows)
        head, tile = [*head, *data[:-1], f"{data[-1]}.0"], [f"{data[-1]}.1"]
    s = s.reorder(*head, *rest, f"{along}.{len(depth) - 2}", *tile, last)
    for name in _scattered(s.loops, block, along):
        s = s.pack(name)
    for loop in tile:
        s = s.unroll(loop)
    whole = stage
    if far:
        s, stage = s.rfactor(stage, f"{far}.0"), f"{stage}.part"
    s = s.rfactor(stage, last).vectorize(last).vectorize(f"{stage}:{last}")
    for loop in head:
        s = s.parallel(loop)
    if not far:
        return s, head[-1]
    s = s.cache_write(stage, head[-1]).vectorize(f"{whole}:{far}.0")
    return s, f"{whole}:{data[-1]}.0" if data else ""


def _scattered(nest: Nest, block: Block, along: str) -> list[str]:
    """Return the constants of which neighbours along a loop do not lie side by side."""
    found: dict[str, None] = {}
    for load in operands(block.value):
        buffer = nest.by_name[load.buffer]
        if buffer.scope == "constant" and not buffer.source and not load.gathered:
            flat = offset(buffer.shape, load.index)
            if along in load.variables and not steps_by_one(flat, along):
                found[load.buffer] = None
    return list(found)
