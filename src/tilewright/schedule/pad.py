"""pad: a loop runs to the next multiple, so that later splits divide it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.expr.affine import Affine, anywhere, greatest
from tilewright.expr.scalar import Within
from tilewright.loops.nodes import Block, Nest, rewrite, swap
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Pad:
    """Raise the extent of `loop` to a multiple of `multiple`; the added rounds are guarded.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (7,))
    >>> s = Schedule(compute("B", (7,), lambda x: a[x] + 1.0)).pad("x", 4)
    >>> print(s.loops)
    for x in 8:
      if x < 7: B[x] = (A[x] + 1.0)
    """

    loop: str
    multiple: int

    def apply(self, nest: Nest) -> Nest:
        asked = f"pad {self.loop!r} to a multiple of {self.multiple}"
        loop = find.loop(nest, self.loop, asked)
        if anywhere(self.multiple < 1):
            find.refuse(nest, asked, "the multiple must be at least 1.")
        extent = -(-loop.extent // self.multiple) * self.multiple
        if not anywhere(extent != loop.extent):
            return nest
        guard = Within(Affine(0, ((self.loop, 1),)), -(1 << 60), greatest(loop.extent))

        body = rewrite(
            loop.body,
            lambda n: replace(n, guards=(*n.guards, guard)) if isinstance(n, Block) else n,
        )
        padded = replace(loop, extent=extent, body=body)
        return nest.holding(swap(nest.body, self.loop, lambda _: padded))
