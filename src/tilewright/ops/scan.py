"""Running totals along an axis: each element is made of those before it."""

from __future__ import annotations

from dataclasses import dataclass

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Const
from tilewright.ops import fields, mixed
from tilewright.ops.fold import axes_of, rows_of


@dataclass(frozen=True)
class Scan:
    """The sum or the product, as `kind` says, of X up to each place along `axis`.

    With `reverse` of all from there to the end; with `exclusive` without the element itself. X is
    seen as (outer, axis, inner), like that of softmax.
    """

    kind: str
    shape: tuple[int, ...]
    axis: int = -1
    exclusive: bool = False
    reverse: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        axes_of("scan", self.shape, self.axis)
        if self.kind not in ("sum", "prod") or self.dtype == "bool":
            raise ExpressionError(f"scan by {self.kind!r} of {self.dtype}: sum or prod of numbers.")

    @property
    def name(self) -> str:
        shape = "x".join(map(str, self.shape))
        how = " exclusive" * self.exclusive + " reverse" * self.reverse
        over = self.axis % len(self.shape)
        return f"cumulative {self.kind} {shape} over {over}{how}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        shape = rows_of(self.shape, self.axis % len(self.shape))
        x, k = te.tensor("X", shape, self.dtype), te.reduce_axis("k", shape[1])
        at = tuple(
            te.Axis(name, n) for name, n in zip(("outer", "i", "inner"), shape, strict=False)
        )
        ahead = k - at[1] if self.reverse else at[1] - k
        value = mixed.wide(x[(at[0], k, *at[2:])])
        one = Const(int(self.kind == "prod"), value.dtype)
        if dtypes.is_float(value.dtype):
            one = Const(float(one.value), value.dtype)
        counted = te.select(ahead >= int(self.exclusive), value, one)
        total = te.stage("total", at, te.reduce(self.kind, counted, k))
        if total.dtype == self.dtype:
            return total
        return te.stage("out", at, te.cast(self.dtype, total[at]))
