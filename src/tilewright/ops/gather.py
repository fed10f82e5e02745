"""Reading at indices that are data: rows of a table (embeddings), and elements one by one.

Indices below zero count from the end, as in NumPy and ONNX. ONNX says nothing of what is beyond
either end, and NumPy refuses it: here it is the nearest element, so that nothing is read from
outside of X.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.ops import fields
from tilewright.ops.fold import axes_of, rows_of
from tilewright.ops.indices import check_elements, check_type, named


@dataclass(frozen=True)
class Gather:
    """X[.., I[..], ..]: slices of X along `axis`, as ONNX's Gather, or numpy.take, takes them.

    Where numpy.take raises an error, for an index beyond either end, the slice at that end is
    taken; an index below zero counts from the end first.

    X is seen as (outer, axis, inner), without dimensions of one element before and after the axis,
    and I as one dimension of all its elements, in the place of the axis of the result.
    """

    shape: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int = 0
    dtype: str = "float32"
    index_dtype: str = "int64"

    def __post_init__(self) -> None:
        fields.check(self)
        axes_of("gather", self.shape, self.axis)
        check_type("gather", self)

    @property
    def name(self) -> str:
        return named("gather", self, f" along {self.axis % len(self.shape)}")

    def expression(self) -> te.Tensor:
        outer, n, *inner = rows_of(self.shape, self.axis % len(self.shape))
        before = (outer,) if outer > 1 else ()
        x = te.tensor("X", (*before, n, *inner), self.dtype)
        ids = te.tensor("I", (prod(self.indices),), self.index_dtype)
        axes = [te.Axis("outer", outer)] * len(before)
        i, rest = te.Axis("i", ids.shape[0]), [te.Axis("inner", extent) for extent in inner]
        return te.stage("out", (*axes, i, *rest), x[(*axes, ids[i], *rest)])


@dataclass(frozen=True)
class GatherElements:
    """Elements of X, each at its own place along `axis`, as numpy.take_along_axis takes them.

    An index beyond either end takes the element at that end, as of `Gather`.

    The result has the shape of I, which is in no other dimension longer than X.
    """

    shape: tuple[int, ...]
    indices: tuple[int, ...]
    axis: int = 0
    dtype: str = "float32"
    index_dtype: str = "int64"

    def __post_init__(self) -> None:
        fields.check(self)
        check_elements("gather elements", self, self.axis)

    @property
    def name(self) -> str:
        return named("gather elements", self, f" along {self.axis % len(self.shape)}")

    def expression(self) -> te.Tensor:
        x = te.tensor("X", self.shape, self.dtype)
        ids = te.tensor("I", self.indices, self.index_dtype)
        at = tuple(te.Axis(f"i{d}", n) for d, n in enumerate(self.indices))
        axis = self.axis % len(self.shape)
        return te.stage("out", at, x[(*at[:axis], ids[at], *at[axis + 1 :])])


@dataclass(frozen=True)
class GatherNd:
    """Slices of X at places I of the dimensions behind the first `shared`, which both have.

    I is (*shared, .., depth): each index says where in so many dimensions, and the result is
    (*shared, .., the dimensions of X behind those). An index beyond either end is that end, as of
    `Gather`.
    """

    shape: tuple[int, ...]
    indices: tuple[int, ...]
    shared: int = 0
    dtype: str = "float32"
    index_dtype: str = "int64"

    def __post_init__(self) -> None:
        fields.check(self)
        check_type("gather", self)
        b = self.shared
        if (
            not b < min(len(self.indices), len(self.shape))
            or self.shape[:b] != self.indices[:b]
            or b + self.indices[-1] > len(self.shape)
        ):
            raise ExpressionError(
                f"gather of {self.shape} at {self.indices} with {b} dimensions in common: these "
                "must agree, and the last extent of the indices says how many dimensions of X, at "
                "most all others, an index has."
            )

    @property
    def name(self) -> str:
        within = f" in {self.shared}" if self.shared else ""
        return named("gather", self, within, at="at places")

    def expression(self) -> te.Tensor:
        depth, both = self.indices[-1], prod(self.shape[: self.shared])
        count = prod(self.indices[self.shared : -1])
        inner = prod(self.shape[self.shared + depth :])
        outer, rest = (both,) if both > 1 else (), (inner,) if inner > 1 else ()
        each = self.shape[self.shared : self.shared + depth]
        x = te.tensor("X", (*outer, *each, *rest), self.dtype)
        ids = te.tensor("I", (*outer, count, depth), self.index_dtype)
        first = tuple(te.Axis("batch", n) for n in outer)
        i, last = te.Axis("i", count), tuple(te.Axis("inner", n) for n in rest)
        places = [ids[(*first, i, d)] for d in range(depth)]
        return te.stage("out", (*first, i, *last), x[(*first, *places, *last)])
