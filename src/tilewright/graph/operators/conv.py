"""Convolution and its transpose, in one to three dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    ints,
    one_type,
    refuse_unless,
    window,
)
from tilewright.ops.conv import Conv as ConvWork
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.depthwise import Depthwise
from tilewright.ops.transposed import TransposedConv as TransposedWork


class Conv(ByKernel):
    """conv(X, W), channels last: X (n, *size, ci), W (*kernel, ci / groups, co).

    Attributes: strides, dilations, pads (before each dimension, then behind each), groups. Output
    channel o belongs to group o // (co / groups).
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        X, W = inputs
        (n, *size, ci), (*kernel, depth, co) = X.shape, W.shape
        groups = integer(attributes, "groups")
        _check_rank(size, kernel)
        _check_channels("a convolution", ci, groups, depth, co)
        out = window(size, kernel, *_windows(attributes))
        return Type((n, *out, co), one_type("convolution", inputs))

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, W = inputs
        (n, *size, ci), (*kernel, _, co) = X.shape, W.shape
        windows = cast(Any, (tuple(kernel), *_windows(attributes)))
        groups, image = integer(attributes, "groups"), tuple(size)
        if _is_product(kernel, attributes):
            return Work(Dense(n * math.prod(size), ci, co, dtype=X.dtype), ("X", "W"))
        make = cast(Any, (Depthwise, Conv2d, ConvWork))
        if len(size) == 2 and groups == ci > 1:
            made = make[0](n, *size, ci, *windows, co // ci, dtype=X.dtype)
        elif len(size) == 2:
            made = make[1](n, *size, ci, co, *windows, groups, dtype=X.dtype)
        else:
            made = make[2](n, image, ci, co, *windows, groups, dtype=X.dtype)
        return Work(made, ("X", "W"))


class ConvFirst(ByKernel):
    """`Conv` as models state it: X (n, ci, *size), W (co, ci / groups, *kernel)."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        return first(Conv().infer(_last(inputs), attributes))

    def compute(self, arrays: Sequence[Any], inputs: Sequence[Type], attributes: Attributes) -> Any:
        X, W = arrays
        given = [X.transpose(to_last(X.ndim)), W.transpose(*range(2, W.ndim), 1, 0)]
        made = Conv().compute(given, _last(inputs), attributes)
        return made.transpose(to_first(made.ndim))


class TransposedConv(ByKernel):
    """The transpose of a convolution, channels last: X (n, *size, ci), W (*kernel, ci / g, co).

    Attributes as of `Conv`, and `output_padding`; `pads` are taken away from the result.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        one_type("transposed convolution", inputs)
        work = self.work(inputs, attributes).kernel
        assert isinstance(work, TransposedWork)
        return Type((work.batch, *work.out, work.channels_out), work.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, W = inputs
        (n, *size, ci), (*kernel, depth, co) = X.shape, W.shape
        groups = integer(attributes, "groups")
        _check_rank(size, kernel)
        _check_channels("a transposed convolution", ci, groups, depth, co)
        strides, pads, dilations = _windows(attributes)
        made = TransposedWork(
            n, tuple(size), ci, co, tuple(kernel), strides, pads, dilations,
            ints(attributes, "output_padding"), groups, dtype=X.dtype,
        )  # fmt: skip
        return Work(made, ("X", "W"))


class TransposedConvFirst(ByKernel):
    """`TransposedConv` as models state it: X (n, ci, *size), W (ci, co / groups, *kernel)."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        X, W = inputs
        groups = integer(attributes, "groups")
        refuse_unless(
            W.shape[0] % groups == 0,
            f"a transposed convolution in {groups} groups cannot use weights of {W.shape}.",
        )
        last = [Type(_shape_last(X.shape), X.dtype), self.weights(W, groups)]
        return first(TransposedConv().infer(last, attributes))

    def compute(self, arrays: Sequence[Any], inputs: Sequence[Type], attributes: Attributes) -> Any:
        (X, W), groups = arrays, integer(attributes, "groups")
        last = [
            Type(_shape_last(inputs[0].shape), inputs[0].dtype),
            self.weights(inputs[1], groups),
        ]
        given = [X.transpose(to_last(X.ndim)), regrouped(W, groups)]
        made = TransposedConv().compute(given, last, attributes)
        return made.transpose(to_first(made.ndim))

    def weights(self, W: Type, groups: int) -> Type:
        """Return the type of the weights as `TransposedConv` takes them."""
        ci, each, *kernel = W.shape
        return Type((*kernel, ci // groups, each * groups), W.dtype, W.constant)


def regrouped(W: Any, groups: int) -> Any:
    """Return weights (ci, co / groups, *kernel) as (*kernel, ci / groups, co)."""
    ci, each, *kernel = W.shape
    split = W.reshape(groups, ci // groups, each, *kernel)
    moved = split.transpose(*range(3, 3 + len(kernel)), 1, 0, 2)
    return moved.reshape(*kernel, ci // groups, groups * each)


def to_last(rank: int) -> Shape:
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> Shape:
    return (0, rank - 1, *range(1, rank - 1))


def first(value: Type) -> Type:
    n, *size, c = value.shape
    return Type((n, c, *size), value.dtype)


def _last(inputs: Sequence[Type]) -> list[Type]:
    X, W = inputs
    co, depth, *kernel = W.shape
    return [
        Type(_shape_last(X.shape), X.dtype, X.constant),
        Type((*kernel, depth, co), W.dtype, W.constant),
    ]


def _shape_last(shape: Shape) -> Shape:
    n, c, *size = shape
    return (n, *size, c)


def _check_channels(what: str, ci: int, groups: int, depth: int, co: int) -> None:
    refuse_unless(
        ci == depth * groups and co % groups == 0,
        f"{what} of {ci} channels in {groups} groups cannot use weights of {depth} by {co} "
        "channels.",
    )


def _check_rank(size: Sequence[int], kernel: Sequence[int]) -> None:
    refuse_unless(
        len(size) == len(kernel) and 1 <= len(size) <= 3,
        f"a convolution of an image of {len(size)} dimensions by a kernel of {len(kernel)}: "
        "both have one to three.",
    )


def _is_product(kernel: Sequence[int], attributes: Attributes) -> bool:
    """Whether a convolution multiplies each pixel with the same matrix, and nothing else."""
    strides, pads, _ = _windows(attributes)
    plain = set(kernel) == {1} and set(strides) == {1} and not any(pads)
    return plain and integer(attributes, "groups") == 1


def _windows(attributes: Attributes) -> tuple[Shape, Shape, Shape]:
    return (ints(attributes, "strides"), ints(attributes, "pads"), ints(attributes, "dilations"))
