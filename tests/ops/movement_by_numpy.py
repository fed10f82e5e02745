"""What movements and activations compute, said again with NumPy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from tilewright.ops.activation import (
    Activation,
    Celu,
    Clip,
    Elu,
    Gelu,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    Mish,
    Selu,
    Shrink,
    Sigmoid,
    Silu,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu,
)
from tilewright.ops.gather import Gather, GatherElements
from tilewright.ops.movement import Concat, Pad, Slice
from tilewright.ops.resize import Resize
from tilewright.tuning.task import Operator

Array: TypeAlias = np.ndarray[Any, Any]


def compute(operator: Operator, arrays: Mapping[str, Array]) -> Array | None:
    """Return the result in float64; None for other operators."""
    match operator:
        case Concat():
            parts = [arrays[f"X{i}"] for i in range(len(operator.shapes))]
            return np.concatenate(parts, operator.axis)
        case Gather():
            x = arrays["X"].reshape(operator.shape)
            at = _places(arrays["I"], operator.shape[operator.axis])
            return np.take(x, at, operator.axis).reshape(operator.expression().shape)
        case GatherElements():
            at = _places(arrays["I"], operator.shape[operator.axis])
            others = tuple(
                slice(None) if d == operator.axis % at.ndim else slice(0, n)
                for d, n in enumerate(at.shape)
            )
            return np.take_along_axis(arrays["X"][others], at, operator.axis)
        case Slice():
            cuts = zip(operator.start, operator.count, operator.step, strict=True)
            return arrays["X"][np.ix_(*([a + i * step for i in range(n)] for a, n, step in cuts))]
        case Pad():
            width = list(zip(operator.before, operator.behind, strict=True))
            more = {"constant_values": operator.value} if operator.mode == "constant" else {}
            mode: Any = operator.mode
            return np.pad(arrays["X"], width, mode, **more)
        case Resize():
            out = arrays["X"]
            for d, (n, size) in enumerate(zip(operator.shape, operator.size, strict=True)):
                out = out if n == size else _resized(operator, out, d, n, size)
            return out
        case Activation():
            out = arrays["X"]
            for function in operator.functions:
                out = _applied(function, out)
            return out
        case _:
            return None


def _places(indices: Array, extent: int) -> Array:
    """Return indices that NumPy takes: those beyond an end are that end."""
    return np.clip(indices, -extent, extent - 1).astype(np.int64)


def _resized(op: Resize, x: Array, d: int, n: int, size: int) -> Array:
    y = np.arange(size, dtype=np.float64)
    match op.coordinates:
        case "asymmetric":
            at = y * n / size
        case "align_corners":
            at = y * (n - 1) / max(1, size - 1)
        case "tf_crop_and_resize":
            at = y * (n - 1) / (size - 1) if size > 1 else np.array([(n - 1) / 2])
        case "tf_half_pixel_for_nn":
            at = (2 * y + 1) * n / (2 * size)
        case "pytorch_half_pixel" if size == 1:
            at = np.zeros(1)
        case _:
            at = ((2 * y + 1) * n - size) / (2 * size)
    if op.mode == "nearest":
        rounded = {
            "round_prefer_floor": np.ceil(at - 0.5),
            "round_prefer_ceil": np.floor(at + 0.5),
            "floor": np.floor(at),
            "ceil": np.ceil(at),
        }[op.rounding]
        return np.take(x, np.clip(rounded, 0, n - 1).astype(int), d)
    shrink = min(1.0, size / n) if op.antialias else 1.0
    around = np.arange(-2 * n - 4, 3 * n + 4)  # far enough beyond the ends for every window
    weights = _weight(op, (around - at[:, None]) * shrink)
    if op.exclude_outside:
        weights = weights * ((around >= 0) & (around < n))
    weights = weights / weights.sum(1, keepdims=True)
    shares = np.zeros((size, n))
    for place, column in zip(np.clip(around, 0, n - 1), weights.T, strict=True):
        shares[:, place] += column
    return np.moveaxis(np.tensordot(shares, x, (1, d)), 0, d)


def _weight(op: Resize, distance: Array) -> Array:
    d, a = np.abs(distance), op.cubic
    if op.mode == "linear":
        return np.maximum(0, 1 - d)
    near = (a + 2) * d**3 - (a + 3) * d**2 + 1
    far = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _applied(function: object, x: Array) -> Array:
    match function:
        case Gelu(tanh=True):
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        case Gelu():
            return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        case Silu(beta=beta):
            return x / (1 + np.exp(-beta * x))
        case Sigmoid():
            return 1 / (1 + np.exp(-x))
        case Tanh():
            return np.tanh(x)
        case HardSigmoid(alpha=alpha, beta=beta):
            return np.clip(alpha * x + beta, 0, 1)
        case HardSwish():
            return x * np.clip(x / 6 + 0.5, 0, 1)
        case LeakyRelu(alpha=alpha):
            return np.where(x < 0, alpha * x, x)
        case Elu(alpha=alpha):
            return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)
        case Selu(alpha=alpha, gamma=gamma):
            return gamma * np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)
        case Celu(alpha=alpha):
            return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))
        case Softplus():
            return np.logaddexp(x, 0)
        case Softsign():
            return x / (1 + np.abs(x))
        case Mish():
            return x * np.tanh(np.logaddexp(x, 0))
        case ThresholdedRelu(alpha=alpha):
            return np.where(x > alpha, x, 0)
        case Shrink(threshold=threshold, bias=bias):
            return np.where(x < -threshold, x + bias, np.where(x > threshold, x - bias, 0))
        case Clip(low=low, high=high):
            return np.clip(x, -np.inf if low is None else low, np.inf if high is None else high)
        case _:
            raise NotImplementedError(function)
