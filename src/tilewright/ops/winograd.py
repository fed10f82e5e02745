"""Winograd convolution: how its stages are blocked, shared among threads and kept in cache."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tilewright.loops.nodes import MAX_LOCAL
from tilewright.schedule.schedule import Schedule
from tilewright.schedule.winograd import error
from tilewright.space.tiles import fetched
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

MAX_BODY = 256  # multiply-adds written out in one round of the product
MAX_TILE_VECTORS = 6


# Tiles that save products and have few points, by the filter and the stride of both dimensions.
TILES = {
    (2, 1): (2, 3, 4), (3, 1): (2, 4, 6), (4, 1): (2, 3), (5, 1): (2, 3),
    (3, 2): (2, 3, 4), (4, 2): (2, 3, 4), (5, 2): (2, 3), (6, 2): (2, 4), (7, 2): (2,),
    (6, 3): (2, 3, 4), (8, 4): (2, 3, 4),
}  # fmt: skip
LEAST_CHANNELS = 16  # into a layer; over fewer, what other filters than 3 x 3 save is not seen


def offered(
    kernel: tuple[int, int], stride: tuple[int, int], channels: int, tolerance: float
) -> list[int]:
    """Return the tiles that are exact enough for a filter, and likely to pay."""
    tiles = TILES.get((kernel[0], stride[0]), ())
    square = kernel[0] == kernel[1] and stride[0] == stride[1]
    phases = stride[0] * stride[1] if kernel[0] % stride[0] == 0 else 1
    if not square or (kernel[0] != 3 and channels * phases < LEAST_CHANNELS):
        return []
    return [m for m in tiles if error(m, taps_of(kernel, stride)) <= tolerance]


def taps_of(kernel: tuple[int, int], stride: tuple[int, int]) -> int:
    """Return how many taps the longest of the filters has that a stride makes."""
    return max(-(-k // s) for k, s in zip(kernel, stride, strict=True))


def winograd(
    s: Schedule,
    knob: Knobs,
    target: Target,
    tile: int,
    kernel: tuple[int, int] = (3, 3),
    stride: tuple[int, int] = (1, 1),
) -> Schedule:
    """Schedule the stage `conv`, with such a filter, as F(tile x tile, kernel).

    Threads share either blocks of rows of tiles, with all stages inside so that what they pass on
    stays in cache, or each stage by itself, which also suits images of few tiles.
    """
    s = _stages(s, tile, taps_of(kernel, stride))
    lanes = target.lanes(4)
    points = s.extent("r") * s.extent("s")
    across, ci = s.extent("tx"), s.extent("ci")
    deep = ci * math.prod(s.extent(loop) for loop in _phases(s))
    co = -(-s.extent("co") // lanes) * lanes  # the last transform works on whole vectors
    rows = knob.split("ty", s.extent("ty"), 3, max_inner=8)
    columns = knob.split("tx", across, 2, max_inner=28)
    channels = knob.split("co", co, 2, max_inner=lanes * MAX_TILE_VECTORS, multiple=lanes)
    depth = knob.split("ci", ci, 2, max_inner=16)
    share = knob.choice("share", ("rows", "stages"))
    outer = knob.choice("outer", ("channels", "tiles"))
    vectors = -(-channels[1] // lanes)
    pixels = rows[2] * columns[1]
    knob.require(pixels * vectors + vectors + 1 <= target.registers)
    over = [
        math.prod(parts) > extent
        for parts, extent in ((rows, s.extent("ty")), (columns, across), (channels, co))
    ]
    variants = math.prod(1 + np.asarray(each) for each in over)
    knob.require(pixels * vectors * depth[1] * variants <= MAX_BODY)
    if share == "rows":
        block = rows[1] * rows[2]
        high = (block * tile - 1) * stride[0] + kernel[0]
        pad = high * ((across * tile - 1) * stride[1] + kernel[1]) * ci
        knob.require((points * block * across * (deep + co) + pad) * 4 <= MAX_LOCAL)

    s = _result(s, rows, lanes, share)
    if share == "rows":
        s = s.compute_at("conv.product", "conv:ty.0").compute_at("conv.input", "conv:ty.0")
    s = _product(s, rows, columns, channels, depth, share, outer)
    s = fetched(s, "conv.weights", points * deep * co * 4, target)
    return _input(s, lanes, share)


@lru_cache(maxsize=32)
def _stages(s: Schedule, tile: int, taps: int) -> Schedule:
    """Return the schedule in stages; the same for all candidates, so it is made only once."""
    padded = any(b.name == "pad" for b in s.loops.buffers)
    return (s.inline("pad") if padded else s).winograd("conv", tile, taps)


def _phases(s: Schedule) -> tuple[str, ...]:
    """Return the loops over the filters that a stride makes, where products add up over them."""
    return ("py", "px") if "py" in s.loops.loops else ()


def _result(s: Schedule, rows: tuple[int, ...], lanes: int, share: str) -> Schedule:
    """Transform the products back, a vector of channels of one tile at a time; epilogue there."""
    inner = rows[1] * rows[2]
    s = s.split("conv:ty", (rows[0], inner))
    s = s.split("conv:co", (-(-s.extent("conv:co") // lanes), lanes))
    s = s.reorder(
        "conv:n", "conv:ty.0", "conv:ty.1", "conv:tx", "conv:co.0",
        "conv:iy", "conv:ix", "conv:s", "conv:co.1",
    )  # fmt: skip
    shared = ("n", "ty.0") if share == "rows" else ("n", "ty.0", "ty.1", "tx")
    for loop in shared:
        s = s.parallel(f"conv:{loop}")
    s = s.unroll("conv:iy").unroll("conv:ix").unroll("conv:s").vectorize("conv:co.1")
    epilogue = any(b.name == "out" for b in s.loops.buffers)
    s = s.fuse_at("out", "conv:co.0") if epilogue else s.cache_write("conv", "conv:co.0")
    s = s.compute_at("conv.back", "conv:co.0")
    back = "conv.back:"
    s = s.reorder(f"{back}s", f"{back}iy", f"{back}r", f"{back}co")
    return s.unroll(f"{back}s").unroll(f"{back}iy").unroll(f"{back}r").vectorize(f"{back}co")


def _product(
    s: Schedule,
    rows: tuple[int, ...],
    columns: tuple[int, ...],
    channels: tuple[int, ...],
    depth: tuple[int, ...],
    share: str,
    outer: str,
) -> Schedule:
    """Multiply at each point: a register tile of tiles x channel vectors, all channels inside."""
    s = s.split("ty", (rows[1] if share == "rows" else rows[0] * rows[1], rows[2]))
    s = s.split("tx", columns).split("co", channels).split("ci", depth)
    order = {"channels": ("co.0", "n", "ty.0", "tx.0"), "tiles": ("n", "ty.0", "tx.0", "co.0")}
    s = s.reorder("r", "s", *order[outer], *_phases(s), "ci.0", "ci.1", "ty.1", "tx.1", "co.1")
    if share == "stages":
        for loop in ("r", "s", order[outer][0]):
            s = s.parallel(loop)
    s = s.unroll("ci.1").unroll("ty.1").unroll("tx.1").vectorize("co.1")
    return s.pack("conv.weights").cache_write("conv.product", order[outer][-1])


def _input(s: Schedule, lanes: int, share: str) -> Schedule:
    """Transform the data, a vector of channels of one tile at a time, all in registers."""
    into, half, pad = "conv.input:", "conv.half:", "conv.pad:"
    s = s.split(f"{into}ci", (-(-s.extent(f"{into}ci") // lanes), lanes))
    around = ("n", "ty", "tx", *_phases(s), "ci.0")
    s = s.reorder(*(into + loop for loop in (*around, "r", "s", "j", "ci.1")))
    if share == "stages":
        for loop in ("n", "ty", "tx"):
            s = s.parallel(into + loop)
    s = s.unroll(f"{into}r").unroll(f"{into}s").unroll(f"{into}j").vectorize(f"{into}ci.1")
    s = s.cache_write("conv.input", f"{into}s")
    s = s.compute_at("conv.half", f"{into}ci.0")
    s = s.reorder(*(half + loop for loop in ("j", "r", "i", "ci")))
    s = s.unroll(f"{half}j").unroll(f"{half}r").unroll(f"{half}i").vectorize(f"{half}ci")
    if all(b.name != "conv.pad" for b in s.loops.buffers):
        return s
    if share == "rows":
        s = s.compute_at("conv.pad", "conv:ty.0")
    else:
        s = s.parallel(f"{pad}n").parallel(f"{pad}y")
    return s.split(f"{pad}ci", (-(-s.extent(f"{pad}ci") // lanes), lanes)).vectorize(f"{pad}ci.1")
