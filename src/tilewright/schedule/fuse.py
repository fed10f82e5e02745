"""fuse: two loops, one directly in the other, become one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilewright.expr.affine import Affine
from tilewright.loops.nodes import Bind, Loop, Nest, swap
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Fuse:
    """Make `outer` and `inner` one loop, called `outer+inner`, over all their pairs.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (4, 8))
    >>> s = Schedule(compute("B", (4, 8), lambda y, x: a[y, x] + 1.0))
    >>> print(s.fuse("y", "x").loops)
    for y+x in 32:
      y = (y+x) // 8 % 4
      x = (y+x) // 1 % 8
      B[y, x] = (A[y, x] + 1.0)
    """

    outer: str
    inner: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"fuse {self.outer!r} and {self.inner!r}"
        outer, inner = find.loop(nest, self.outer, asked), find.loop(nest, self.inner, asked)
        name = f"{self.outer}+{self.inner}"
        find.unused(nest, name, asked)
        if len(outer.body) != 1 or outer.body[0] is not inner:
            find.refuse(nest, asked, f"{self.inner!r} is not the only thing in {self.outer!r}.")
        if outer.reduce != inner.reduce:
            find.refuse(nest, asked, "one of them reduces and the other does not.")
        if outer.kind != "serial" or inner.kind != "serial":
            find.refuse(nest, asked, "fuse loops before they are marked.")
        if isinstance(outer.extent, np.ndarray) or isinstance(inner.extent, np.ndarray):
            a, b = np.max(outer.extent), np.max(inner.extent)  # features need only the product
        else:
            a, b = outer.extent, inner.extent
        index = Affine(0, ((name, 1),))
        binds = (
            Bind(self.outer, index, int(b), int(a)),
            Bind(self.inner, index, 1, int(b)),
            *outer.binds,
            *inner.binds,
        )
        extent = outer.extent * inner.extent
        fused = Loop(name, extent, "serial", outer.reduce, inner.body, binds)
        return nest.holding(swap(nest.body, self.outer, lambda _: fused))
