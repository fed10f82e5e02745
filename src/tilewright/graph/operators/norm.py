"""Normalisation of rows, or of groups of channels: by mean and variance, or to shares of scores."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    number,
    refuse_unless,
)
from tilewright.ops.norm import GroupNorm as GroupNormWork
from tilewright.ops.norm import LayerNorm as LayerNormWork
from tilewright.ops.norm import RmsNorm as RmsNormWork
from tilewright.ops.softmax import Softmax as SoftmaxWork


class LayerNorm(ByKernel):
    """(X - mean) / sqrt(variance + epsilon) over all axes from `axis` on.

    With `rms` the mean is taken for zero. Scale and bias are done after it, element by element.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,), axis = inputs, integer(attributes, "axis")
        refuse_unless(0 <= axis < len(X.shape), f"a tensor of shape {X.shape} has no axis {axis}.")
        return Type(X.shape, X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,), axis, epsilon = inputs, integer(attributes, "axis"), number(attributes, "epsilon")
        if attributes["rms"]:
            return Work(RmsNormWork(X.shape, axis, False, epsilon, X.dtype), ("X",))
        return Work(LayerNormWork(X.shape, axis, False, False, epsilon, X.dtype), ("X",))


class GroupNorm(ByKernel):
    """X (n, *size, c) normalised over each of `groups` groups of channels of each image.

    Scale and bias are done after it, element by element; `first` says that X is (n, c, *size).
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,) = inputs
        channels = X.shape[1 if attributes["first"] else -1] if len(X.shape) > 1 else 0
        groups = integer(attributes, "groups")
        refuse_unless(
            len(X.shape) > 2 and groups > 0 and channels % groups == 0,
            f"a tensor of shape {X.shape} cannot be normalised in {groups} groups of channels.",
        )
        return Type(X.shape, X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,), groups = inputs, integer(attributes, "groups")
        first = bool(attributes["first"])
        channels, size = (X.shape[1], X.shape[2:]) if first else (X.shape[-1], X.shape[1:-1])
        made = GroupNormWork(
            X.shape[0], channels, math.prod(size), groups, False, False, not first,
            number(attributes, "epsilon"), X.dtype,
        )  # fmt: skip
        return Work(made, ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        last = order == (0, *range(2, len(order)), 1)
        return {**attributes, "first": 0} if attributes["first"] and last else None


class MaskedSoftmax(ByKernel):
    """Softmax over the last axis, of which a row of nothing but -inf is zeros."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,) = inputs
        refuse_unless(bool(X.shape), "a single number has no rows.")
        return Type(X.shape, X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        return Work(SoftmaxWork(X.shape, -1, X.dtype, masked=True), ("X",))
