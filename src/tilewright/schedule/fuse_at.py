"""fuse_at: a consumer works on each tile of its producer as soon as it is complete."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.expr.affine import Affine
from tilewright.expr.parts import loads
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, around
from tilewright.loops.substitute import in_block, redirect
from tilewright.schedule import find
from tilewright.schedule.tile import keep_tile, tile_of


@dataclass(frozen=True, slots=True)
class FuseAt:
    """Move the elementwise `stage` into `loop` of the stage that it reads, after its tile.

    The producer's tensor shrinks to the tile. Its loops are copied as they are marked now, so mark
    them first.

    >>> from tilewright import Schedule, compute, maximum, reduce_axis, sum, tensor
    >>> a, k = tensor("A", (4, 8)), reduce_axis("k", 8)
    >>> b = compute("B", (4,), lambda y: sum(a[y, k], over=k))
    >>> s = Schedule(compute("C", (4,), lambda i: maximum(b[i], 0.0)))
    >>> print(s.split("y", (2, 2)).reorder("y.0", "k", "y.1").fuse_at("C", "y.0").loops)
    local B[2]: float32
    for y.0 in 2:
      for k in 8:
        for y.1 in 2:
          B[y.1] += A[y.0*2 + y.1, k]
      for C:y.1 in 2:
        C[C:y.1 + y.0*2] = max(B[C:y.1], 0.0)
    """

    stage: str
    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"fuse_at {self.stage!r} at {self.loop!r}"
        chain = around(nest.body, find.loop(nest, self.loop, asked).name)
        outer, consumer = find.stage(nest, self.stage, asked)
        if consumer.reduce:
            find.refuse(nest, asked, "it reduces, so it is not elementwise.")
        if outer:
            find.alone(nest, outer[0], asked)
        source = self._source(nest, chain[-1], consumer, asked)
        readers = find.readers(nest, source)
        if len(readers) != 1:
            find.refuse(nest, asked, f"{len(readers)} stages read {source!r}; one must.")
        reads = set(readers[0][2])
        if len(reads) != 1 or next(iter(reads)).at != consumer.index:
            find.refuse(nest, asked, f"it reads {source!r} at other points than it writes.")
        producer = find.writer(nest, source, asked)
        tile = tile_of(nest, producer.stage, self.loop, asked)
        axes = [i.variables[0] for i in consumer.index if len(i.variables) == 1]
        if len(axes) != len(consumer.index) or len(outer) != len(axes) or consumer.guards:
            find.refuse(nest, asked, "its own loops are already scheduled.")
        old = nest.by_name[source]
        whole = nest.by_name[consumer.buffer].shape
        if any(np.any(a != b) for a, b in zip(whole, old.shape, strict=True)):
            find.refuse(nest, asked, f"it is not as large as {source!r}, which it reads.")
        late = self._late(nest, chain[0], consumer, source)
        if late:
            find.refuse(nest, asked, f"it also reads {late!r}, which is computed after {source!r}.")
        if old.scope == "output":
            find.refuse(nest, asked, f"{source!r} is an output and must be kept whole.")
        values: dict[str, Affine] = dict(zip(axes, producer.index, strict=True))
        after = in_block(consumer, values)
        value = redirect(after.value, source, source, tile.index)

        def consume(block: Block) -> Block:
            return replace(after, value=value, guards=block.guards)

        root = outer[0] if outer else consumer
        rest = tuple(b for b in nest.buffers if b.name != source)
        trimmed = nest.holding(tuple(node for node in nest.body if node is not root), rest)
        buffer = Buffer(source, tile.shape, old.dtype, "local")
        return keep_tile(
            trimmed, tile_of(trimmed, producer.stage, self.loop, asked), buffer, consume
        )

    def _late(self, nest: Nest, root: Loop, consumer: Block, source: str) -> str | None:
        """Return a tensor that the consumer reads but that is not complete before `root`."""
        place = next(i for i, node in enumerate(nest.body) if node is root)
        made = {block.buffer for block in find.blocks(nest.body[place:])} - {source}
        return next((x.buffer for x in loads(consumer.value) if x.buffer in made), None)

    def _source(self, nest: Nest, loop: Loop, consumer: Block, asked: str) -> str:
        inside = {block.buffer for block in find.blocks((loop,))}
        found = [
            name
            for name in inside
            if any(block is consumer for _, block, _ in find.readers(nest, name))
        ]
        if len(found) != 1:
            find.refuse(nest, asked, f"{self.stage!r} reads nothing that {self.loop!r} computes.")
        return found[0]
