"""parallel, vectorize, unroll: how the rounds of a loop are run."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.expr.affine import anywhere, text
from tilewright.loops.nodes import Block, Kind, Loop, Nest, around, product, swap
from tilewright.schedule import find, threads

MAX_UNROLL = 1024  # rounds written out one by one; beyond it compilers and code both slow down

MAX_WRITTEN = 1 << 13  # copies of one block, over all unrolled loops round it


def _mark(nest: Nest, name: str, kind: Kind) -> Nest:
    def marked(loop: Loop) -> Loop:
        return Loop(
            loop.name, loop.extent, kind, loop.reduce, loop.body, loop.binds, loop.intrinsic
        )

    return nest.holding(swap(nest.body, name, marked))


@dataclass(frozen=True, slots=True)
class Parallel:
    """Share the rounds of `loop` among threads; parallel loops nested directly count as one.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (4,))
    >>> print(Schedule(compute("B", (4,), lambda x: a[x] + 1.0)).parallel("x").loops)
    parallel for x in 4:
      B[x] = (A[x] + 1.0)
    """

    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"parallel {self.loop!r}"
        loop = find.loop(nest, self.loop, asked)
        if loop.reduce:
            find.refuse(nest, asked, "it reduces: threads would write the same element at once.")
        for outer in around(nest.body, self.loop)[:-1]:
            if reason := threads.barrier(outer):
                find.refuse(nest, asked, f"{reason}.")
        return _mark(nest, self.loop, "parallel")


@dataclass(frozen=True, slots=True)
class Vectorize:
    """Run the rounds of `loop` at once, in vector registers (as many as its extent needs).

    Of a loop that reduces, which must be the innermost, the vectors are reduced to one and then its
    lanes. That is slow in each round of a loop around it: use `rfactor` and reduce once.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (16,))
    >>> print(Schedule(compute("B", (16,), lambda x: a[x] + 1.0)).vectorize("x").loops)
    vectorize for x in 16:
      B[x] = (A[x] + 1.0)
    """

    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"vectorize {self.loop!r}"
        loop = find.loop(nest, self.loop, asked)
        if loop.reduce and not isinstance(loop.body[0], Block):
            find.refuse(
                nest,
                asked,
                "it reduces, and is not the innermost loop; move it there, or rfactor it.",
            )
        if loop.binds:
            find.refuse(nest, asked, "it is fused: its indices are not affine; split it first.")
        for inner in loop.inside.values():
            if any(self.loop in bind.index.variables for bind in inner.binds):
                find.refuse(nest, asked, f"{inner.name!r} in it is fused and made of it, so that "
                            "indices are not affine along it.")  # fmt: skip
        if anywhere(loop.extent > MAX_UNROLL):
            find.refuse(
                nest, asked, f"{text(loop.extent)} rounds at once are too many; split it first."
            )
        for outer, block in find.through(nest, loop):
            marked = [o.name for o in outer if o.kind == "vectorize"]
            if marked:
                find.refuse(nest, asked, f"{marked[0]!r} around {block.stage} already is a vector.")
        for block in () if loop.reduce else find.blocks(loop.body):
            if anywhere(loop.extent > 1) and all(self.loop not in i.variables for i in block.index):
                find.refuse(
                    nest,
                    asked,
                    f"all its rounds store to the same {block.buffer}; "
                    "vectorize a loop that indexes it.",
                )
        return _mark(nest, self.loop, "vectorize")


@dataclass(frozen=True, slots=True)
class Unroll:
    """Write the rounds of `loop` out one by one.

    >>> from tilewright import Schedule, compute, tensor
    >>> a = tensor("A", (4,))
    >>> print(Schedule(compute("B", (4,), lambda x: a[x] + 1.0)).unroll("x").loops)
    unroll for x in 4:
      B[x] = (A[x] + 1.0)
    """

    loop: str

    def apply(self, nest: Nest) -> Nest:
        asked = f"unroll {self.loop!r}"
        loop = find.loop(nest, self.loop, asked)
        if loop.binds:
            find.refuse(nest, asked, "it is fused: its indices are not affine; split it first.")
        if anywhere(loop.extent > MAX_UNROLL):
            find.refuse(nest, asked, f"{text(loop.extent)} rounds are too many; split it first.")
        for outer, block in find.through(nest, loop):
            written = product(tuple(o.extent for o in outer if o.kind == "unroll"))
            if anywhere(written * loop.extent > MAX_WRITTEN):
                find.refuse(
                    nest,
                    asked,
                    f"{text(written * loop.extent)} copies of {block.stage} are too many.",
                )
        return _mark(nest, self.loop, "unroll")
