"""Reading at indices that are data: rows of a table (embeddings), and elements one by one.

Indices below zero count from the end, as in NumPy and ONNX. ONNX says nothing of what is beyond
either end, and NumPy refuses it: here it is the nearest element, so that nothing is read from
outside of X.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.ops import fields
from tilewright.ops.fold import axes_of, rows_of


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
        _check_indices("gather", self.index_dtype)

    @property
    def name(self) -> str:
        return _name("gather", self)

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
        (axis,) = axes_of("gather elements", self.shape, self.axis)
        _check_indices("gather elements", self.index_dtype)
        if len(self.shape) != len(self.indices) or any(
            m > n
            for d, (m, n) in enumerate(zip(self.indices, self.shape, strict=True))
            if d != axis
        ):
            raise ExpressionError(
                f"gather elements of {self.shape} at {self.indices}: indices have as many "
                f"dimensions, none of them longer but for axis {axis}."
            )

    @property
    def name(self) -> str:
        return _name("gather elements", self)

    def expression(self) -> te.Tensor:
        x = te.tensor("X", self.shape, self.dtype)
        ids = te.tensor("I", self.indices, self.index_dtype)
        at = tuple(te.Axis(f"i{d}", n) for d, n in enumerate(self.indices))
        axis = self.axis % len(self.shape)
        return te.stage("out", at, x[(*at[:axis], ids[at], *at[axis + 1 :])])


def _name(kind: str, of: Gather | GatherElements) -> str:
    given, at = ("x".join(map(str, extents)) or "one" for extents in (of.shape, of.indices))
    by = "" if of.index_dtype == "int64" else f" {of.index_dtype}"
    return f"{kind} {given} at {at}{by} along {of.axis % len(of.shape)}{fields.of(of.dtype)}"


def _check_indices(kind: str, dtype: str) -> None:
    if dtypes.is_float(dtype) or dtype == "bool":
        raise ExpressionError(f"{kind} at indices of {dtype}: they are integers, as int64.")
