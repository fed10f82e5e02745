"""Reading images between their pixels, at places that are data: grids of them, and boxes.

Each dimension has its own taps: stages say which pixels they are and how much each counts, and the
result is a sum over all combinations of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar, equal
from tilewright.expr.tensor import Reduce
from tilewright.ops import fields, mixed
from tilewright.ops.conv import by

TAPS = {"nearest": 1, "linear": 2, "cubic": 4}
PADDINGS = ("zeros", "border", "reflection")
CUBIC = -0.75


@dataclass(frozen=True)
class GridSample:
    """X (batch, channels, *size) at the places G (batch, *out, dimensions), as ONNX's GridSample.

    A place has a number for each dimension, the last of X first: -1 is the first pixel and 1 the
    last, or with `corners` false their outer edges. What is beyond is zero, the pixel at the
    border, or what a mirror there shows.
    """

    batch: int
    channels: int
    size: tuple[int, ...]
    out: tuple[int, ...]
    mode: str = "linear"
    padding: str = "zeros"
    corners: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("grid sample", self.dtype)
        if not 1 <= len(self.size) <= 3 or len(self.out) != len(self.size):
            raise ExpressionError(
                f"grid sample of {self.size} at {self.out}: both have the same number of extents, "
                "one to three."
            )
        if self.mode not in TAPS or self.padding not in PADDINGS:
            raise ExpressionError(
                f"grid sample with mode {self.mode!r} and padding {self.padding!r}: they are one "
                f"of {', '.join(TAPS)}, and of {', '.join(PADDINGS)}."
            )

    @property
    def name(self) -> str:
        corners = " corners" if self.corners else ""
        return (
            f"grid_sample {self.batch}x{self.channels}x{by(self.size)} at {by(self.out)}, "
            f"{self.mode} {self.padding}{corners}{fields.of(self.dtype)}"
        )

    def expression(self) -> te.Tensor:
        count, taps = len(self.size), TAPS[self.mode]
        x = te.tensor("X", (self.batch, self.channels, *self.size), self.dtype)
        g = te.tensor("G", (self.batch, *self.out, count), self.dtype)
        places = [self._places(g, d) for d in range(count)]
        grid = (self.batch, *self.out, taps)
        found = [te.compute(f"pixel{d}", grid, self._pixel(places[d], d)) for d in range(count)]
        shares = [te.compute(f"share{d}", grid, self._share(places[d], d)) for d in range(count)]
        over = [te.reduce_axis(f"k{d}", taps) for d in range(count)]

        def value(n: te.Axis, c: te.Axis, *at: te.Axis) -> Reduce:
            where = [found[d][(n, *at, over[d])] for d in range(count)]
            total = mixed.wide(x[(n, c, *where)])
            for d in range(count):
                total = total * shares[d][(n, *at, over[d])]
            return te.sum(total, over=over)

        shape = (self.batch, self.channels, *self.out)
        total = te.compute("total", shape, value)
        if total.dtype == self.dtype:
            return total
        return te.compute("out", shape, lambda *i: te.cast(self.dtype, total[i]))

    def _places(self, g: te.Tensor, d: int) -> te.Tensor:
        """Return where in dimension d each element of the result lies."""
        n, (low, high) = self.size[d], self._edges(d)

        def place(*at: te.Axis) -> Scalar:
            along = mixed.wide(g[(*at, len(self.size) - 1 - d)]) + 1.0
            where = along * ((n - 1) / 2) if self.corners else along * (n / 2) - 0.5
            where = te.rint(where) if self.mode == "nearest" else where
            if self.padding == "border" and self.mode != "cubic":  # as PyTorch does
                return te.minimum(te.maximum(where, 0.0), float(n - 1))
            return _mirrored(where, low, high) if self.padding == "reflection" else where

        return te.compute(f"place{d}", (self.batch, *self.out), place)

    def _edges(self, d: int) -> tuple[float, float]:
        """Return where the mirrors of dimension d stand."""
        return (0.0, self.size[d] - 1.0) if self.corners else (-0.5, self.size[d] - 0.5)

    def _tap(self, place: te.Tensor, *at: te.Axis) -> Scalar:
        """Return which pixel a tap would read if there were no end."""
        first = te.floor(place[at[:-1]])
        return first + te.cast(first.dtype, at[-1] - int(self.mode == "cubic"))

    def _pixel(self, place: te.Tensor, d: int) -> Callable[..., Scalar]:
        n, (low, high) = self.size[d], self._edges(d)

        def pixel(*at: te.Axis) -> Scalar:
            tap = self._tap(place, *at)
            tap = _mirrored(tap, low, high) if self.padding == "reflection" else tap
            return te.cast("int32", te.minimum(te.maximum(tap, 0.0), float(n - 1)))

        return pixel

    def _share(self, place: te.Tensor, d: int) -> Callable[..., Scalar]:
        def share(*at: te.Axis) -> Scalar:
            tap = self._tap(place, *at)
            made = _share(self.mode, abs(place[at[:-1]] - tap))
            if self.padding != "zeros":
                return made
            inside = (tap >= 0.0) & (tap <= float(self.size[d] - 1))
            return te.select(inside, made, 0.0)

        return share


@dataclass(frozen=True)
class RoiAlign:
    """The mean, or the greatest part, of samples of boxes of X (batch, channels, height, width).

    R (boxes, 4) has their left, top, right and bottom, times `scale` in pixels, and N (boxes,) says
    in which image each is. A box is seen as `out` bins of `samples` places in each direction; with
    `half` its numbers are edges of pixels, not their middles. As ONNX's RoiAlign: "max" takes the
    greatest of what the four pixels around each place add.
    """

    batch: int
    channels: int
    size: tuple[int, int]
    boxes: int
    out: tuple[int, int]
    samples: int
    scale: float = 1.0
    kind: str = "average"
    half: bool = True
    dtype: str = "float32"
    index_dtype: str = "int64"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("roi align", self.dtype)
        if self.kind not in ("average", "max"):
            raise ExpressionError(f"roi align of kind {self.kind!r}: it is average or max.")

    @property
    def name(self) -> str:
        given = f"{self.batch}x{self.channels}x{by(self.size)}"
        half = " half" if self.half else ""
        return (
            f"roi_align {given}, {self.boxes} boxes to {by(self.out)} of {self.samples} samples, "
            f"{self.kind} {self.scale:g}{half}{fields.of(self.dtype)}"
        )

    def expression(self) -> te.Tensor:
        x = te.tensor("X", (self.batch, self.channels, *self.size), self.dtype)
        r = te.tensor("R", (self.boxes, 4), self.dtype)
        of = te.tensor("N", (self.boxes,), self.index_dtype)
        places = [self._places(r, d) for d in range(2)]
        shape = [(self.boxes, self.out[d], self.samples, 2) for d in range(2)]
        found = [te.compute(f"pixel{d}", shape[d], self._pixel(places[d], d)) for d in range(2)]
        shares = [te.compute(f"share{d}", shape[d], self._share(places[d], d)) for d in range(2)]
        i = [te.reduce_axis(f"s{d}", self.samples) for d in range(2)]
        k = [te.reduce_axis(f"k{d}", 2) for d in range(2)]

        def value(box: te.Axis, c: te.Axis, *at: te.Axis) -> Reduce:
            where = [found[d][box, at[d], i[d], k[d]] for d in range(2)]
            part = mixed.wide(x[(of[box], c, *where)])
            for d in range(2):
                part = part * shares[d][box, at[d], i[d], k[d]]
            over = (*i, *k)
            return te.max(part, over=over) if self.kind == "max" else te.sum(part, over=over)

        whole = (self.boxes, self.channels, *self.out)
        made = te.compute("made", whole, value)
        share = 1.0 / self.samples**2 if self.kind == "average" else 1.0
        if share == 1.0 and made.dtype == self.dtype:
            return made
        return te.compute("out", whole, lambda *at: mixed.stored(made[at] * share, self.dtype))

    def _places(self, r: te.Tensor, d: int) -> te.Tensor:
        """Return where in dimension d each sample of each bin lies."""

        def place(box: te.Axis, p: te.Axis, i: te.Axis) -> Scalar:
            offset = 0.5 if self.half else 0.0
            first, last = (
                mixed.wide(r[box, side]) * self.scale - offset for side in (1 - d, 3 - d)
            )
            length = last - first if self.half else te.maximum(last - first, 1.0)
            wide = first.dtype
            step = te.cast(wide, p) + (te.cast(wide, i) + 0.5) * (1.0 / self.samples)
            return first + length * (1.0 / self.out[d]) * step

        return te.compute(f"place{d}", (self.boxes, self.out[d], self.samples), place)

    def _near(self, place: te.Tensor, d: int, at: Sequence[te.Axis]) -> Scalar:
        """Return a place moved into the image."""
        return te.minimum(te.maximum(place[tuple(at)], 0.0), float(self.size[d] - 1))

    def _tap(self, place: te.Tensor, d: int, at: Sequence[te.Axis]) -> Scalar:
        low = te.floor(self._near(place, d, at[:-1]))
        return low + te.cast(low.dtype, at[-1])

    def _pixel(self, place: te.Tensor, d: int) -> Callable[..., Scalar]:
        last = float(self.size[d] - 1)
        return lambda *at: te.cast("int32", te.minimum(self._tap(place, d, at), last))

    def _share(self, place: te.Tensor, d: int) -> Callable[..., Scalar]:
        def share(*at: te.Axis) -> Scalar:
            where = place[at[:-1]]
            part = 1.0 - abs(self._near(place, d, at[:-1]) - self._tap(place, d, at))
            return te.select((where >= -1.0) & (where <= float(self.size[d])), part, 0.0)

        return share


def _mirrored(x: Scalar, low: float, high: float) -> Scalar:
    """Return what mirrors at `low` and `high` show at x."""
    if high <= low:
        return te.minimum(te.maximum(x, low), low)
    length = high - low
    away = abs(x - low)
    times = te.floor(away * (1.0 / length))
    rest = away - times * length
    even = equal(times - 2.0 * te.floor(times * 0.5), 0.0)
    return te.select(even, rest + low, high - rest)


def _share(mode: str, d: Scalar) -> Scalar:
    """Return how much a pixel counts that is d away."""
    if mode == "nearest":
        return d * 0.0 + 1.0
    if mode == "linear":
        return te.maximum(1.0 - d, 0.0)
    near = ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1.0
    far = ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC
    return te.select(d <= 1.0, near, far)
