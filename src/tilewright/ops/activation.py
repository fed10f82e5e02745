"""Activations: functions of one value, alone or one after another, over a tensor of any shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed

Function: TypeAlias = Callable[[Scalar], Scalar]


@dataclass(frozen=True)
class Gelu:
    """x times the share of a normal distribution below x; with `tanh`, an estimate of it."""

    tanh: bool = False

    def __call__(self, x: Scalar) -> Scalar:
        if self.tanh:
            return x * 0.5 * (1.0 + te.tanh((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)))
        return x * 0.5 * (1.0 + te.erf(x * math.sqrt(0.5)))


@dataclass(frozen=True)
class Silu:
    """x * sigmoid(beta * x), also called swish."""

    beta: float = 1.0

    def __call__(self, x: Scalar) -> Scalar:
        return x * te.sigmoid(x if self.beta == 1.0 else x * self.beta)


@dataclass(frozen=True)
class Sigmoid:
    """1 / (1 + exp(-x))."""

    def __call__(self, x: Scalar) -> Scalar:
        return te.sigmoid(x)


@dataclass(frozen=True)
class Tanh:
    """The hyperbolic tangent."""

    def __call__(self, x: Scalar) -> Scalar:
        return te.tanh(x)


@dataclass(frozen=True)
class HardSigmoid:
    """alpha * x + beta, kept between 0 and 1."""

    alpha: float = 0.2
    beta: float = 0.5

    def __call__(self, x: Scalar) -> Scalar:
        return te.maximum(te.minimum(x * self.alpha + self.beta, 1.0), 0.0)


@dataclass(frozen=True)
class HardSwish:
    """x * (x / 6 + 1/2, kept between 0 and 1)."""

    def __call__(self, x: Scalar) -> Scalar:
        return x * HardSigmoid(1 / 6, 0.5)(x)


@dataclass(frozen=True)
class LeakyRelu:
    """x, or alpha * x below zero."""

    alpha: float = 0.01

    def __call__(self, x: Scalar) -> Scalar:
        return te.select(x < 0.0, x * self.alpha, x)


@dataclass(frozen=True)
class Elu:
    """x, or alpha * (exp(x) - 1) below zero."""

    alpha: float = 1.0

    def __call__(self, x: Scalar) -> Scalar:
        return te.select(x < 0.0, (te.exp(te.minimum(x, 0.0)) - 1.0) * self.alpha, x)


@dataclass(frozen=True)
class Clip:
    """x, but at least `low` and at most `high`; None for no bound."""

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        fields.check(self)
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ExpressionError(
                f"clip between {self.low} and {self.high}: the first bound is the lower one."
            )

    def __call__(self, x: Scalar) -> Scalar:
        x = x if self.low is None else te.maximum(x, self.low)
        return x if self.high is None else te.minimum(x, self.high)


@dataclass(frozen=True)
class Activation:
    """Functions applied to X one after another, as in `Activation((Silu(), Clip(0.0, 6.0)), 4096)`.

    X is seen as one dimension of `size`. A function is any frozen value that makes a scalar
    expression of another; of short floats in float32, rounded once at the end.
    """

    functions: tuple[Function, ...]
    size: int
    dtype: str = "float32"

    def __post_init__(self) -> None:
        given: Any = self.functions
        if not isinstance(given, tuple | list) or not given or not all(map(_is_function, given)):  # pyright: ignore[reportUnknownArgumentType]
            raise ExpressionError(
                f"Activation(functions={given!r:.80}): functions is a tuple of at least one "
                "function of a scalar, as in Activation((Silu(), Clip(0.0, 6.0)), 4096)."
            )
        fields.check(self)

    @property
    def name(self) -> str:
        return f"{' '.join(map(_called, self.functions))} {self.size}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        x = te.tensor("X", (self.size,), self.dtype)
        i = te.Axis("i", self.size)
        short = self.dtype in dtypes.SHORT_FLOATS
        value = mixed.wide(x[i]) if short else x[i]
        for function in self.functions:
            value = function(value)
        return te.stage("out", (i,), mixed.stored(value, self.dtype) if short else value)


def _is_function(given: Any) -> bool:
    return callable(given) and not isinstance(given, type)


def _called(function: Function) -> str:
    text = repr(function) if hasattr(function, "__dataclass_fields__") else function.__name__
    return text.removesuffix("()").lower()
