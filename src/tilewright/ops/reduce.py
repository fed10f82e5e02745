"""Reductions over any axes: sum, mean, max, min, product, and where the greatest element is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import prod

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import equal, not_equal
from tilewright.expr.tensor import REDUCTIONS, Reduce
from tilewright.ops import fields, mixed
from tilewright.ops.fold import axes_of, folded, rows_of

KINDS = (*REDUCTIONS, "mean")


@dataclass(frozen=True)
class Reduction:
    """X reduced over `axes`; what `kind` is one of: sum, max, min, prod, mean.

    X is seen with neighbouring axes merged that are all reduced, or all kept (`fold.folded`); the
    result holds the merged axes that are kept. Sums and products are of the type that `mixed` says:
    int32 for 8-bit integers, and else that of X, in which integers wrap. Means are of floats, and
    err as `norm` says, or of 8-bit integers, and round halves to even.
    """

    kind: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        if self.kind not in KINDS:
            raise ExpressionError(f"unknown reduction {self.kind!r}: it is {', '.join(KINDS)}.")
        axes = axes_of(self.kind, self.shape, self.axes)
        if self.kind == "mean":
            mixed.check_mean("mean", self.dtype, math.prod(self.shape[axis] for axis in axes))

    @property
    def name(self) -> str:
        over = ", ".join(map(str, axes_of(self.kind, self.shape, self.axes)))
        shape = "x".join(map(str, self.shape))
        return f"{self.kind} {shape} over {over}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        shape, gone = folded(self.shape, axes_of(self.kind, self.shape, self.axes))
        x = te.tensor("X", shape, self.dtype)
        over = [te.reduce_axis(f"r{d}", n) for d, n in enumerate(shape) if gone[d]]
        kept = tuple(n for d, n in enumerate(shape) if not gone[d])
        kind = "sum" if self.kind == "mean" else self.kind

        def value(*i: te.Axis) -> Reduce:
            rest, reduced = iter(i), iter(over)
            one = x[tuple(next(reduced if g else rest) for g in gone)]
            return te.reduce(kind, one if kind in ("max", "min") else mixed.wide(one), over)

        total = te.compute("total", kept, value)
        if self.kind == "mean":
            count = prod(axis.extent for axis in over)
            return te.compute("out", kept, lambda *i: mixed.divided(total[i], count, self.dtype))
        if total.dtype in (self.dtype, mixed.result(self.dtype)):
            return total
        return te.compute("out", kept, lambda *i: te.cast(self.dtype, total[i]))


@dataclass(frozen=True)
class ArgMax:
    """The index, in int64, of the first greatest element along `axis`, or of the first NaN.

    With `least` of the least element, with `last` of the last that is so. X is seen as (outer,
    axis, inner), like that of softmax.
    """

    shape: tuple[int, ...]
    axis: int = -1
    dtype: str = "float32"
    least: bool = False
    last: bool = False

    def __post_init__(self) -> None:
        fields.check(self)
        axes_of("argmax", self.shape, self.axis)

    @property
    def name(self) -> str:
        shape, kind = "x".join(map(str, self.shape)), "argmin" if self.least else "argmax"
        over = self.axis % len(self.shape)
        return f"{'last ' * self.last}{kind} {shape} over {over}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        shape = rows_of(self.shape, self.axis % len(self.shape))
        x = te.tensor("X", shape, self.dtype)
        kept = (shape[0], *shape[2:])
        j, k = te.reduce_axis("j", shape[1]), te.reduce_axis("k", shape[1])
        extreme = te.min if self.least else te.max
        top = te.compute("top", kept, lambda o, *i: extreme(x[o, j, *i], over=j))

        def found(o: te.Axis, *i: te.Axis) -> Reduce:
            one = x[o, k, *i]
            here = equal(one, top[o, *i])
            if dtypes.is_float(self.dtype):
                here = here | not_equal(one, one)
            if self.last:
                return te.max(te.select(here, te.cast("int32", k), -1), over=k)
            return te.min(te.select(here, te.cast("int32", k), shape[1]), over=k)

        place = te.compute("place", kept, found)
        return te.compute("out", kept, lambda *i: te.cast("int64", place[i]))
