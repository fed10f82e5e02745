"""Functions of single elements by name: what networks do to each element of a tensor.

Programs are made of these names, and so can be compared, kept in files and printed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.expr import functions as more
from tilewright.expr.scalar import Const, Scalar, equal, invert, not_equal, power
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


def _power(base: Scalar, exponent: Scalar) -> Scalar:
    """Raise to a power; by a half it is the root, but for -inf and -0, of which a power is not."""
    if not isinstance(exponent, Const):
        return power(base, exponent)
    if exponent.value == 0.5 and dtypes.is_float(base.dtype):
        return te.select(equal(base, -math.inf), math.inf, te.sqrt(base + 0.0))
    if exponent.value == -1.0 and dtypes.is_float(base.dtype):
        return 1.0 / base
    return power(base, exponent.value)


def _of_float(function: Callable[..., Callable[[Scalar], Scalar]]) -> Callable[..., Scalar]:
    """Return a named activation as a function of an element and the activation's parameters.

    That of a short float is computed in float32, that of an integer in float64.
    """

    def applied(x: Scalar, *parameters: Any) -> Scalar:
        wide = "float32" if x.dtype in dtypes.SHORT_FLOATS else "float64"
        made = function(*parameters)
        if x.dtype in ("float32", "float64"):
            return made(x)
        return te.cast(x.dtype, made(te.cast(wide, x)))

    return applied


FUNCTIONS: Mapping[str, Callable[..., Scalar]] = {
    "constant": constant,
    "identity": lambda x: x,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": _power,
    "mod": more.mod,
    "fmod": more.fmod,
    "max": te.maximum,
    "min": te.minimum,
    "equal": equal,
    "not_equal": not_equal,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "and": _and,
    "or": _or,
    "not": invert,
    "bit_and": more.bitwise_and,
    "bit_or": more.bitwise_or,
    "bit_xor": more.bitwise_xor,
    "bit_not": more.bitwise_not,
    "shift_left": more.left_shift,
    "shift_right": more.right_shift,
    "is_nan": more.isnan,
    "select": te.select,
    "cast": _cast,
    "neg": lambda x: -x,
    "abs": _abs,
    "sign": more.sign,
    "exp": te.exp,
    "log": te.log,
    "sqrt": te.sqrt,
    "tanh": te.tanh,
    "sigmoid": te.sigmoid,
    "erf": te.erf,
    "log1p": more.log1p,
    "sin": more.sin,
    "cos": more.cos,
    "tan": more.tan,
    "asin": more.asin,
    "acos": more.acos,
    "atan": more.atan,
    "sinh": more.sinh,
    "cosh": more.cosh,
    "asinh": more.asinh,
    "acosh": more.acosh,
    "atanh": more.atanh,
    "floor": te.floor,
    "ceil": more.ceil,
    "rint": te.rint,
    "relu": _relu,
    "gelu": _of_float(activation.Gelu),
    "silu": _of_float(activation.Silu),
    "hard_sigmoid": _of_float(activation.HardSigmoid),
    "hard_swish": _of_float(activation.HardSwish),
    "leaky_relu": _of_float(activation.LeakyRelu),
    "elu": _of_float(activation.Elu),
    "selu": _of_float(activation.Selu),
    "celu": _of_float(activation.Celu),
    "softplus": _of_float(activation.Softplus),
    "softsign": _of_float(activation.Softsign),
    "mish": _of_float(activation.Mish),
    "thresholded_relu": _of_float(activation.ThresholdedRelu),
    "shrink": _of_float(activation.Shrink),
}
