"""Strassen's product: how its stages are blocked, shared among threads and kept in cache."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tilewright.loops.nodes import MAX_LOCAL
from tilewright.schedule.schedule import Schedule
from tilewright.schedule.strassen import ERRORS, PRODUCTS
from tilewright.space.derive import derive
from tilewright.space.tiles import fetched
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

MAX_BODY = 256  # multiply-adds written out in one round of a product
MAX_TILE_VECTORS = 6
# Rows, columns and depth below which additions cost more than products save, by levels.
LEAST = {1: 48, 2: 64}


def offered(sizes: tuple[int, int, int], dtype: str, tolerance: float) -> tuple[int, ...]:
    """Return how many times over a product (rows, depth, columns) may be computed so.

    It must be exact enough, and large enough to try.
    """
    rows, depth, columns = sizes
    smallest = min(rows, depth // 2, columns // 2)
    levels = [n for n, error in ERRORS.items() if tolerance >= error and smallest >= LEAST[n]]
    return tuple(levels) if dtype == "float32" else ()


def product_space(
    s: Schedule, knob: Knobs, target: Target, levels: tuple[int, ...], loops: tuple[str, str, str]
) -> Schedule:
    """Schedule the stage `product` of loops (row, column, depth) directly, or in such levels."""
    if not levels:
        return derive(s, knob, target)
    ways = {"strassen" if n == 1 else f"strassen {n}": n for n in levels}
    way, knob = knob.branch("algorithm", ("direct", *ways))
    if way == "direct":
        return derive(s, knob, target)
    return strassen(s, knob, target, loops, levels=ways[way])


def strassen(
    s: Schedule,
    knob: Knobs,
    target: Target,
    loops: tuple[str, str, str],
    stage: str = "product",
    levels: int = 1,
) -> Schedule:
    """Schedule a product of loops (row, column, depth), with what follows it element by element.

    The parts of the data are added up for a block of rows, which threads may share, or for all
    rows first. For each panel of columns, and each of the products, tiles of registers run down the
    rows; the products, which are in a near cache, are added up to a panel of each part of the
    result.
    """
    s = _stages(s, stage, levels)
    products = PRODUCTS**levels
    lanes, (y, x, k) = target.lanes(4), loops
    row, column = f"{stage}:{y}", f"{stage}:{x}"
    high, wide, deep = s.extent(y), s.extent(x), s.extent(k)
    rows = knob.split("rows", high, 3, max_inner=16)
    wide = -(-wide // lanes) * lanes  # what adds up works on whole vectors
    columns = knob.split("columns", wide, 2, max_inner=lanes * MAX_TILE_VECTORS, multiple=lanes)
    depth = knob.split("depth", deep, 2, max_inner=16)
    share = knob.choice("share", ("rows", "stages"))
    vectors = -(-columns[1] // lanes)
    knob.require(rows[2] * vectors + vectors + 1 <= target.registers)
    knob.require(rows[2] * vectors * depth[1] <= MAX_BODY)
    block = rows[1] * rows[2] if share == "rows" else 0
    knob.require((block * deep + rows[1] * rows[2] * columns[1]) * products * 4 <= MAX_LOCAL)

    s = s.split(row, rows).split(column, (columns[0], -(-columns[1] // lanes), lanes))
    tile = (f"{row}.0", f"{column}.0", f"{row}.1")
    if share == "stages":
        tile = (f"{column}.0", f"{row}.0", f"{row}.1")
    inner = (f"{row}.2", f"{column}.1", f"{stage}:qy", f"{stage}:qx", f"{stage}:p", f"{column}.2")
    s = s.reorder(*tile, *inner)
    for loop in tile[:1] if share == "rows" else tile[:2]:
        s = s.parallel(loop)
    s = s.unroll(f"{stage}:qy").unroll(f"{stage}:qx").unroll(f"{stage}:p")
    s = s.vectorize(f"{column}.2")
    epilogue = any(b.name == "out" for b in s.loops.buffers)
    s = s.fuse_at("out", f"{column}.1") if epilogue else s.cache_write(stage, f"{column}.1")
    s = s.compute_at(f"{stage}.product", tile[-2])
    s = s.split(y, rows[1:]).split(x, (columns[1] // lanes, lanes)).split(k, depth)
    s = s.reorder("p", f"{y}.0", f"{k}.0", f"{k}.1", f"{y}.1", f"{x}.0", f"{x}.1")
    s = s.unroll(f"{k}.1").unroll(f"{y}.1").unroll(f"{x}.0").vectorize(f"{x}.1")
    s = s.pack(f"{stage}.weights").cache_write(f"{stage}.product", f"{y}.0")
    s = fetched(s, f"{stage}.weights", products * deep * wide * 4, target)
    if share == "rows":
        s = s.compute_at(f"{stage}.input", tile[0])
    return _input(s, f"{stage}.input", y, k, lanes, share)


@lru_cache(maxsize=32)
def _stages(s: Schedule, stage: str, levels: int) -> Schedule:
    """Return the schedule in stages; the same for all candidates, so it is made only once."""
    return s.strassen(stage, levels)


def _input(s: Schedule, stage: str, row: str, depth: str, lanes: int, share: str) -> Schedule:
    """Add up the parts of the data, a vector of the depth at a time, for all products."""
    y, k, p, qy, qk = (f"{stage}:{loop}" for loop in (row, depth, "p", "qy", "qk"))
    s = s.split(k, (-(-s.extent(k) // lanes), lanes))
    s = s.reorder(y, f"{k}.0", p, qy, qk, f"{k}.1")
    if share == "stages":
        s = s.parallel(y)
    s = s.unroll(p).unroll(qy).unroll(qk).vectorize(f"{k}.1")
    return s.cache_write(stage, p)
