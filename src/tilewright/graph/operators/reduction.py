"""Reductions over any axes, and what is made of whole rows: softmax, places of the greatest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    ints,
    refuse_unless,
    text,
)
from tilewright.ops.fused import Fused
from tilewright.ops.pool2d import GlobalAveragePool
from tilewright.ops.program import Program
from tilewright.ops.reduce import ArgMax as ArgMaxWork
from tilewright.ops.reduce import Reduction
from tilewright.ops.softmax import LogSoftmax as LogSoftmaxWork
from tilewright.ops.softmax import Softmax as SoftmaxWork


class Reduce(ByKernel):
    """X reduced over `axes`, which stay as ones. The kind is sum, mean, max, min or prod.

    Integers add up in their own type.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,), axes = inputs, ints(attributes, "axes")
        _check_axes(X, axes)
        return Type(_reduced(X.shape, axes), X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,), axes, kind = inputs, ints(attributes, "axes"), text(attributes, "kind")
        if kind == "mean" and len(X.shape) == 4 and axes == (1, 2):
            return Work(GlobalAveragePool(*X.shape, dtype=X.dtype), ("X",))
        made: Any = Reduction(kind, X.shape, axes, X.dtype)
        if made.expression().dtype != X.dtype:
            made = Fused(made, Program.of("cast", 1, X.dtype))
        return Work(made, ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        axes = tuple(sorted(order.index(axis) for axis in ints(attributes, "axes")))
        return {**attributes, "axes": axes}


class ArgMax(ByKernel):
    """The index, in int64, of the first greatest element along `axis`, which stays as a one.

    With `least` (0 or 1) of the least element, with `last` of the last that is so.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,), axis = inputs, integer(attributes, "axis")
        _check_axes(X, (axis,))
        return Type(_reduced(X.shape, (axis,)), "int64")

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        least, last = bool(attributes["least"]), bool(attributes["last"])
        axis = integer(attributes, "axis")
        return Work(ArgMaxWork(X.shape, axis, X.dtype, least, last), ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {**attributes, "axis": order.index(integer(attributes, "axis"))}


class Softmax(ByKernel):
    """exp(X) over its sum along `axis`; with `log`, the logarithm of that."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,) = inputs
        _check_axes(X, (integer(attributes, "axis"),))
        return Type(X.shape, X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,), axis = inputs, integer(attributes, "axis")
        made = LogSoftmaxWork if attributes["log"] else SoftmaxWork
        return Work(made(X.shape, axis, X.dtype), ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {**attributes, "axis": order.index(integer(attributes, "axis"))}


def _check_axes(X: Type, axes: Shape) -> None:
    refuse_unless(
        bool(axes) and len(set(axes)) == len(axes) and all(0 <= a < len(X.shape) for a in axes),
        f"axes {axes} are not different ones of a tensor of shape {X.shape}.",
    )


def _reduced(shape: Shape, axes: Shape) -> Shape:
    return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
