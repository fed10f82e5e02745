"""Products of a small type that are added up in a larger one: 8-bit integers and short floats."""

from __future__ import annotations

from collections.abc import Mapping

import tilewright.expr.tensor as te
from tilewright.expr.scalar import Scalar

TYPES: Mapping[str, tuple[str, str]] = {
    "uint8": ("int8", "int32"),
    "int8": ("int8", "int32"),
    "float16": ("float16", "float32"),
    "bfloat16": ("bfloat16", "float32"),
}
"""The type of weights, and that of sums, for each type of data that is not added up in itself."""


def weights(dtype: str) -> str:
    """Return the type of the weights that data of `dtype` is multiplied with."""
    return TYPES[dtype][0] if dtype in TYPES else dtype


def result(dtype: str) -> str:
    """Return the type of what is made of `dtype`: that of sums for integers, else its own."""
    return TYPES[dtype][1] if dtype in ("uint8", "int8") else dtype


def product(a: Scalar, b: Scalar) -> Scalar:
    """Multiply data with a weight in the type in which such products are added up.

    >>> a, b = te.tensor("A", (4,), "uint8"), te.tensor("B", (4,), "int8")
    >>> print(product(a[0], b[0]))
    (int32(A[0]) * int32(B[0]))
    """
    if a.dtype not in TYPES:
        return a * b
    total = TYPES[a.dtype][1]
    return te.cast(total, a) * te.cast(total, b)
