"""Whether an option of a spec is a number within bounds, whatever was given in its place."""

from __future__ import annotations

from typing import Any

import numpy as np

MOST = 1e300  # of an option without a bound: it is finite


def within(value: Any, least: float, most: float = MOST, *, whole: bool = False) -> bool:
    """Return whether a value is a number from `least` to `most`, and a whole one if asked.

    >>> within(0.5, 0, 1), within(0.5, 0, 1, whole=True), within("x", 0), within(float("nan"), 0)
    (True, False, False, False)
    """
    kinds = (int, np.integer) if whole else (int, float, np.number)
    number = isinstance(value, kinds) and not isinstance(value, bool)
    return number and bool(least <= value <= most)
