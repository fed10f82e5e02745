"""Functions of single elements by name: what networks do to each element of a tensor.

Programs are made of these names, and so can be compared, kept in files and printed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.expr.scalar import Const, Scalar, equal, invert, not_equal
from tilewright.ops import activation


def constant(value: float, dtype: str) -> Scalar:
    return Const(value, dtype)


def _or(a: Scalar, b: Scalar) -> Scalar:
    return a | b


def _and(a: Scalar, b: Scalar) -> Scalar:
    return a & b


def _cast(x: Scalar, dtype: str) -> Scalar:
    if dtype == x.dtype:
        return x
    if dtype == "bool":
        return not_equal(x, Const(0, x.dtype))
    return te.cast(dtype, x)


def _abs(x: Scalar) -> Scalar:
    return abs(x)


def _relu(x: Scalar) -> Scalar:
    return te.maximum(x, Const(0, x.dtype))


def _of_float(function: Callable[..., Callable[[Scalar], Scalar]]) -> Callable[..., Scalar]:
    """Return a named activation as a function of an element and the activation's parameters."""

    def applied(x: Scalar, *parameters: Any) -> Scalar:
        short = x.dtype in dtypes.SHORT_FLOATS
        wide = te.cast("float32", x) if short else x
        made = function(*parameters)(wide)
        return te.cast(x.dtype, made) if short else made

    return applied


FUNCTIONS: Mapping[str, Callable[..., Scalar]] = {
    "constant": constant,
    "identity": lambda x: x,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": te.maximum,
    "min": te.minimum,
    "equal": equal,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "and": _and,
    "or": _or,
    "not": invert,
    "select": te.select,
    "cast": _cast,
    "neg": lambda x: -x,
    "abs": _abs,
    "exp": te.exp,
    "log": te.log,
    "sqrt": te.sqrt,
    "tanh": te.tanh,
    "sigmoid": te.sigmoid,
    "erf": te.erf,
    "floor": te.floor,
    "rint": te.rint,
    "relu": _relu,
    "gelu": _of_float(activation.Gelu),
    "silu": _of_float(activation.Silu),
    "hard_sigmoid": _of_float(activation.HardSigmoid),
    "hard_swish": _of_float(activation.HardSwish),
    "leaky_relu": _of_float(activation.LeakyRelu),
    "elu": _of_float(activation.Elu),
}
