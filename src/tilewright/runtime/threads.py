"""The OpenMP runtime that parallel loops call, whichever is installed."""

from __future__ import annotations

import ctypes
import glob
import os
from functools import cache
from importlib.util import find_spec

from tilewright.errors import ArgumentError, TargetError

_NAMES = ("libgomp.so.1", "libomp.so.5", "libiomp5.so", "libomp.so")


@cache
def openmp() -> ctypes.CDLL:
    """Load libgomp, or a runtime that speaks its interface; raise TargetError if there is none.

    The system's comes first, then the copy inside of xgboost's wheel, which tilewright depends on.
    """
    for candidate in (*_NAMES, *_bundled()):
        try:
            library = ctypes.CDLL(candidate)
            _ = library.GOMP_parallel
            return library
        except (OSError, AttributeError):
            continue
    raise TargetError(
        "cannot run parallel loops: no OpenMP runtime was found. "
        "Install libgomp1 (Debian: apt install libgomp1)."
    )


def _bundled() -> list[str]:
    spec = find_spec("xgboost")
    if spec is None or spec.origin is None:
        return []
    root = os.path.dirname(os.path.dirname(spec.origin))
    return sorted(glob.glob(os.path.join(root, "xgboost.libs", "libgomp*")))


def address(name: str) -> int:
    """Return the address of one of the runtime's functions."""
    found = ctypes.cast(getattr(openmp(), name), ctypes.c_void_p).value
    assert found
    return found


def checked(threads: int | None, default: int) -> int:
    """Return how many threads to run; raise ArgumentError if that is not a positive number."""
    if threads is None:
        return default
    if threads < 1:
        raise ArgumentError(f"cannot run with threads={threads}: give a number of at least 1.")
    return threads
