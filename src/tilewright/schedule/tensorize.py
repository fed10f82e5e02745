"""tensorize: an instruction computes a vector loop and the reduction in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilewright.loops.nodes import Block, Nest, swap
from tilewright.schedule import find
from tilewright.schedule.annotate import Vectorize
from tilewright.schedule.intrinsics import INTRINSICS, match


@dataclass(frozen=True, slots=True)
class Tensorize:
    """Run the lanes of `loop`, and the whole reduction that is all it holds, by `intrinsic`.

    The loops stay, marked, and mean what they did; they must be those of the intrinsic
    (`schedule.intrinsics`): the extent of the reduction, the types, and the steps with which the
    loops go through each tensor, which packing brings about. `loop` becomes a vector loop of any
    extent. Where guards cut a round in two, code computes it without the instruction.

    >>> from tilewright import Schedule, cast, compute, reduce_axis, sum, tensor
    >>> a, w = tensor("A", (4, 64), "uint8"), tensor("W", (64, 32), "int8", constant=True)
    >>> k = reduce_axis("k", 64)
    >>> product = lambda y, x: sum(cast("int32", a[y, k]) * cast("int32", w[k, x]), over=k)
    >>> s = Schedule(compute("C", (4, 32), product))
    >>> s = s.split("k", (16, 4)).reorder("y", "k.0", "x", "k.1").pack("W")
    >>> print(s.tensorize("x", "vnni_u8s8").loops)
    constant W.packed[16, 32, 4]: int8 = packed W
    for y in 4:
      for k.0 in 16:
        vectorize for x in 32:
          vnni_u8s8 for k.1 in 4:
            C[y, x] += (int32(A[y, k.0*4 + k.1]) * int32(W.packed[k.0, x, k.1]))
    """

    loop: str
    intrinsic: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"tensorize {self.loop!r} by {self.intrinsic!r}"
        loop = find.loop(nest, self.loop, asked)
        if self.intrinsic not in INTRINSICS:
            find.refuse(nest, asked, f"there are {', '.join(INTRINSICS)}.")
        inner = loop.body[0]
        if len(loop.body) != 1 or isinstance(inner, Block):
            find.refuse(
                nest, asked, f"{self.loop!r} must hold one loop, the reduction; reorder them first."
            )
        found = match(INTRINSICS[self.intrinsic], self.loop, inner, nest.by_name)
        if isinstance(found, str):
            find.refuse(nest, asked, f"{found}.")
        if inner.kind not in ("serial", "unroll"):
            find.refuse(nest, asked, f"{inner.name!r} is already marked {inner.kind}.")
        if loop.kind != "vectorize":
            nest = Vectorize(self.loop).apply(nest)
        marked = replace(inner, kind="unroll", intrinsic=self.intrinsic)
        return nest.holding(swap(nest.body, inner.name, lambda _: marked))
