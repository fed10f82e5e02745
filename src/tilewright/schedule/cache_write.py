"""cache_write: a stage works on a small tile, and the tile is copied out when it is complete."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.expr.scalar import Load
from tilewright.loops.nodes import Block, Buffer, Nest
from tilewright.schedule import find
from tilewright.schedule.tile import inside, keep_tile, tile_of


@dataclass(frozen=True, slots=True)
class CacheWrite:
    """Let `stage` compute into `stage.tile` inside `loop`, then copy the tile to its tensor.

    Where all loops over the tile are unrolled or vectors, the tile lives in registers.

    >>> from tilewright import Schedule, compute, reduce_axis, sum, tensor
    >>> a, k = tensor("A", (4, 8)), reduce_axis("k", 8)
    >>> s = Schedule(compute("B", (4,), lambda y: sum(a[y, k], over=k))).split("y", (2, 2))
    >>> print(s.reorder("y.0", "k", "y.1").cache_write("B", "y.0").loops)
    local B.tile[2]: float32
    for y.0 in 2:
      for k in 8:
        for y.1 in 2:
          B.tile[y.1] += A[y.0*2 + y.1, k]
      for B.copy:y.1 in 2:
        B[B.copy:y.1 + y.0*2] = B.tile[B.copy:y.1]
    """

    stage: str
    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"cache_write {self.stage!r} at {self.loop!r}"
        tile = tile_of(nest, self.stage, self.loop, asked)
        written = tile.block.buffer
        if any(block.stage != self.stage for _, block, _ in find.readers(inside(tile), written)):
            find.refuse(nest, asked, f"{written!r} is read in {self.loop!r}, before the copy.")
        name = f"{self.stage}.tile"
        find.unused(nest, name, asked)
        target = nest.by_name[tile.block.buffer]
        buffer = Buffer(name, tile.shape, target.dtype, "local")

        def copy(block: Block) -> Block:
            value = Load(name, tile.index, target.dtype)
            return replace(block, stage=f"{self.stage}.copy", value=value)

        return keep_tile(nest, tile, buffer, copy)
