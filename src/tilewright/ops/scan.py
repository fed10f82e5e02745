"""Running totals along an axis: each element is made of those before it."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Const, Scalar
from tilewright.ops import fields, mixed
from tilewright.ops.fold import axes_of, rows_of

LONG = 48  # places from which on there are blocks


@dataclass(frozen=True)
class Scan:
    """The sum or the product, as `kind` says, of X up to each place along `axis`.

    With `reverse` of all from there to the end; with `exclusive` without the element itself. X is
    seen as (outer, axis, inner), like that of softmax. A long axis is cut into blocks, if it can
    be: each place then adds up its block alone, and each block those before it.
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
        x, block = te.tensor("X", shape, self.dtype), _block(shape[1])
        return self._pairs(x) if block is None else self._blocks(x, block)

    def _pairs(self, x: te.Tensor) -> te.Tensor:
        """Compare each place with each other."""
        at, k = _axes(("outer", "i", "inner"), x.shape), te.reduce_axis("k", x.shape[1])
        value = mixed.wide(x[(at[0], k, *at[2:])])
        kept = self._kept(at[1], k, value, exclusive=self.exclusive)
        total = te.stage("total", at, kept)
        if total.dtype == self.dtype:
            return total
        return te.stage("out", at, te.cast(self.dtype, total[at]))

    def _blocks(self, x: te.Tensor, block: int) -> te.Tensor:
        """Compare places with those of their block, and blocks with each other."""
        outer, extent, *rest = x.shape
        names, count = ("outer", "j", "inner"), extent // block
        o, j, *inner = first = _axes(names, (outer, count, *rest))
        r, m, k = (te.reduce_axis(n, e) for n, e in (("r", block), ("m", count), ("k", block)))
        held = te.reduce(self.kind, mixed.wide(x[(o, j * block + r, *inner)]), r)
        blocks = te.stage("blocks", first, held)
        o, j, *inner = second = _axes(names, (outer, count, *rest))
        since = self._kept(j, m, blocks[(o, m, *inner)], exclusive=True)
        before = te.stage("before", second, since)
        o, j, i, *inner = third = _axes(("outer", "j", "i", "inner"), (outer, count, block, *rest))
        value = mixed.wide(x[(o, j * block + k, *inner)])
        within = te.stage("within", third, self._kept(i, k, value, exclusive=self.exclusive))
        o, j, i, *inner = last = _axes(("outer", "j", "i", "inner"), within.shape)
        near, far = within[last], before[(o, j, *inner)]
        total = near + far if self.kind == "sum" else near * far
        if total.dtype != self.dtype:
            total = te.cast(self.dtype, total)
        return te.stage("out", last, total, x.shape, (o, j * block + i, *inner))

    def _kept(self, at: te.Axis, k: te.Axis, value: Scalar, *, exclusive: bool) -> te.Reduce:
        """Reduce the values at those k that are before a place, or behind it."""
        ahead = k - at if self.reverse else at - k
        one = Const(int(self.kind == "prod"), value.dtype)
        if dtypes.is_float(value.dtype):
            one = Const(float(one.value), value.dtype)
        return te.reduce(self.kind, te.select(ahead >= int(exclusive), value, one), k)


def _axes(names: tuple[str, ...], shape: tuple[int, ...]) -> tuple[te.Axis, ...]:
    return tuple(te.Axis(name, n) for name, n in zip(names, shape, strict=False))


def _block(extent: int) -> int | None:
    """Return how long blocks are: near the root of the extent; None where pairs are as few."""
    if extent < LONG:
        return None
    found = max(b for b in range(1, isqrt(extent) + 1) if extent % b == 0)
    return extent // found if found >= 4 else None
