"""Pooling over windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.conv import first, to_first, to_last
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    ints,
    refuse_unless,
    text,
    window,
)
from tilewright.ops import pool as works
from tilewright.ops.pool2d import Pool2d


class Pool(ByKernel):
    """The greatest value, the average or the sum of each window of X (n, *size, c).

    Attributes: kind ("max", "average" or "sum"), kernel, strides, dilations, pads (before each
    dimension, then behind each), overhang (more of it behind each), count_include_pad (0 or 1:
    whether an average divides by the taps on the padding, too; by those on the overhang never).
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,) = inputs
        refuse_unless(len(X.shape) > 2, f"a tensor of shape {X.shape} is no image in a batch.")
        n, *size, c = X.shape
        return Type((n, *_windows(size, attributes), c), X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        n, *size, c = X.shape
        kind, counted = text(attributes, "kind"), bool(integer(attributes, "count_include_pad"))
        kernel, strides, pads, dilations, overhang = (
            ints(attributes, name)
            for name in ("kernel", "strides", "pads", "dilations", "overhang")
        )
        if len(size) == 2 and max(dilations) == 1 and not any(overhang) and kind != "sum":
            make: Any = Pool2d
            made: Any = make(kind, n, *size, c, kernel, strides, pads, counted, dtype=X.dtype)
            divides = kind == "average" and not counted and any(pads)
        else:
            made = works.Pool(
                kind, n, tuple(size), c, kernel, strides, pads, dilations, overhang, counted,
                X.dtype,
            )  # fmt: skip
            divides = made.divides
        return Work(made, ("X",), {"D": made.divisors()} if divides else {})


class PoolFirst(ByKernel):
    """`Pool` of X (n, c, *size)."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        return first(Pool().infer(_last(inputs), attributes))

    def compute(self, arrays: Sequence[Any], inputs: Sequence[Type], attributes: Attributes) -> Any:
        given = [arrays[0].transpose(to_last(arrays[0].ndim))]
        made = Pool().compute(given, _last(inputs), attributes)
        return made.transpose(to_first(made.ndim))


class PoolPlaces(ByKernel):
    """Where in X (n, c, *size), seen flat, the greatest of each window is: int64.

    Attributes as of `Pool`, and `columns` (0 or 1: whether the last dimension of an image moves on
    by the longest step).
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,) = inputs
        n, c, *size = X.shape
        return Type((n, c, *_windows(size, attributes)), "int64")

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        n, c, *size = X.shape
        kernel, strides, pads, dilations, overhang = (
            ints(attributes, name)
            for name in ("kernel", "strides", "pads", "dilations", "overhang")
        )
        made = works.PoolPlaces(
            n * c, tuple(size), kernel, strides, pads, dilations, overhang,
            bool(attributes["columns"]), X.dtype,
        )  # fmt: skip
        return Work(made, ("X",))


class WindowSum(ByKernel):
    """For each place along `axis` the sum of X from `before` ahead of it to `behind` after it."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,), axis = inputs, integer(attributes, "axis")
        refuse_unless(0 <= axis < len(X.shape), f"a tensor of shape {X.shape} has no axis {axis}.")
        return Type(X.shape, X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,), axis = inputs, integer(attributes, "axis")
        before, behind = integer(attributes, "before"), integer(attributes, "behind")
        outer, inner = math.prod(X.shape[:axis]), math.prod(X.shape[axis + 1 :])
        made = works.Pool(
            "sum", outer, (X.shape[axis],), inner, (before + behind + 1,), pads=(before, behind),
            dtype=X.dtype,
        )  # fmt: skip
        return Work(made, ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {**attributes, "axis": order.index(integer(attributes, "axis"))}


def _windows(size: Sequence[int], attributes: Attributes) -> Shape:
    """Return how many windows there are in each dimension."""
    kernel, pads = ints(attributes, "kernel"), ints(attributes, "pads")
    refuse_unless(
        len(size) == len(kernel) and 1 <= len(size) <= 3,
        f"pooling of an image of {len(size)} dimensions by a window of {len(kernel)}: both "
        "have one to three.",
    )
    count = len(size)
    behind = zip(pads[count:], ints(attributes, "overhang"), strict=True)
    around = (*pads[:count], *map(sum, behind))
    return window(size, kernel, ints(attributes, "strides"), around, ints(attributes, "dilations"))


def _last(inputs: Sequence[Type]) -> list[Type]:
    (X,) = inputs
    n, c, *size = X.shape
    return [Type((n, *size, c), X.dtype, X.constant)]
