"""Where the greatest or the least elements are, in order."""

from __future__ import annotations

from dataclasses import dataclass

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar, equal, not_equal
from tilewright.ops import fields
from tilewright.ops.fold import axes_of, rows_of


@dataclass(frozen=True)
class TopK:
    """The indices, in int64, of the `count` greatest elements along `axis`, the greatest first.

    With `least` of the least, that first. Of equal elements the first is first, and NaN is greater
    than all. Each element counts those that come before it, which is its place: as many comparisons
    as pairs. X is seen as (outer, axis, inner).
    """

    shape: tuple[int, ...]
    count: int
    axis: int = -1
    least: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        (axis,) = axes_of("top k", self.shape, self.axis)
        if not 1 <= self.count <= self.shape[axis]:
            raise ExpressionError(
                f"{self.count} elements of {self.shape} along axis {axis}: one or more, and at "
                "most as many as there are."
            )

    @property
    def name(self) -> str:
        shape, which = "x".join(map(str, self.shape)), "least" if self.least else "greatest"
        over = self.axis % len(self.shape)
        return f"{self.count} {which} of {shape} over {over}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        shape = rows_of(self.shape, self.axis % len(self.shape))
        x = te.tensor("X", shape, self.dtype)
        names = ("outer", "i", "inner")
        at = tuple(te.Axis(name, n) for name, n in zip(names, shape, strict=False))
        k = te.reduce_axis("k", shape[1])
        mine, other = x[at], x[(at[0], k, *at[2:])]
        first, second = (mine, other) if self.least else (other, mine)
        before = self._above(first, second)
        earlier = k < at[1]
        ahead = before | (earlier & ~self._above(second, first))
        rank = te.stage("rank", at, te.sum(_number(ahead), k))
        j = te.Axis("j", self.count)
        to = (at[0], j, *at[2:])
        found = equal(rank[(at[0], k, *at[2:])], te.cast("int32", j))
        place = te.stage("place", to, te.max(te.select(found, te.cast("int32", k), 0), k))
        return te.stage("out", to, te.cast("int64", place[to]))

    def _above(self, a: Scalar, b: Scalar) -> Scalar:
        above = b < a
        if dtypes.is_float(self.dtype):
            above = above | (not_equal(a, a) & equal(b, b))
        return above


def _number(condition: Scalar) -> Scalar:
    return te.select(condition, te.cast("int32", 1), te.cast("int32", 0))
