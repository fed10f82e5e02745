"""Functions of single elements beside arithmetic: choices, casts, of angles, of bits.

The hyperbolic and the inverse ones call libm for each element: they are not vector code.
"""

from __future__ import annotations

import math
from typing import Any

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.axis import Axis
from tilewright.expr.scalar import (
    Cast,
    Scalar,
    ScalarLike,
    Select,
    Unary,
    binary,
    scalar,
    unary,
)


def maximum(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Take the greater of two values; NaN if either is."""
    return binary("max", a, b)


def minimum(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Take the lesser of two values; NaN if either is."""
    return binary("min", a, b)


def select(condition: Scalar, yes: ScalarLike, no: ScalarLike) -> Select:
    """Choose by `condition`; the side that is not chosen is not loaded.

    Conditions on indices may so guard loads that would leave their tensor; those on data may not.
    """
    if not isinstance(condition, Scalar):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ExpressionError(
            f"select({condition!r}, ...) needs a condition, and was given {condition!r} "
            f"({type(condition).__name__}): compare with <, <=, > or >=, with equal(a, b) instead "
            "of a == b and not_equal(a, b) instead of a != b, and write ~condition for not."
        )
    dtype = _dtype_of(yes) or _dtype_of(no) or "float32"
    a, b = scalar(yes, dtype), scalar(no, dtype)
    if condition.dtype != "bool" or a.dtype != b.dtype:
        raise ExpressionError(
            f"select({condition}, {a}, {b}) is of {condition.dtype}, {a.dtype} and {b.dtype}: "
            "it needs a condition, and two values of one type; cast one of them."
        )
    return Select(condition, a, b, a.dtype)


def _dtype_of(value: ScalarLike) -> str | None:
    """Return the type that an operand has by itself; a number takes that of the other."""
    if isinstance(value, Scalar):
        return value.dtype
    return "int64" if isinstance(value, Axis | Affine) else None


def cast(dtype: Any, value: ScalarLike) -> Cast:
    """Convert a value to `dtype`, as in `cast("float32", n[i])`; floats lose their fraction."""
    if isinstance(dtype, Scalar | Axis | Affine):
        raise ExpressionError(
            f"cast({dtype}, {value!r}): the type comes first, as in cast({str(value)!r}, ...)."
        )
    dtype = dtypes.check(dtype)
    number = isinstance(value, float) and dtypes.number(value, dtype) is None
    return Cast(scalar(value, "float64" if number else dtype), dtype)


def exp(value: ScalarLike) -> Unary:
    """Raise e to the power of a float.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: tw.exp(a[i]))
    B: float32 4 = exp(A[i])
    """
    return unary("exp", value)


def log(value: ScalarLike) -> Unary:
    """Take the natural logarithm of a float; that of zero is -inf, of less NaN.

    >>> import tilewright as tw
    >>> n = tw.tensor("N", (4,), "int32")
    >>> tw.compute("B", (4,), lambda i: tw.log(tw.cast("float32", n[i])))
    B: float32 4 = log(float32(N[i]))
    """
    return unary("log", value)


def sqrt(value: ScalarLike) -> Unary:
    """Take the square root of a float; that of less than zero is NaN.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: 1.0 / tw.sqrt(a[i] + 1e-5))
    B: float32 4 = (1.0 / sqrt((A[i] + 1e-05)))
    """
    return unary("sqrt", value)


def tanh(value: ScalarLike) -> Unary:
    """Take the hyperbolic tangent of a float.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: tw.tanh(a[i]))
    B: float32 4 = tanh(A[i])
    """
    return unary("tanh", value)


def sigmoid(value: ScalarLike) -> Unary:
    """Take the logistic function 1 / (1 + exp(-x)) of a float.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("silu", (4,), lambda i: a[i] * tw.sigmoid(a[i]))
    silu: float32 4 = (A[i] * sigmoid(A[i]))
    """
    return unary("sigmoid", value)


def erf(value: ScalarLike) -> Unary:
    """Take the error function of a float, of which GELU is made.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("gelu", (4,), lambda i: a[i] * 0.5 * (1.0 + tw.erf(a[i] * 0.5**0.5)))
    gelu: float32 4 = ((A[i] * 0.5) * (1.0 + erf((A[i] * 0.7071067811865476))))
    """
    return unary("erf", value)


def floor(value: ScalarLike) -> Unary:
    """Round a float down to a whole number, which stays a float.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: a[i] - tw.floor(a[i]))
    B: float32 4 = (A[i] - floor(A[i]))
    """
    return unary("floor", value)


def rint(value: ScalarLike) -> Unary:
    """Round a float to the nearest whole number, halves to the even one; it stays a float.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: tw.cast("int32", tw.rint(a[i])))
    B: int32 4 = int32(rint(A[i]))
    """
    return unary("rint", value)


def ceil(value: ScalarLike) -> Unary:
    """Round a float up to a whole number, which stays a float."""
    return unary("ceil", value)


def trunc(value: ScalarLike) -> Unary:
    """Round a float towards zero to a whole number, which stays a float."""
    return unary("trunc", value)


def sign(value: ScalarLike) -> Unary:
    """Return -1, 0 or 1, as a number is below, at or above zero; of NaN NaN."""
    return unary("sign", value)


def log1p(value: ScalarLike) -> Unary:
    """Take log(1 + x) of a float, accurate where x is tiny."""
    return unary("log1p", value)


def sin(value: ScalarLike) -> Unary:
    """Take the sine of a float; that of what is infinite is NaN."""
    return unary("sin", value)


def cos(value: ScalarLike) -> Unary:
    """Take the cosine of a float; that of what is infinite is NaN."""
    return unary("cos", value)


def tan(value: ScalarLike) -> Unary:
    """Take the tangent of a float; that of what is infinite is NaN."""
    return unary("tan", value)


def asin(value: ScalarLike) -> Unary:
    """Take the inverse of the sine, from -pi / 2 to pi / 2; beyond -1 and 1 NaN."""
    return unary("asin", value)


def acos(value: ScalarLike) -> Unary:
    """Take the inverse of the cosine, from 0 to pi; beyond -1 and 1 NaN."""
    return unary("acos", value)


def atan(value: ScalarLike) -> Unary:
    """Take the inverse of the tangent, from -pi / 2 to pi / 2."""
    return unary("atan", value)


def sinh(value: ScalarLike) -> Unary:
    """Take the hyperbolic sine of a float."""
    return unary("sinh", value)


def cosh(value: ScalarLike) -> Unary:
    """Take the hyperbolic cosine of a float."""
    return unary("cosh", value)


def asinh(value: ScalarLike) -> Unary:
    """Take the inverse of the hyperbolic sine."""
    return unary("asinh", value)


def acosh(value: ScalarLike) -> Unary:
    """Take the inverse of the hyperbolic cosine; below 1 NaN."""
    return unary("acosh", value)


def atanh(value: ScalarLike) -> Unary:
    """Take the inverse of the hyperbolic tangent; at -1 and 1 infinite, beyond NaN."""
    return unary("atanh", value)


def isnan(value: ScalarLike) -> Scalar:
    """Return whether a float is no number.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: tw.select(tw.isnan(a[i]), 0.0, a[i]))
    B: float32 4 = select((A[i] != A[i]), 0.0, A[i])
    """
    x = _float("isnan", value)
    return binary("ne", x, x)


def isinf(value: ScalarLike) -> Scalar:
    """Return whether a float is infinite, of either sign."""
    return binary("eq", unary("abs", _float("isinf", value)), math.inf)


def mod(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Return what division of two numbers leaves, with the sign of the divisor: Python's %.

    By zero it is 0 of integers, NaN of floats.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,), "int32")
    >>> tw.compute("B", (4,), lambda i: tw.mod(a[i], 3) + a[i] % 5)
    B: int32 4 = (mod(A[i], 3) + mod(A[i], 5))
    """
    return binary("mod", a, b)


def fmod(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Return what division of two numbers leaves, with the sign of the dividend: C's fmod and %.

    By zero it is 0 of integers, NaN of floats.
    """
    return binary("fmod", a, b)


def bitwise_and(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Return the bits that both of two integers have; conditions are joined by &."""
    return binary("bitand", a, b)


def bitwise_or(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Return the bits that one or both of two integers have; conditions are joined by |.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,), "uint8")
    >>> tw.compute("B", (4,), lambda i: tw.bitwise_or(tw.left_shift(a[i], 4), a[i]))
    B: uint8 4 = ((A[i] << 4) | A[i])
    """
    return binary("bitor", a, b)


def bitwise_xor(a: ScalarLike, b: ScalarLike) -> Scalar:
    """Return the bits that just one of two integers has; for conditions take not_equal(a, b)."""
    return binary("bitxor", a, b)


def bitwise_not(value: ScalarLike) -> Unary:
    """Return the bits that an integer does not have; write ~ before a condition."""
    return unary("bitnot", value)


def left_shift(value: ScalarLike, count: ScalarLike) -> Scalar:
    """Shift the bits of an integer up; by as many as it has, by more, or by less than none: 0."""
    return binary("shl", value, count)


def right_shift(value: ScalarLike, count: ScalarLike) -> Scalar:
    """Shift the bits of an integer down, which keeps its sign.

    By as many as it has, by more, or by less than none it is 0, or -1 of an integer below zero.
    """
    return binary("shr", value, count)


def _float(name: str, value: ScalarLike) -> Scalar:
    x = scalar(value, "float32")
    if not dtypes.is_float(x.dtype):
        raise ExpressionError(
            f"{name} of {x}, which is of {x.dtype}: it takes a float; integers are always finite."
        )
    return x
