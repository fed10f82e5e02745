"""The element types of tensors, as NumPy and LLVM name them."""

from __future__ import annotations

import math
from typing import Any

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


def check(dtype: Any) -> str:
    """Return the name of `dtype`, a name or NumPy's; raise `ExpressionError` that lists them.

    >>> check("float32"), check(np.float32), check(np.dtype("int8"))
    ('float32', 'float32', 'int8')
    """
    name = dtype
    if isinstance(dtype, type | np.dtype):
        try:
            name = np.dtype(dtype).name  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        except TypeError:
            name = dtype
    if not isinstance(name, str) or name not in LLVM:
        raise ExpressionError(f"unknown dtype {dtype!r}; known are {', '.join(LLVM)}.")
    return name


def number(value: Any, dtype: str) -> float | int | None:
    """Return a number as `dtype` holds it, or None if it cannot: integers exactly, floats rounded.

    >>> number(300, "uint8"), number(-1, "int8"), number(0.5, "int32"), number(1e300, "float32")
    (None, -1, None, None)
    """
    endless = isinstance(value, float) and not math.isfinite(value)
    if is_float(dtype):
        return float(value) if endless or abs(value) <= float(np.finfo(dtype).max) else None
    if endless or int(value) != value:
        return None
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return int(value) if low <= int(value) <= high else None


def is_float(dtype: str) -> bool:
    return dtype in ("float32", "float64")


def nbytes(dtype: str) -> int:
    """Return the size of one element in bytes."""
    return np.dtype(dtype).itemsize
