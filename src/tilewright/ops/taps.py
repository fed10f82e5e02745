"""Which elements of a row each element of a resized row is made of, and how much of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

Taps = tuple[tuple[int, Fraction], ...]

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric",
    "tf_half_pixel_for_nn", "tf_crop_and_resize",
)  # fmt: skip
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


@dataclass(frozen=True)
class Row:
    """How a row of `n` elements becomes one of `size`, as ONNX's Resize says it.

    `scale` is that which was asked for, size / n if it is 0; `region` the part of the row that is
    seen, in shares of its length, of which only tf_crop_and_resize takes notice.
    """

    n: int
    size: int
    mode: str
    coordinates: str
    rounding: str
    scale: float = 0.0
    cubic: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    region: tuple[float, float] = (0.0, 1.0)

    @property
    def factor(self) -> Fraction:
        """The scale, exact where it is meant to be a simple ratio."""
        ratio = Fraction(self.size, self.n)
        if not self.scale or abs(self.scale - ratio) <= 1e-6 * ratio:
            return ratio
        return Fraction(self.scale).limit_denominator(1 << 12)

    def taps(self) -> tuple[Taps, ...]:
        """Return the elements that each of the result reads; what has no share is left out."""
        return tuple(self._taps(self.place(y)) for y in range(self.size))

    def outside(self) -> list[bool]:
        """Return which elements of the result lie outside of the row."""
        return [not 0 <= self.place(y) <= self.n - 1 for y in range(self.size)]

    def place(self, y: int) -> Fraction:
        """Return where in the row element y of the result lies."""
        n, factor, half = self.n, self.factor, Fraction(1, 2)
        whole = factor * n  # the length of the result before it was rounded
        match self.coordinates:
            case "asymmetric":
                return y / factor
            case "align_corners":
                return y * (n - 1) / (whole - 1) if whole != 1 else Fraction(0)
            case "pytorch_half_pixel" if whole == 1:
                return Fraction(0)
            case "half_pixel_symmetric":
                shift = Fraction(n, 2) * (1 - self.size / whole)
                return shift + (y + half) / factor - half
            case "tf_half_pixel_for_nn":
                return (y + half) / factor
            case "tf_crop_and_resize":
                start, end = (Fraction(share).limit_denominator(1 << 16) for share in self.region)
                length = (end - start) * (n - 1)
                along = y * length / (whole - 1) if whole != 1 else length / 2
                return start * (n - 1) + along
            case _:
                return (y + half) / factor - half

    def _taps(self, x: Fraction) -> Taps:
        found: dict[int, Fraction] = {}
        shares = [(i, share) for i, share in self._shares(x) if share]
        if self.exclude_outside:
            shares = [(i, share) for i, share in shares if 0 <= i < self.n] or shares
            total = sum((share for _, share in shares), Fraction(0))
            shares = [(i, share / total) for i, share in shares]
        for i, share in shares:
            inside = min(max(i, 0), self.n - 1)
            found[inside] = found.get(inside, Fraction(0)) + share
        return tuple(sorted(found.items()))

    def _shares(self, x: Fraction) -> Iterator[tuple[int, Fraction]]:
        """Give the elements around x, also beyond the ends, and how much of each is taken."""
        low = math.floor(x)
        if self.mode == "nearest":
            half = Fraction(1, 2)
            nearest = {
                "round_prefer_floor": math.ceil(x - half),
                "round_prefer_ceil": math.floor(x + half),
                "floor": low,
                "ceil": math.ceil(x),
            }
            yield nearest[self.rounding], Fraction(1)
            return
        reach = 1 if self.mode == "linear" else 2
        shrink = min(self.factor, Fraction(1)) if self.antialias else Fraction(1)
        around = math.ceil(reach / shrink)
        weights = [
            (i, self._weight((i - x) * shrink)) for i in range(low - around, low + around + 2)
        ]
        total = sum((weight for _, weight in weights), Fraction(0)) if self.antialias else 1
        for i, weight in weights:
            yield i, weight / total

    def _weight(self, distance: Fraction) -> Fraction:
        d, a = abs(distance), Fraction(self.cubic).limit_denominator(1 << 16)
        if self.mode == "linear":
            return max(Fraction(0), 1 - d)
        if d <= 1:
            return ((a + 2) * d - (a + 3)) * d * d + 1
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else Fraction(0)
