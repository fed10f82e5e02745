"""Reductions over axes: sums, products, the greatest and the least."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.axis import Axis
from tilewright.expr.scalar import Scalar, ScalarLike, scalar

REDUCTIONS = ("sum", "max", "min", "prod")


@dataclass(frozen=True, slots=True)
class Reduce(Scalar):
    """A reduction over axes; only a whole stage can be one."""

    kind: str
    axes: tuple[Axis, ...]
    value: Scalar
    dtype: str

    def __str__(self) -> str:
        return f"{self.kind}({self.value}, over={', '.join(a.name for a in self.axes)})"


def reduce(kind: str, value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    axes = tuple(over) if isinstance(over, Iterable) else (over,)
    body = scalar(value, "float32")
    if not axes:
        raise ExpressionError(f"{kind} of {body} over no axis: name one, made by reduce_axis.")
    for axis in axes:
        if not isinstance(axis, Axis):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(
                f"cannot reduce over {over!r}: give the axis itself, as in "
                f"k = reduce_axis('k', 8) and {kind}(..., over=k)."
            )
        if not axis.reduce:
            raise ExpressionError(f"cannot reduce over {axis!r}: declare it with reduce_axis.")
    if body.dtype == "bool":
        raise ExpressionError(f"{kind} of {body} is of bool: cast it, as in cast('int32', ...).")
    if kind in ("sum", "prod") and body.dtype in dtypes.SHORT_FLOATS:
        raise ExpressionError(
            f"{kind} of {body} is of {body.dtype}, in which numbers are stored but not added up: "
            "cast it, as in sum(cast('float32', a[k]), over=k), and the result back if wanted."
        )
    return Reduce(kind, axes, body, body.dtype)


def sum(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Add up `value` over one or more reduce axes, in the type of `value`.

    Small integers wrap where the sum leaves their type, and float32 adds up in float32: cast the
    value first for more, as in `sum(cast("int32", a[k]) * cast("int32", b[k]), over=k)`.
    """
    return reduce("sum", value, over)


def max(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Take the greatest `value` over one or more reduce axes; NaN if any is."""
    return reduce("max", value, over)


def min(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Take the least `value` over one or more reduce axes; NaN if any is.

    >>> import tilewright as tw
    >>> a, k = tw.tensor("A", (4, 8)), tw.reduce_axis("k", 8)
    >>> tw.compute("B", (4,), lambda y: tw.min(a[y, k], over=k))
    B: float32 4 = min(A[y, k], over=k)
    """
    return reduce("min", value, over)


def prod(value: ScalarLike, over: Axis | Sequence[Axis]) -> Reduce:
    """Multiply `value` over one or more reduce axes.

    >>> import tilewright as tw
    >>> a, k = tw.tensor("A", (4, 8)), tw.reduce_axis("k", 8)
    >>> tw.compute("B", (4,), lambda y: tw.prod(a[y, k], over=k))
    B: float32 4 = prod(A[y, k], over=k)
    """
    return reduce("prod", value, over)
