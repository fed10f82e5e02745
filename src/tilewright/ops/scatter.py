"""Writing at indices that are data: each element of the result looks for what is written to it.

Indices below zero count from the end. ONNX says nothing of those beyond either end: here they are
written nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Const, Index, Load, Scalar, equal
from tilewright.ops import fields, mixed
from tilewright.ops.indices import check_elements, check_type, named

KINDS = ("none", "add", "mul", "max", "min")
_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


@dataclass(frozen=True)
class ScatterElements:
    """X with elements of U written over it, each at its own place I along `axis`.

    I and U are in no other dimension longer than X. Of several that meet, the last stays; with
    `kind` add, mul, max or min all are combined with what was there.
    """

    shape: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int = 0
    kind: str = "none"
    dtype: str = "float32"
    index_dtype: str = "int64"

    def __post_init__(self) -> None:
        fields.check(self)
        _check_kind(self.kind, self.dtype)
        check_elements("scatter elements", self, self.axis)

    @property
    def name(self) -> str:
        along = f" along {self.axis % len(self.shape)}"
        return named("scatter elements", self, _how(self.kind) + along)

    def expression(self) -> te.Tensor:
        axis = self.axis % len(self.shape)
        x = te.tensor("X", self.shape, self.dtype)
        ids = te.tensor("I", self.indices, self.index_dtype)
        u = te.tensor("U", self.indices, self.dtype)
        at = tuple(te.Axis(f"i{d}", n) for d, n in enumerate(self.shape))
        k = te.reduce_axis("k", self.indices[axis])
        reached = [
            at[d] < m
            for d, (m, n) in enumerate(zip(self.indices, self.shape, strict=True))
            if d != axis and m < n
        ]

        def inside(yes: Scalar, no: Scalar) -> Scalar:
            for condition in reached:
                yes = te.select(condition, yes, no)
            return yes

        def written(j: te.Axis | Scalar) -> Load:
            return u[(*at[:axis], j, *at[axis + 1 :])]

        place = ids[(*at[:axis], k, *at[axis + 1 :])]
        hit = _meets(place, at[axis], self.shape[axis])
        if self.kind == "none":
            last = te.stage("last", at, te.max(inside(te.select(hit, Index(k.affine), -1), _NO), k))
            made = te.select(last[at] >= 0, written(last[at]), x[at])
            return te.stage("out", at, inside(made, x[at]))
        neutral = _neutral(self.kind, x[at])
        value = inside(te.select(hit, _wide(self.kind, written(k)), neutral), neutral)
        total = te.stage("total", at, te.reduce(_REDUCTIONS[self.kind], value, k))
        return te.stage("out", at, _combined(self.kind, x[at], total[at]))


@dataclass(frozen=True)
class ScatterNd:
    """X with slices U written over it, each at a place I of its first dimensions.

    I is (.., depth), and U is (.., the dimensions of X behind the first `depth`); meetings are as
    of `ScatterElements`. X is seen with those dimensions as one, and I and U with the others so.
    """

    shape: tuple[int, ...]
    indices: tuple[int, ...]
    kind: str = "none"
    dtype: str = "float32"
    index_dtype: str = "int64"

    def __post_init__(self) -> None:
        fields.check(self)
        check_type("scatter", self)
        _check_kind(self.kind, self.dtype)
        if not self.indices or self.indices[-1] > len(self.shape):
            raise ExpressionError(
                f"scatter into {self.shape} at {self.indices}: the last extent of the indices says "
                "how many dimensions an index has, at most as many as X."
            )

    @property
    def name(self) -> str:
        return named("scatter", self, _how(self.kind))

    def expression(self) -> te.Tensor:
        depth, count = self.indices[-1], prod(self.indices[:-1])
        inner = prod(self.shape[depth:])
        rest = (inner,) if inner > 1 else ()
        x = te.tensor("X", (*self.shape[:depth], *rest), self.dtype)
        ids = te.tensor("I", (count, depth), self.index_dtype)
        u = te.tensor("U", (count, *rest), self.dtype)
        first = tuple(te.Axis(f"i{d}", n) for d, n in enumerate(self.shape[:depth]))
        other = tuple(te.Axis("inner", n) for n in rest)
        at = (*first, *other)
        k = te.reduce_axis("k", count)
        hit = _meets(ids[k, 0], first[0], self.shape[0])
        for d in range(1, depth):
            hit = hit & _meets(ids[k, d], first[d], self.shape[d])
        if self.kind == "none":
            last = te.stage("last", first, te.max(te.select(hit, Index(k.affine), -1), k))
            written = u[(last[first], *other)]
            return te.stage("out", at, te.select(last[first] >= 0, written, x[at]))
        value = te.select(hit, _wide(self.kind, u[(k, *other)]), _neutral(self.kind, x[at]))
        total = te.stage("total", at, te.reduce(_REDUCTIONS[self.kind], value, k))
        return te.stage("out", at, _combined(self.kind, x[at], total[at]))


_NO = Const(-1, "int64")


def _meets(place: Scalar, axis: te.Axis, extent: int) -> Scalar:
    """Whether an index, perhaps counted from the end, is the point of an axis."""
    place = mixed.stored(place, "int64")
    return equal(place, axis) | equal(place, axis - extent)


def _wide(kind: str, value: Scalar) -> Scalar:
    return mixed.wide(value) if kind in ("add", "mul") else value


def _neutral(kind: str, x: Scalar) -> Scalar:
    """Return what changes nothing; for the greatest and the least that is the element itself."""
    if kind in ("max", "min"):
        return x
    return Const(int(kind == "mul"), mixed.sums(x.dtype))


def _combined(kind: str, x: Scalar, total: Scalar) -> Scalar:
    match kind:
        case "add":
            return mixed.stored(mixed.wide(x) + total, x.dtype)
        case "mul":
            return mixed.stored(mixed.wide(x) * total, x.dtype)
        case "max":
            return te.maximum(x, total)
        case _:
            return te.minimum(x, total)


def _check_kind(kind: str, dtype: str) -> None:
    if kind not in KINDS:
        raise ExpressionError(f"unknown kind of scatter {kind!r}: it is {', '.join(KINDS)}.")
    if kind != "none" and dtype == "bool":
        raise ExpressionError(f"scatter with {kind} of bool: cast X and U, as to uint8.")


def _how(kind: str) -> str:
    return "" if kind == "none" else f" with {kind}"
