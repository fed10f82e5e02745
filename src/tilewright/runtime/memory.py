"""Aligned arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright import dtypes

ALIGNMENT = 64


def empty(shape: Sequence[int], dtype: str) -> np.ndarray[Any, Any]:
    """Return an uninitialised array that starts on a cache line."""
    kind = dtypes.numpy(dtype)
    size = math.prod(shape) * kind.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(kind).reshape(shape)


def aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array itself if it is contiguous and aligned, else a copy that is."""
    if array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0:
        return array
    copy = empty(array.shape, array.dtype.name)
    copy[...] = array
    return copy
