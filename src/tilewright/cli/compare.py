"""How far the results of two sides are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

ALIKE = 1e-3  # of the largest value: sums in another order differ by less
_ALIKE_SHORT = 1e-2  # where results are rounded to 16 bits


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one output: `share` of its largest value, or of its elements where they are booleans.

    `both` elements of `elements` are NaN on both sides, and not compared; `alike` is the share up
    to which the sides agree.
    """

    name: str
    share: float
    elements: int
    both: int
    alike: float = ALIKE

    @property
    def agrees(self) -> bool:
        return self.share <= self.alike and (self.both < self.elements or not self.elements)

    def __str__(self) -> str:
        said = (
            f"{self.name} differs by {self.share:.2g} (at most {self.alike:g} is taken for equal)"
        )
        if self.both:
            said += f"; both are NaN at {self.both} of {self.elements} elements"
        return said


def differences(names: Sequence[str], own: Any, other: Sequence[Any]) -> list[Difference]:
    """Compare the outputs of a call, one or a tuple, with those of the other side."""
    ours = own if isinstance(own, tuple) else (own,)
    return [difference(*each) for each in zip(names, ours, other, strict=True)]


def difference(name: str, own: Any, other: Any) -> Difference:
    """Compare two arrays: numbers by their distance, booleans by whether they are equal.

    Integers of 8 bits may differ by one, to which they are rounded.
    """
    import numpy as np

    a, b = np.asarray(own), np.asarray(other)
    if a.shape != b.shape or (a.dtype == bool) != (b.dtype == bool):
        return Difference(name, float("inf"), a.size, 0)
    if not a.size:
        return Difference(name, 0.0, 0, 0)
    if a.dtype == bool:
        return Difference(name, float(np.mean(a != b)), a.size, 0)
    alike = _ALIKE_SHORT if a.dtype.kind not in "iu" and a.itemsize == 2 else ALIKE
    slack = 1.0 if a.dtype.kind in "iu" and a.itemsize == 1 else 0.0
    a, b = (np.asarray(side, np.float64) for side in (a, b))
    both = int(np.sum(np.isnan(a) & np.isnan(b)))
    return Difference(name, _distance(a, b, slack), a.size, both, alike)


def _distance(a: np.ndarray, b: np.ndarray, slack: float) -> float:
    """Return the largest distance as a share of the largest value; NaN on both sides is none."""
    import numpy as np

    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    apart = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
    return max(apart - slack, 0.0) / max(float(np.max(np.abs(b[finite]), initial=0.0)), 1e-30)
