"""Activations: functions of one value, alone or one after another, over a tensor of any shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.functions import log1p
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
class Selu:
    """gamma * x, or gamma * alpha * (exp(x) - 1) below zero."""

    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875

    def __call__(self, x: Scalar) -> Scalar:
        below = (te.exp(te.minimum(x, 0.0)) - 1.0) * (self.alpha * self.gamma)
        return te.select(x < 0.0, below, x * self.gamma)


@dataclass(frozen=True)
class Celu:
    """x, or alpha * (exp(x / alpha) - 1) below zero."""

    alpha: float = 1.0

    def __call__(self, x: Scalar) -> Scalar:
        below = te.exp(te.minimum(x, 0.0) / self.alpha) - 1.0
        return te.select(x < 0.0, below * self.alpha, x)


@dataclass(frozen=True)
class Softplus:
    """log(1 + exp(x)), which neither overflows nor loses what is far below zero."""

    def __call__(self, x: Scalar) -> Scalar:
        return te.maximum(x, 0.0) + log1p(te.exp(-abs(x)))


@dataclass(frozen=True)
class Softsign:
    """x / (1 + |x|)."""

    def __call__(self, x: Scalar) -> Scalar:
        return x / (abs(x) + 1.0)


@dataclass(frozen=True)
class Mish:
    """x * tanh(log(1 + exp(x)))."""

    def __call__(self, x: Scalar) -> Scalar:
        return x * te.tanh(Softplus()(x))


@dataclass(frozen=True)
class ThresholdedRelu:
    """x above alpha, and 0 up to there."""

    alpha: float = 1.0

    def __call__(self, x: Scalar) -> Scalar:
        return te.select(x <= self.alpha, 0.0, x)


@dataclass(frozen=True)
class Shrink:
    """x nearer to zero by `bias`, and 0 between -threshold and threshold.

    Without a bias it is also called hard shrinkage, with that of the threshold soft shrinkage.
    """

    threshold: float = 0.5
    bias: float = 0.0

    def __call__(self, x: Scalar) -> Scalar:
        above = te.select(x <= self.threshold, 0.0, x - self.bias)
        return te.select(x < -self.threshold, x + self.bias, above)


@dataclass(frozen=True)
class Clip:
    """x, but at least `low` and at most `high`; None for no bound.

    Of integers the bounds are rounded inwards, and one that they never reach is none.
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        fields.check(self)
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ExpressionError(
                f"clip between {self.low} and {self.high}: the first bound is the lower one."
            )

    def __call__(self, x: Scalar) -> Scalar:
        low, high = self.low, self.high
        if dtypes.is_integer(x.dtype):
            low, high = _whole_bounds(low, high, x.dtype)
        x = x if low is None else te.maximum(x, low)
        return x if high is None else te.minimum(x, high)


def _whole_bounds(
    low: float | None, high: float | None, dtype: str
) -> tuple[int | None, int | None]:
    """Return bounds of integers; None where each integer of the type is within."""
    info = np.iinfo(dtype)
    least = None if low is None or low <= info.min else math.ceil(low)
    most = None if high is None or high >= info.max else math.floor(high)
    return least, most


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
