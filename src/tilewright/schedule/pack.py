"""pack: an operand is laid out in the order in which the loops read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Const, Load, Select, Within
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node, rewrite
from tilewright.loops.substitute import redirect, rename
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Pack:
    """Copy `tensor` into a buffer `tensor.packed` whose dimensions are the loops that index it.

    The loops keep their order, so the kernel reads the copy from front to back. A constant is
    packed at compile time; any other tensor by loops in front of the nest. Where several loops
    share a dimension (y + ky), elements are copied more than once: for a convolution that is
    im2col.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (4, 8))
    >>> s = Schedule(compute("B", (8, 4), lambda x, y: a[y, x] + 1.0))
    >>> print(s.pack("A").loops)
    workspace A.packed[8, 4]: float32
    for A.packed:x in 8:
      for A.packed:y in 4:
        A.packed[A.packed:x, A.packed:y] = A[A.packed:y, A.packed:x]
    for x in 8:
      for y in 4:
        B[x, y] = (A.packed[x, y] + 1.0)
    """

    tensor: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"pack {self.tensor!r}"
        source = find.buffer(nest, self.tensor, asked)
        if source.scope not in ("input", "constant", "workspace"):
            find.refuse(nest, asked, f"it is {source.scope}, not an operand.")
        if source.layout:
            find.refuse(nest, asked, "it is packed already.")
        readers = find.readers(nest, self.tensor)
        if len(readers) != 1 or len(set(readers[0][2])) != 1:
            find.refuse(nest, asked, f"{len(readers)} places load it; one must.")
        if find.gathered(nest, self.tensor):
            find.refuse(nest, asked, "it is read at an index that is data, in no order of loops.")
        outer, block, (load, *_) = readers[0]
        used = {name for i in load.index for name in i.variables}
        chain = tuple(loop for loop in outer if loop.name in used)
        if used - {loop.name for loop in chain}:
            find.refuse(nest, asked, "a fused loop indexes it; pack before you fuse.")
        name = f"{self.tensor}.packed"
        find.unused(nest, name, asked)
        shape = tuple(loop.extent for loop in chain)
        at = tuple(Affine(0, ((loop.name, 1),)) for loop in chain)

        def change(node: Node) -> Node:
            if isinstance(node, Block) and node is block:
                return replace(node, value=redirect(node.value, self.tensor, name, at))
            return node

        body = rewrite(nest.body, change)
        if source.scope == "constant":
            packed = Buffer(
                name, shape, source.dtype, "constant", source.source or source.name, load.index,
                tuple(loop.name for loop in chain), source.made,
            )  # fmt: skip
            kept = tuple(b for b in nest.buffers if b is not source or not source.source)
            return replace(nest, buffers=(*kept, packed), body=body)
        packed = Buffer(name, shape, source.dtype, "workspace")
        copy = _copy(chain, name, at, load, source)
        place = _first_use(body, name)
        return replace(
            nest, buffers=(*nest.buffers, packed), body=(*body[:place], *copy, *body[place:])
        )


def _copy(
    chain: tuple[Loop, ...], name: str, at: tuple[Affine, ...], load: Load, source: Buffer
) -> tuple[Node, ...]:
    """Return the loops that fill the packed buffer; what lies outside of the source is zero."""
    ranges = {loop.name: (0, loop.extent - 1) for loop in chain}
    outside: list[Within] = []
    for index, extent in zip(load.index, source.shape, strict=True):
        low, high = index.bounds(ranges.__getitem__) if not _population(chain) else (0, 0)
        if low < 0 or high >= extent:
            outside.append(Within(index, 0, extent))
    value = load
    for condition in outside:
        value = Select(condition, value, Const(0.0, source.dtype), source.dtype)
    nodes: tuple[Node, ...] = (Block(name, name, at, value),)
    for depth, loop in reversed(list(enumerate(chain))):
        innermost = depth == len(chain) - 1
        vector = innermost and loop.kind == "vectorize"
        nodes = (Loop(loop.name, loop.extent, "vectorize" if vector else "serial", False, nodes),)
    return rename(nodes, f"{name}:")


def _population(chain: tuple[Loop, ...]) -> bool:
    return any(isinstance(loop.extent, np.ndarray) for loop in chain)


def _first_use(body: tuple[Node, ...], name: str) -> int:
    for place, node in enumerate(body):
        probe = Nest("", (), (node,))
        if find.readers(probe, name):
            return place
    return len(body)
