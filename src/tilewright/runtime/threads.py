"""The OpenMP runtime that parallel loops call, whichever is installed."""

from __future__ import annotations

import ctypes
import glob
import os
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from tilewright.errors import ArgumentError, TargetError

MAX_THREADS = 1024  # more than a machine has cores; their stacks still fit into its memory
_PAUSE_HARD = 2  # omp_pause_hard of omp.h
_NAMES = ("libgomp.so.1", "libomp.so.5", "libiomp5.so", "libomp.so")


@cache
def openmp() -> ctypes.CDLL:
    """Load libgomp, or a runtime that speaks its interface; raise TargetError if there is none.

    The system's comes first, then the copy inside of xgboost's wheel, which tilewright depends on.
    Its threads do not live on in a forked child, which would wait for them forever: so they end
    before this process forks, and both sides start new ones when they need some.
    """
    for candidate in (*_NAMES, *_bundled()):
        try:
            library = ctypes.CDLL(candidate)
            _ = library.GOMP_parallel
            end_threads = getattr(library, "omp_pause_resource_all", None)  # since GCC 9
            if end_threads:
                os.register_at_fork(before=partial(end_threads, _PAUSE_HARD))
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


def checked(threads: Any, default: int) -> int:
    """Return how many threads to run; raise ArgumentError unless it is from 1 to MAX_THREADS."""
    if threads is None:
        return default
    whole = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    if not whole or not 1 <= threads <= MAX_THREADS:
        raise ArgumentError(
            f"cannot run with threads={threads!r}: give a whole number from 1 to {MAX_THREADS}."
        )
    return int(threads)
