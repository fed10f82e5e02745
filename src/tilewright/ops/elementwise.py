"""Elementwise work and the moving of data: ReLU, addition, transposition."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields


@dataclass(frozen=True)
class Relu:
    """max(X, 0), of any shape: X is seen as one dimension."""

    size: int
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)

    @property
    def name(self) -> str:
        return f"relu {self.size}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        x = te.tensor("X", (self.size,), self.dtype)
        return te.compute("out", (self.size,), lambda i: te.maximum(x[i], 0.0))


@dataclass(frozen=True)
class Add:
    """X + R, where R has as many dimensions as X, each as long or 1, along which it is repeated."""

    shape: tuple[int, ...]
    other: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        if len(self.shape) != len(self.other) or any(
            n not in (1, whole) for n, whole in zip(self.other, self.shape, strict=True)
        ):
            raise ExpressionError(
                f"add of {self.shape} and {self.other}: give as many extents, each that of X, or "
                "1, along which R is repeated."
            )

    @property
    def name(self) -> str:
        return f"add {'x'.join(map(str, self.shape))}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        whole = self.shape == self.other
        shape = (prod(self.shape),) if whole else self.shape
        other = shape if whole else self.other
        x = te.tensor("X", shape, self.dtype)
        r = te.tensor("R", other, self.dtype)

        def value(*at: te.Axis) -> Scalar:
            repeated = tuple(i if n > 1 else 0 for i, n in zip(at, other, strict=True))
            return x[at] + r[repeated]

        return te.compute("out", shape, value)


@dataclass(frozen=True)
class Transpose:
    """X with its dimensions in another order, as numpy.transpose does it."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        if sorted(self.order) != list(range(len(self.shape))):
            raise ExpressionError(
                f"transpose of {self.shape} to the order {self.order}: give each of its "
                f"dimensions once, such as {tuple(reversed(range(len(self.shape))))}."
            )

    @property
    def name(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"transpose {shape} to {self.order}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        x = te.tensor("X", self.shape, self.dtype)
        shape = tuple(self.shape[d] for d in self.order)

        def value(*at: te.Axis) -> Scalar:
            return x[tuple(at[self.order.index(d)] for d in range(len(shape)))]

        return te.compute("out", shape, value)
