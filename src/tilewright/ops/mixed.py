"""Small types: what they are multiplied with, what they are added up in, and how means round.

One rule holds for all operators. 8-bit integers are multiplied with weights of int8 and added up in
int32, which the result is then of and which wraps; short floats are widened to float32 when they
are loaded, and the result is rounded to their type once, at the end. What belongs to channels, as
biases and scales do, is of the type of sums.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar

TYPES: Mapping[str, tuple[str, str]] = {
    "uint8": ("int8", "int32"),
    "int8": ("int8", "int32"),
    "float16": ("float16", "float32"),
    "bfloat16": ("bfloat16", "float32"),
}
"""The type of weights, and that of sums, for each type of data that is not added up in itself."""


MAX_TERMS = (2**31 - 1) // 255
"""How many integers of 8 bits certainly add up within int32."""


def weights(dtype: str) -> str:
    """Return the type of the weights that data of `dtype` is multiplied with."""
    return TYPES[dtype][0] if dtype in TYPES else dtype


def sums(dtype: str) -> str:
    """Return the type in which data of `dtype` is added up."""
    return TYPES[dtype][1] if dtype in TYPES else dtype


def result(dtype: str) -> str:
    """Return the type of what is made of `dtype`: that of sums for integers, else its own."""
    return dtype if dtypes.is_float(dtype) else sums(dtype)


def wide(value: Scalar) -> Scalar:
    """Convert a value to the type in which it is added up."""
    return stored(value, sums(value.dtype))


def product(a: Scalar, b: Scalar) -> Scalar:
    """Multiply data with a weight in the type in which such products are added up.

    >>> a, b = te.tensor("A", (4,), "uint8"), te.tensor("B", (4,), "int8")
    >>> print(product(a[0], b[0]))
    (int32(A[0]) * int32(B[0]))
    """
    return wide(a) * wide(b)


def stored(value: Scalar, dtype: str) -> Scalar:
    """Convert a value to `dtype`, if it is not of that already."""
    return value if value.dtype == dtype else te.cast(dtype, value)


def divided(total: Scalar, by: int | Scalar, dtype: str) -> Scalar:
    """Return a mean of `dtype`: a sum over how many terms it has; integers round halves to even.

    A number of terms that differs between elements is held by a tensor: `divisor` says how.
    """
    if dtypes.is_float(dtype):
        return stored(total * (1.0 / by if isinstance(by, int) else by), dtype)
    real = divisor(dtype, by) if isinstance(by, int) else by.dtype
    return rounded(te.cast(real, total) / by, dtype)


def rounded(real: Scalar, dtype: str, zero_point: int = 0) -> Scalar:
    """Round a float to an integer, halves to even, and add a zero point.

    It saturates before the conversion, which is only defined for what the type holds.
    """
    info = np.iinfo(dtype)
    whole = te.rint(real) + float(zero_point) if zero_point else te.rint(real)
    return te.cast(dtype, te.minimum(te.maximum(whole, float(info.min)), float(info.max)))


def divisor(dtype: str, most: int) -> str:
    """Return the type of what sums of at most so many terms are divided by.

    Floats are multiplied by one over the number, in the type of sums. 8-bit integers are divided by
    the number itself in a float in which sums are exact and only a half becomes a half: with fewer
    than 2^16 terms a mean is further from others than float32 is off below 256.
    """
    if dtypes.is_float(dtype):
        return sums(dtype)
    return "float32" if most < 1 << 16 else "float64"


def check_mean(what: str, dtype: str, terms: int) -> None:
    """Refuse means of integers other than those of 8 bits, or of so many that sums could wrap."""
    if not dtypes.is_float(dtype) and dtype not in TYPES:
        raise ExpressionError(
            f"{what} of {dtype}: it is of floats, int8 or uint8; cast, or take the sum."
        )
    if dtype in TYPES and not dtypes.is_float(dtype) and terms > MAX_TERMS:
        raise ExpressionError(
            f"{what} over {terms} elements of {dtype}: their sum might not fit int32; take the "
            f"mean of means, of at most {MAX_TERMS} each."
        )


def check_float(what: str, dtype: str) -> None:
    """Refuse what is not a float."""
    if not dtypes.is_float(dtype):
        raise ExpressionError(f"{what} of {dtype}: it is of floats; cast X to one first.")
