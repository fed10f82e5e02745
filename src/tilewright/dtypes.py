"""The element types of tensors, as NumPy and LLVM name them."""

from __future__ import annotations

import numpy as np

from tilewright.errors import ExpressionError

LLVM = {
    "float32": "float",
    "float64": "double",
    "int8": "i8",
    "uint8": "i8",
    "int32": "i32",
    "int64": "i64",
    "bool": "i8",
}


def check(dtype: str) -> str:
    """Return `dtype` if it is known; raise `ExpressionError` that lists the known ones."""
    if dtype not in LLVM:
        raise ExpressionError(f"unknown dtype {dtype!r}; known are {', '.join(LLVM)}.")
    return dtype


def is_float(dtype: str) -> bool:
    return dtype in ("float32", "float64")


def nbytes(dtype: str) -> int:
    """Return the size of one element in bytes."""
    return np.dtype(dtype).itemsize
