"""Moving data: joining, cutting and padding tensors of any shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields

MAX_CHAIN = 16  # parts that are asked for one after the other, which loops are specialised for


@dataclass(frozen=True)
class Concat:
    """X0, X1, … of these shapes, one behind the other along `axis`."""

    shapes: tuple[tuple[int, ...], ...]
    axis: int
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        _check_axis("concat", self.shapes[0] if self.shapes else (), self.axis)
        rest = {(*shape[: self.axis], *shape[self.axis + 1 :]) for shape in self.shapes}
        if len(rest) != 1 or len({len(shape) for shape in self.shapes}) != 1:
            raise ExpressionError(
                f"concat of {self.shapes} along axis {self.axis}: all other extents must agree."
            )

    @property
    def name(self) -> str:
        shapes = " ".join(map(_by, self.shapes))
        return f"concat {shapes} along {self.axis}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        d = self.axis
        xs = [te.tensor(f"X{i}", shape, self.dtype) for i, shape in enumerate(self.shapes)]
        ends = [sum(shape[d] for shape in self.shapes[: i + 1]) for i in range(len(xs))]
        first = self.shapes[0]
        at = _axes((*first[:d], ends[-1], *first[d + 1 :]))
        parts = [
            x[(*at[:d], at[d] - (end - x.shape[d]), *at[d + 1 :])]
            for x, end in zip(xs, ends, strict=True)
        ]
        value = _chosen(parts, ends, at[d])
        return te.stage("out", at, value)


def _chosen(parts: Sequence[Scalar], ends: Sequence[int], at: te.Axis) -> Scalar:
    """Return the part in which a place lies: one after the other, or of many by halves."""
    if len(parts) == 1:
        return parts[0]
    cut = len(parts) // 2 if len(parts) > MAX_CHAIN else 1
    before, after = _chosen(parts[:cut], ends[:cut], at), _chosen(parts[cut:], ends[cut:], at)
    return te.select(at < ends[cut - 1], before, after)


@dataclass(frozen=True)
class Slice:
    """Part of X: in each dimension `count` elements from `start` on, `step` apart.

    A step may be negative, or zero, which repeats an element. `Slice.of` takes Python's slices.
    """

    shape: tuple[int, ...]
    start: tuple[int, ...]
    count: tuple[int, ...]
    step: tuple[int, ...]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        lengths = {len(self.shape), len(self.start), len(self.count), len(self.step)}
        ends = [
            start + (count - 1) * step
            for start, count, step in zip(self.start, self.count, self.step, strict=False)
        ]
        if (
            len(lengths) > 1
            or any(count < 1 for count in self.count)
            or any(
                not (0 <= start < n and 0 <= end < n)
                for start, end, n in zip(self.start, ends, self.shape, strict=True)
            )
        ):
            raise ExpressionError(
                f"slice of {self.shape} from {self.start}, {self.count} elements by steps of "
                f"{self.step}: each dimension needs all three, at least one element, and the first "
                "and the last inside of X."
            )

    @staticmethod
    def of(shape: tuple[int, ...], *slices: slice, dtype: str = "float32") -> Slice:
        """Return the operator of X[slices], as in `Slice.of((8, 8), slice(None, None, 2))`."""
        if not all(isinstance(cut, slice) for cut in slices) or len(slices) > len(shape):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(
                f"cannot slice {shape} by {slices}: give a slice for each dimension, or for the "
                "first few, as in Slice.of((8, 8), slice(None, None, 2))."
            )
        every = (*slices, *(slice(None),) * (len(shape) - len(slices)))
        ranges = [range(n)[cut] for n, cut in zip(shape, every, strict=True)]
        starts = tuple(r.start for r in ranges)
        return Slice(shape, starts, tuple(map(len, ranges)), tuple(r.step for r in ranges), dtype)

    @property
    def name(self) -> str:
        text = f"slice {_by(self.shape)} from {self.start} by {self.step} to {_by(self.count)}"
        return text + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        x, at = te.tensor("X", self.shape, self.dtype), _axes(self.count)
        index = tuple(i * self.step[d] + self.start[d] for d, i in enumerate(at))
        return te.stage("out", at, x[index])


@dataclass(frozen=True)
class Pad:
    """X with more elements before and behind each dimension, as many as `before` and `behind`.

    With mode "constant" they are `value`; with "edge" the nearest element of X, and with "reflect"
    what is as far inside of the nearest as they are outside.
    """

    shape: tuple[int, ...]
    before: tuple[int, ...]
    behind: tuple[int, ...]
    mode: str = "constant"
    value: float = 0.0
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        if self.mode not in ("constant", "edge", "reflect"):
            raise ExpressionError(f"pad with mode {self.mode!r}: it is constant, edge or reflect.")
        if dtypes.number(self.value, self.dtype) is None:
            raise ExpressionError(
                f"pad of {self.dtype} with value {self.value}: it is a number of that type."
            )
        asked = f"pad {self.shape} by {self.before} before and {self.behind} behind"
        pads = (*self.before, *self.behind)
        if not len(self.shape) == len(self.before) == len(self.behind) or min(pads, default=0) < 0:
            raise ExpressionError(f"{asked}: each dimension needs two numbers, at least 0.")
        if self.mode == "reflect" and any(
            max(a, b) >= n for a, b, n in zip(self.before, self.behind, self.shape, strict=True)
        ):
            raise ExpressionError(f"{asked}, reflected: less than the dimension is long.")

    @property
    def name(self) -> str:
        text = f"pad {_by(self.shape)} by {self.before} and {self.behind}, {self.mode}"
        return text + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        x = te.tensor("X", self.shape, self.dtype)
        sides = list(zip(self.before, self.shape, self.behind, strict=True))
        at = _axes(tuple(a + n + b for a, n, b in sides))
        if self.mode == "constant":
            value: Scalar = x[tuple(i - a for i, a in zip(at, self.before, strict=True))]
            for i, (a, n, b) in zip(at, sides, strict=True):
                value = te.select(i < a + n, value, self.value) if b else value
                value = te.select(i >= a, value, self.value) if a else value
            return te.stage("out", at, value)
        return te.stage("out", at, self._nearest(x, at, ()))

    def _nearest(self, x: te.Tensor, at: tuple[te.Axis, ...], index: tuple[Affine, ...]) -> Scalar:
        """Return the load for the dimensions chosen so far, and for each side of the others."""
        d = len(index)
        if d == len(at):
            return x[index]
        a, n, b, i = self.before[d], self.shape[d], self.behind[d], at[d]
        reflected = self.mode == "reflect"
        low = a - i if reflected else Affine()
        high = 2 * (n - 1) + a - i if reflected else Affine(n - 1)
        value = self._nearest(x, at, (*index, i - a))
        if b:
            value = te.select(i < a + n, value, self._nearest(x, at, (*index, high)))
        return te.select(i < a, self._nearest(x, at, (*index, low)), value) if a else value


def _axes(shape: tuple[int, ...]) -> tuple[te.Axis, ...]:
    return tuple(te.Axis(f"i{d}", n) for d, n in enumerate(shape))


def _check_axis(kind: str, shape: tuple[int, ...], axis: int) -> None:
    if not 0 <= axis < len(shape):
        raise ExpressionError(
            f"{kind} of {shape} along axis {axis}: axes are counted from 0 to {len(shape) - 1}."
        )


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
