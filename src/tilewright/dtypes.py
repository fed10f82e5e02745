"""The element types of tensors, as NumPy and LLVM name them.

float16 and bfloat16 are types to store: code widens them to float32, computes there and rounds.
LLVM sees their bits, as i16, since not every target has instructions for the types themselves.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from tilewright.errors import ExpressionError

LLVM = {
    "float32": "float",
    "float64": "double",
    "float16": "i16",
    "bfloat16": "i16",
    "int8": "i8",
    "uint8": "i8",
    "int16": "i16",
    "uint16": "i16",
    "int32": "i32",
    "uint32": "i32",
    "int64": "i64",
    "uint64": "i64",
    "bool": "i8",
}
FLOATS = ("float32", "float64", "float16", "bfloat16")
SHORT_FLOATS = ("float16", "bfloat16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")


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


@cache
def numpy(dtype: Any) -> np.dtype[Any]:
    """Return NumPy's type of a name; that of bfloat16 comes with ml_dtypes, loaded on first use.

    >>> numpy("bfloat16").itemsize
    2
    """
    if dtype == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


@cache
def finfo(dtype: str) -> tuple[float, float, float]:
    """Return eps, the greatest number and the least normal one of a float.

    >>> finfo("bfloat16")[0]
    0.0078125
    """
    if dtype == "bfloat16":
        import ml_dtypes

        info: Any = ml_dtypes.finfo(dtype)
    else:
        info = np.finfo(dtype)
    return float(info.eps), float(info.max), float(info.tiny)


def number(value: Any, dtype: str) -> float | int | None:
    """Return a number as `dtype` holds it, or None if it cannot: integers exactly, floats rounded.

    >>> number(300, "uint8"), number(-1, "int8"), number(0.5, "int32"), number(1e300, "float32")
    (None, -1, None, None)
    """
    endless = isinstance(value, float) and not math.isfinite(value)
    if is_float(dtype):
        return float(value) if endless or abs(value) <= finfo(dtype)[1] else None
    if endless or int(value) != value:
        return None
    low, high = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return int(value) if low <= int(value) <= high else None


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    return dtype != "bool" and not is_float(dtype)


def nbytes(dtype: str) -> int:
    """Return the size of one element in bytes."""
    return 2 if dtype in SHORT_FLOATS else np.dtype(dtype).itemsize
