"""rfactor: a reduction keeps partial results along one of its loops, and reduces those at last."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Load
from tilewright.loops.nodes import (
    Block,
    Buffer,
    Loop,
    Nest,
    Node,
    nest_in,
    rewrite,
    variables,
    without,
)
from tilewright.loops.substitute import rename
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Rfactor:
    """Keep a result of `stage` for each round of the reduce loop `loop`, and reduce these after.

    The loop no longer reduces, so it can be shared among threads or run in vector lanes. The
    partial results are a new stage, `stage.part`, in the loops as they are; `stage` reduces them in
    loops of its own, just after the outermost of its reduce loops. Sums are added up in another
    order, which is exact but for rounding.

    >>> from tilewright import Schedule, compute, reduce_axis, sum, tensor
    >>> a, k = tensor("A", (4, 64)), reduce_axis("k", 64)
    >>> s = Schedule(compute("B", (4,), lambda y: sum(a[y, k], over=k))).split("k", (8, 8))
    >>> print(s.loops)
    for y in 4:
      for k.0 in 8:
        for k.1 in 8:
          B[y] += A[y, k.0*8 + k.1]
    >>> print(s.rfactor("B", "k.1").loops)
    local B.part[8]: float32
    for y in 4:
      for k.0 in 8:
        for k.1 in 8:
          B.part[k.1] += A[y, k.0*8 + k.1]
      for B:k.1 in 8:
        B[y] += B.part[B:k.1]
    """

    stage: str
    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"rfactor {self.stage!r} along {self.loop!r}"
        loop = find.loop(nest, self.loop, asked)
        outer, block = find.stage(nest, self.stage, asked)
        self._check(nest, loop, outer, block, asked)
        first = next(place for place, around in enumerate(outer) if around.reduce)
        inner = tuple(around for around in outer[first:] if not around.reduce)
        target = nest.by_name[block.buffer]
        name = f"{self.stage}.part"
        find.unused(nest, name, asked)
        kept_loops = (*inner, loop)
        at = tuple(Affine(0, ((around.name, 1),)) for around in kept_loops)
        scope = "local" if first else "workspace"  # at the top, threads may share the loop
        buffer = Buffer(name, tuple(x.extent for x in kept_loops), target.dtype, scope)
        reducing = {v for around in outer if around.reduce for v in variables(around)}
        kept = tuple(g for g in block.guards if not set(g.index.variables) & reducing)
        skips = tuple(g for g in block.guards if g not in kept)
        # A partial result that no round adds to must be neutral, so these guard the update alone.
        part = replace(
            block, stage=name, buffer=name, index=at, guards=kept, when=(*skips, *block.when)
        )
        value = Load(name, at, target.dtype)
        total = replace(block, value=value, init=True, guards=kept, when=())
        again = Loop(self.loop, loop.extent, "serial", True, (total,))
        after = rename(
            nest_in(tuple(without(x, reducing) for x in inner), (again,)), f"{self.stage}:"
        )
        for added in _chain(after[0]):
            find.unused(nest, added.name, asked)

        def change(node: Node) -> Node | tuple[Node, ...]:
            if node is block:
                return part
            if isinstance(node, Loop) and node.name == self.loop:
                node = replace(node, reduce=False)
            if isinstance(node, Loop) and node.name == outer[first].name:
                return (node, *after)
            return node

        return replace(nest, buffers=(*nest.buffers, buffer), body=rewrite(nest.body, change))

    def _check(
        self, nest: Nest, loop: Loop, outer: tuple[Loop, ...], block: Block, asked: str
    ) -> None:
        names = [around.name for around in outer]
        reduce = ", ".join(around.name for around in outer if around.reduce) or "none"
        if self.loop not in names:
            find.refuse(
                nest,
                asked,
                f"{self.loop!r} is not a loop round {self.stage!r}; its reduce loops are {reduce}.",
            )
        if not block.reduce or not loop.reduce:
            find.refuse(
                nest,
                asked,
                f"{self.loop!r} does not reduce {self.stage!r}; its reduce loops are {reduce}.",
            )
        others = [b.stage for b in find.blocks((loop,)) if b.reduce and b is not block]
        if others:
            find.refuse(nest, asked, f"{others[0]!r} reduces in {self.loop!r} too.")
        first = next(place for place, around in enumerate(outer) if around.reduce)
        if first:
            find.no_vector(nest, names[first - 1], asked)
        if loop.kind == "vectorize":
            find.refuse(nest, asked, f"{self.loop!r} already is a vector; rfactor it before.")


def _chain(node: Node) -> list[Loop]:
    found: list[Loop] = []
    while isinstance(node, Loop):
        found.append(node)
        node = node.body[0]
    return found
