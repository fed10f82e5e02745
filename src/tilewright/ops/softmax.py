"""Softmax and its logarithm over an axis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed
from tilewright.ops.fold import axes_of, rows_of


@dataclass(frozen=True)
class Softmax:
    """exp(X) over the sum of exp(X) along `axis`; X is seen as (outer, axis, inner).

    The greatest element is subtracted first, so that no exponential overflows. `inner`, the product
    of the extents after the axis, is left out if it is one. With `masked` a row of nothing but -inf
    gives zeros, not NaN.
    """

    shape: tuple[int, ...]
    axis: int = -1
    dtype: str = "float32"
    masked: bool = False

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("softmax", self.dtype)
        axes_of("softmax", self.shape, self.axis)

    @property
    def name(self) -> str:
        return _named("masked softmax" if self.masked else "softmax", self)

    def expression(self) -> te.Tensor:
        shape = rows_of(self.shape, self.axis % len(self.shape))
        x = _wide(te.tensor("X", shape, self.dtype))
        kept = (shape[0], *shape[2:])
        j, k = te.reduce_axis("j", shape[1]), te.reduce_axis("k", shape[1])
        top = te.compute("top", kept, lambda o, *i: te.max(x(o, j, *i), over=j))

        def power(o: te.Axis, z: te.Axis, *i: te.Axis) -> Scalar:
            most: Scalar = top[o, *i]
            if self.masked:
                most = te.maximum(most, -dtypes.finfo(most.dtype)[1])
            return te.exp(x(o, z, *i) - most)

        def inverse(o: te.Axis, *i: te.Axis) -> Scalar:
            # A sum is at least the 1 of the greatest element, unless all of the row is masked.
            return 1.0 / (te.maximum(total[o, *i], 1.0) if self.masked else total[o, *i])

        raised = te.compute("raised", shape, power)
        total = te.compute("total", kept, lambda o, *i: te.sum(raised[o, k, *i], over=k))
        share = te.compute("share", kept, inverse)

        def result(o: te.Axis, z: te.Axis, *i: te.Axis) -> Scalar:
            return mixed.stored(raised[o, z, *i] * share[o, *i], self.dtype)

        return te.compute("out", shape, result)


@dataclass(frozen=True)
class LogSoftmax:
    """The logarithm of softmax, X - max - log(sum(exp(X - max))); X is seen as by `Softmax`."""

    shape: tuple[int, ...]
    axis: int = -1
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("log_softmax", self.dtype)
        axes_of("log_softmax", self.shape, self.axis)

    @property
    def name(self) -> str:
        return _named("log_softmax", self)

    def expression(self) -> te.Tensor:
        shape = rows_of(self.shape, self.axis % len(self.shape))
        x = _wide(te.tensor("X", shape, self.dtype))
        kept = (shape[0], *shape[2:])
        j, k = te.reduce_axis("j", shape[1]), te.reduce_axis("k", shape[1])
        top = te.compute("top", kept, lambda o, *i: te.max(x(o, j, *i), over=j))
        total = te.compute(
            "total", kept, lambda o, *i: te.sum(te.exp(x(o, k, *i) - top[o, *i]), over=k)
        )
        scale = te.compute("scale", kept, lambda o, *i: te.log(total[o, *i]))

        def result(o: te.Axis, z: te.Axis, *i: te.Axis) -> Scalar:
            return mixed.stored((x(o, z, *i) - top[o, *i]) - scale[o, *i], self.dtype)

        return te.compute("out", shape, result)


def _named(what: str, of: Softmax | LogSoftmax) -> str:
    shape, axis = "x".join(map(str, of.shape)), of.axis % len(of.shape)
    return f"{what} {shape} over {axis}{fields.of(of.dtype)}"


def _wide(x: te.Tensor) -> Callable[..., Scalar]:
    """Return what loads an element in the type in which it is added up."""
    return lambda *at: mixed.wide(x[at])
