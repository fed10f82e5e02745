"""Aligned arrays."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from ctypes import addressof, c_char
from typing import Any

import numpy as np

from tilewright import dtypes

ALIGNMENT = 64  # bytes: a cache line, and the widest vector
LARGE = 4 << 20  # bytes for which NumPy asks for large pages


def empty(shape: Sequence[int], dtype: str, alignment: int = ALIGNMENT) -> np.ndarray[Any, Any]:
    """Return an uninitialised array that starts on a cache line, or a multiple of `alignment`."""
    kind = dtypes.numpy(dtype)
    raw = np.empty(math.prod(shape) * kind.itemsize + alignment, np.uint8)
    return np.ndarray(shape, kind, raw, -address(raw) % alignment)


def address(array: np.ndarray[Any, Any]) -> int:
    """Return where an array lies; several times faster than `array.ctypes` where that can be."""
    try:
        return addressof(c_char.from_buffer(array))  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, BufferError):  # read-only, empty, or of no type of C's
        return array.ctypes.data


def aligned(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the array itself if it is contiguous and aligned, else a copy that is."""
    if array.flags.c_contiguous and array.ctypes.data % ALIGNMENT == 0:
        return array
    copy = empty(array.shape, array.dtype.name)
    copy[...] = array
    return copy


def padded(nbytes: int) -> int:
    """Return the next multiple of `ALIGNMENT`.

    >>> padded(0), padded(1), padded(64)
    (0, 64, 64)
    """
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def together(arrays: Sequence[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Return arrays of bytes with the small ones copied into one block, each on a cache line.

    Linux gives a large block large pages, so that the processor looks up few; a large array has
    some already.
    """
    small = [i for i, array in enumerate(arrays) if array.nbytes < LARGE]
    begins = [0]
    for i in small:
        begins.append(begins[-1] + padded(arrays[i].nbytes))
    block, placed = empty((begins[-1],), "uint8"), list(arrays)
    for i, begin in zip(small, begins, strict=False):
        placed[i] = block[begin : begin + arrays[i].nbytes]
        placed[i][...] = arrays[i]
    return placed


def physical() -> int:
    """Return how many bytes of memory this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
