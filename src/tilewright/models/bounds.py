"""Whether what is given fits: a number its bounds, a spec its use, features a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ModelError

MOST = 1e300  # of an option without a bound: it is finite


def within(value: Any, least: float, most: float = MOST, *, whole: bool = False) -> bool:
    """Return whether a value is a number from `least` to `most`, and a whole one if asked.

    >>> within(0.5, 0, 1), within(0.5, 0, 1, whole=True), within("x", 0), within(float("nan"), 0)
    (True, False, False, False)
    """
    kinds = (int, np.integer) if whole else (int, float, np.number)
    number = isinstance(value, kinds) and not isinstance(value, bool)
    return number and bool(least <= value <= most)


def positive(value: Any) -> bool:
    """Return whether a value is a finite number above zero."""
    return within(value, 0) and value > 0


def can(spec: object, method: str) -> bool:
    """Return whether a spec has a method; its class, given for an object of it, has not."""
    return not isinstance(spec, type) and callable(getattr(spec, method, None))


def demand_width(given: int, fitted: int) -> None:
    """Raise ModelError unless rows have as many features as a model was fitted to."""
    if given != fitted:
        raise ModelError(
            f"cannot predict from {given} features: this model was fitted to {fitted}; give the "
            "features that it was fitted to. In Transfer, source and features have to fit together:"
            " Transfer(source=Pretrained()) for Costs(), or Transfer(source=source, "
            "features=Relation()) if source was fitted to Relation()."
        )
