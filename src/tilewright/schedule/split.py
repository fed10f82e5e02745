"""split: one loop becomes several, outermost first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.expr.affine import Affine, Extent, anywhere, greatest, text
from tilewright.expr.scalar import Within
from tilewright.loops.nodes import Block, Loop, Nest, product, rewrite, swap
from tilewright.loops.substitute import in_nodes
from tilewright.schedule import find


@dataclass(frozen=True, slots=True)
class Split:
    """Split `loop` into `loop.0`, `loop.1`, … with the extents `factors`.

    If the factors multiply to more than the extent, the rounds beyond it are guarded; the outermost
    factor is then reduced to what is needed.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (10,))
    >>> s = Schedule(compute("B", (10,), lambda x: a[x] + 1.0))
    >>> print(s.loops)
    for x in 10:
      B[x] = (A[x] + 1.0)
    >>> print(s.split("x", (3, 4)).loops)
    for x.0 in 3:
      for x.1 in 4:
        if x.0*4 + x.1 < 10: B[x.0*4 + x.1] = (A[x.0*4 + x.1] + 1.0)
    """

    loop: str
    factors: tuple[Extent, ...]

    def apply(self, nest: Nest) -> Nest:
        asked = f"split {self.loop!r} by ({', '.join(map(text, self.factors))})"
        loop = find.loop(nest, self.loop, asked)
        self._check(nest, loop, asked)
        inner = self.factors[1:]
        outer = -(-loop.extent // product(inner))
        extents = (outer, *inner)
        names = [f"{self.loop}.{i}" for i in range(len(extents))]
        for name in names:
            find.unused(nest, name, asked)
        index = Affine.sum(0, [(n, product(extents[i + 1 :])) for i, n in enumerate(names)])
        covers = not anywhere(product(extents) != loop.extent)
        guard = () if covers else (Within(index, -(1 << 60), greatest(loop.extent)),)

        body = in_nodes(loop.body, {self.loop: index})
        if guard:
            body = rewrite(
                body,
                lambda n: replace(n, guards=(*n.guards, *guard)) if isinstance(n, Block) else n,
            )
        binds = tuple(replace(b, index=b.index.substitute({self.loop: index})) for b in loop.binds)
        for name, extent in reversed(list(zip(names, extents, strict=True))):
            body = (Loop(name, extent, "serial", loop.reduce, body, binds),)
            binds = ()
        return nest.holding(swap(nest.body, self.loop, lambda _: body[0]))

    def _check(self, nest: Nest, loop: Loop, asked: str) -> None:
        if len(self.factors) < 2 or any(anywhere(f < 1) for f in self.factors):
            find.refuse(nest, asked, "give two or more factors, each at least 1.")
        if loop.kind != "serial":
            find.refuse(nest, asked, f"it is already marked {loop.kind}; split it before.")
        covered = product(self.factors)
        if anywhere(covered < loop.extent):
            times = " * ".join(map(text, self.factors))
            find.refuse(
                nest,
                asked,
                f"{times} = {text(covered)}, but {self.loop!r} runs {text(loop.extent)} times."
                f"\n  factors of {text(loop.extent)} in two parts: {_pairs(loop.extent)}",
            )


def _pairs(extent: Extent) -> str:
    if isinstance(extent, np.ndarray):
        return "differ over the population"
    pairs = [f"({d}, {extent // d})" for d in range(1, extent + 1) if extent % d == 0]
    return " ".join(pairs[:12]) + (" …" if len(pairs) > 12 else "")
