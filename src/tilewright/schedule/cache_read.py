"""cache_read: what a loop reads of a tensor is first copied into a small buffer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Load
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node, rewrite
from tilewright.loops.substitute import redirect
from tilewright.schedule import find
from tilewright.schedule.compute_at import ComputeAt


@dataclass(frozen=True, slots=True)
class CacheRead:
    """Copy the region of `tensor` that each round of `loop` reads into `tensor.local`.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (10,))
    >>> s = Schedule(compute("B", (8,), lambda x: a[x] + a[x + 2])).split("x", (2, 4))
    >>> print(s.cache_read("A", "x.0").loops)
    local A.local[6]: float32
    for x.0 in 2:
      for A.local:0 in 6:
        A.local[A.local:0] = A[A.local:0 + x.0*4]
      for x.1 in 4:
        B[x.0*4 + x.1] = (A.local[x.1] + A.local[x.1 + 2])
    """

    tensor: str
    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"cache_read {self.tensor!r} at {self.loop!r}"
        source = find.buffer(nest, self.tensor, asked)
        at = find.loop(nest, self.loop, asked)
        name = f"{self.tensor}.local"
        find.unused(nest, name, asked)
        inside = {id(block) for _, block, _ in find.readers(replace(nest, body=(at,)), self.tensor)}
        if not inside:
            find.refuse(nest, asked, f"{self.loop!r} does not read {self.tensor!r}.")
        find.no_vector(nest, self.loop, asked)
        if any(block.buffer == self.tensor for block in find.blocks((at,))):
            find.refuse(nest, asked, f"{self.loop!r} also computes {self.tensor!r}.")
        axes = [f"{name}:{d}" for d in range(len(source.shape))]
        index = tuple(Affine(0, ((axis, 1),)) for axis in axes)
        copy: Node = Block(name, name, index, Load(self.tensor, index, source.dtype))
        for axis, extent in reversed(list(zip(axes, source.shape, strict=True))):
            copy = Loop(axis, extent, "serial", False, (copy,))

        def change(node: Node) -> Node:
            if isinstance(node, Block) and id(node) in inside:
                return replace(node, value=redirect(node.value, self.tensor, name, None))
            return node

        buffer = Buffer(name, source.shape, source.dtype, "workspace")
        body = (copy, *rewrite(nest.body, change))
        whole = replace(nest, buffers=(*nest.buffers, buffer), body=body)
        return ComputeAt(name, self.loop).apply(whole)
