"""What NumPy leaves open, refuses or warns of in arithmetic on integers: a result for all of them.

Division by zero is zero and so is what it leaves, integers wrap, and a processor stops at none.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def quotient(a: Any, b: Any, dtype: str) -> Any:
    """Divide integers, rounding to zero: by zero is 0, and the least by -1 stays itself."""
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    divisor = np.where(b == 0, 1, b).astype(dtype)
    with np.errstate(over="ignore"):
        rounded = (a - np.fmod(a, divisor)) // divisor
    return np.where(b == 0, 0, rounded).astype(dtype)


def remainder(op: str, a: Any, b: Any, dtype: str) -> Any:
    """Return what division leaves, with the sign of b (`mod`) or of a (`fmod`); by zero 0."""
    a, b = np.asarray(a, dtype), np.asarray(b, dtype)
    with np.errstate(divide="ignore", over="ignore"):
        return (np.mod if op == "mod" else np.fmod)(a, b)


def raised(base: Any, exponent: Any, dtype: str) -> Any:
    """Raise to a power, wrapping; one below zero gives 0, but of 1 and -1, of which it is exact."""
    base, exponent = np.asarray(base, dtype), np.asarray(exponent, dtype)
    with np.errstate(over="ignore"):
        whole = np.power(base, np.where(exponent < 0, 0, exponent).astype(dtype))
    if np.iinfo(dtype).min == 0:
        return whole
    odd = np.where(exponent & 1, base, 1)
    return np.where(exponent < 0, np.where(np.abs(base) == 1, odd, 0), whole).astype(dtype)
