"""Indices that are data: what operators that take them check, and how they are named."""

from __future__ import annotations

from typing import Protocol

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.ops import fields
from tilewright.ops.fold import axes_of


class Indexed(Protocol):
    """An operator on X of a shape, at indices of another."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def indices(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def index_dtype(self) -> str: ...


def check_type(what: str, of: Indexed) -> None:
    """Refuse indices that are no integers."""
    if dtypes.is_float(of.index_dtype) or of.index_dtype == "bool":
        raise ExpressionError(
            f"{what} at indices of {of.index_dtype}: they are integers, as int64."
        )


def check_elements(what: str, of: Indexed, axis: int) -> None:
    """Refuse indices that do not each have a place of their own along an axis of X."""
    (axis,) = axes_of(what, of.shape, axis)
    check_type(what, of)
    if len(of.shape) != len(of.indices) or any(
        m > n for d, (m, n) in enumerate(zip(of.indices, of.shape, strict=True)) if d != axis
    ):
        raise ExpressionError(
            f"{what} of {of.shape} at {of.indices}: indices have as many dimensions, none of them "
            f"longer but for axis {axis}."
        )


def named(what: str, of: Indexed, rest: str = "", at: str = "at") -> str:
    """Return the name of such an operator: what is done to what, at how many places, and the rest.

    >>> from tilewright.ops.gather import Gather
    >>> named("gather", Gather((9, 4), (2,), dtype="int8"), " along 0")
    'gather 9x4 at 2 along 0 of int8'
    """
    shape, indices = ("x".join(map(str, extents)) or "one" for extents in (of.shape, of.indices))
    by = "" if of.index_dtype == "int64" else f" {of.index_dtype}"
    return f"{what} {shape} {at} {indices}{by}{rest}{fields.of(of.dtype)}"
