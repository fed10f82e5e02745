"""Axes, over which stages are computed and reduced, and what may stand for an affine index."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.errors import ExpressionError
from tilewright.expr import ufuncs
from tilewright.expr.affine import Affine, AffineLike

if TYPE_CHECKING:
    from tilewright.expr.scalar import Within


class Axis:
    """A named range of integers, 0 <= axis < extent; arithmetic on it builds affine indices."""

    __slots__ = ("extent", "name", "reduce")

    def __init__(self, name: str, extent: Any, reduce: bool = False) -> None:
        whole = integer(extent)
        if whole is None or whole < 1:
            raise ExpressionError(
                f"axis {name!r} of extent {extent!r}: an extent is a positive integer."
            )
        self.name, self.extent, self.reduce = named("an axis", name), whole, reduce

    @property
    def affine(self) -> Affine:
        return Affine(0, ((self.name, 1),))

    def __add__(self, other: IndexLike) -> Affine:
        return self.affine + other

    def __radd__(self, other: IndexLike) -> Affine:
        return self.affine + other

    def __sub__(self, other: IndexLike) -> Affine:
        return self.affine - other

    def __rsub__(self, other: IndexLike) -> Affine:
        return other - self.affine

    def __neg__(self) -> Affine:
        return -self.affine

    def __mul__(self, factor: int) -> Affine:
        return self.affine * factor

    def __rmul__(self, factor: int) -> Affine:
        return self.affine * factor

    def __truediv__(self, other: Any) -> Any:
        return self.affine / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.affine

    def __floordiv__(self, other: Any) -> Any:
        return self.affine // other

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.affine

    def __mod__(self, other: Any) -> Any:
        return self.affine % other

    def __rmod__(self, other: Any) -> Any:
        return other % self.affine

    def __pow__(self, other: Any) -> Any:
        return self.affine**other

    def __rpow__(self, other: Any) -> Any:
        return other**self.affine

    def __ge__(self, low: IndexLike) -> Within:
        return self.affine >= low

    def __lt__(self, high: IndexLike) -> Within:
        return self.affine < high

    def __gt__(self, low: IndexLike) -> Within:
        return self.affine > low

    def __le__(self, high: IndexLike) -> Within:
        return self.affine <= high

    def __bool__(self) -> bool:
        return bool(self.affine)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        return ufuncs.apply(ufunc, method, inputs)

    def __repr__(self) -> str:
        return f"{self.name}({self.extent})"


IndexLike = Axis | Affine | int | np.integer[Any]


def affine(index: IndexLike | AffineLike) -> Affine:
    """Return an index of a load; raise ExpressionError for what is no affine index."""
    made = Affine.of(index)
    if any(isinstance(part, np.ndarray) for part in (made.constant, *(c for _, c in made.terms))):
        raise ExpressionError(f"{index} is no affine index: it holds an array; index by one axis.")
    return made


def reduce_axis(name: str, extent: int | np.integer[Any]) -> Axis:
    """Declare an axis to reduce over."""
    return Axis(name, extent, reduce=True)


def integer(value: Any) -> int | None:
    """Return an integer, NumPy's too, as Python's; None for what is none."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def named(of: str, name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ExpressionError(f"{name!r} is no name for {of}: give a text that is not empty.")
    return name
