"""Buffers between inaccessible pages: a candidate that leaves its buffer crashes, and is seen."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tilewright import dtypes

# What fills the bytes between a buffer and its pages' ends.
_CANARY = 0xA5
_PROT_NONE = 0


class GuardedArena:
    """Allocates NumPy arrays that each lie alone between two guard pages.

    Memory is unmapped with the last array that uses it. Linux and macOS.

    >>> arena = GuardedArena()
    >>> a = arena.allocate((3, 5), "float32")
    >>> a.shape, a.ctypes.data % 64, arena.damaged()
    ((3, 5), 0, False)
    """

    def __init__(self) -> None:
        self._slack: list[np.ndarray[Any, np.dtype[np.uint8]]] = []

    def allocate(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        align: int = 64,
        at: Literal["end", "start"] = "end",
    ) -> np.ndarray[Any, Any]:
        """Return an array of zeros that ends right before a guard page, or starts right after one.

        At the end, the alignment (bytes, a power of two up to a page) may leave up to `align - 1`
        bytes before the guard page: writes to those, and to the rest of the first page, are found
        by `damaged`. With `align` the size of an element there are none.
        """
        if align & (align - 1) or not 0 < align <= mmap.PAGESIZE:
            raise ValueError(f"align must be a power of two up to {mmap.PAGESIZE}, not {align}.")
        kind = dtypes.numpy(dtype)
        nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        pages = _Pages.map(nbytes)
        space = pages.last - pages.first
        before = (space - nbytes) // align * align if at == "end" else 0
        offset = pages.first + before
        array = np.ndarray(tuple(shape), kind, buffer=pages.memory, offset=offset)
        whole = np.ndarray((space,), np.uint8, buffer=pages.memory, offset=pages.first)
        for slack in (whole[:before], whole[before + nbytes :]):
            slack.fill(_CANARY)
            self._slack.append(slack)
        return array

    def damaged(self) -> bool:
        """Return whether anything was written beside the arrays, short of their guard pages."""
        return any(bool((slack != _CANARY).any()) for slack in self._slack)


def poison(array: np.ndarray[Any, Any]) -> None:
    """Fill an output with what no kernel computes by chance: NaN, or the extreme integer.

    Signed integers get their least value, unsigned ones their greatest; bool gets bytes of 255.
    """
    if array.dtype.kind == "b":
        array.view(np.uint8).fill(255)
    elif array.dtype.kind in "fc" or dtypes.is_float(array.dtype.name):
        array.fill(np.nan)
    elif array.dtype.kind == "i":
        array.fill(np.iinfo(array.dtype).min)
    elif array.dtype.kind == "u":
        array.fill(np.iinfo(array.dtype).max)
    else:
        raise TypeError(f"cannot poison an array of {array.dtype}; it must hold numbers or bool.")


@dataclass(frozen=True, slots=True)
class _Pages:
    """A mapping whose first and last page are inaccessible; offsets of what lies between."""

    memory: mmap.mmap
    first: int
    last: int

    @staticmethod
    def map(nbytes: int) -> _Pages:
        page = mmap.PAGESIZE
        last = page + max(1, -(-nbytes // page)) * page
        memory = mmap.mmap(-1, last + page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if nbytes >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)  # as NumPy does: users' arrays lie in such pages
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for guard in (address, address + last):
            if _libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(page), _PROT_NONE):
                code = ctypes.get_errno()
                raise OSError(code, f"cannot protect a guard page: {os.strerror(code)}")
        return _Pages(memory, page, last)


_LARGE = 1 << 22  # bytes from which NumPy asks for large pages
_libc = ctypes.CDLL(None, use_errno=True)
