"""Pooling over windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tilewright.graph.ir import Type
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
from tilewright.ops.pool2d import Pool2d


class Pool(ByKernel):
    """The largest value or the average of each window of X (n, *size, c).

    Attributes: kind ("max" or "average"), kernel, strides, pads (before each dimension, then behind
    each), count_include_pad (0 or 1: whether an average divides by the taps on the padding, too).
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,) = inputs
        n, *size, c = X.shape
        kernel = ints(attributes, "kernel")
        refuse_unless(
            len(size) == len(kernel) and 1 <= len(size) <= 2,
            f"pooling of an image of {len(size)} dimensions by a window of {len(kernel)}: both "
            "have one or two.",
        )
        out = window(
            size, kernel, ints(attributes, "strides"), ints(attributes, "pads"), (1,) * len(size)
        )
        return Type((n, *out, c), X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        n, *size, c = X.shape
        kernel, strides, pads = (ints(attributes, name) for name in ("kernel", "strides", "pads"))
        if len(size) == 1:
            size, kernel, strides = [1, *size], (1, *kernel), (1, *strides)
            pads = (0, pads[0], 0, pads[1])
        seen = cast(Any, (n, size[0], size[1], c, kernel, strides, pads))
        counted = bool(integer(attributes, "count_include_pad"))
        make = cast(Any, Pool2d)
        made = make(text(attributes, "kind"), *seen, counted, dtype=X.dtype)
        averaged = made.kind == "average" and not made.count_include_pad and any(made.pads)
        return Work(made, ("X",), {"D": made.divisors()} if averaged else {})


class PoolFirst(ByKernel):
    """`Pool` of X (n, c, *size)."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        return first(Pool().infer(_last(inputs), attributes))

    def compute(self, arrays: Sequence[Any], inputs: Sequence[Type], attributes: Attributes) -> Any:
        given = [arrays[0].transpose(to_last(arrays[0].ndim))]
        made = Pool().compute(given, _last(inputs), attributes)
        return made.transpose(to_first(made.ndim))


def _last(inputs: Sequence[Type]) -> list[Type]:
    (X,) = inputs
    n, c, *size = X.shape
    return [Type((n, *size, c), X.dtype, X.constant)]
