"""Shapes with as few dimensions as an operator tells apart: neighbours treated alike merge."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilewright.errors import ExpressionError


def axes_of(what: str, shape: tuple[int, ...], axes: int | Sequence[int]) -> tuple[int, ...]:
    """Return axes as numbers from 0, in order; raise ExpressionError if `shape` lacks one."""
    given = (axes,) if isinstance(axes, int) else tuple(axes)
    found = sorted(axis + len(shape) if axis < 0 else axis for axis in given)
    if not found or len(set(found)) < len(found) or not all(0 <= a < len(shape) for a in found):
        raise ExpressionError(
            f"{what} of {'x'.join(map(str, shape))} over axes {given}: give one or more different "
            f"axes from {-len(shape)} to {len(shape) - 1}."
        )
    return tuple(found)


def folded(shape: tuple[int, ...], axes: Sequence[int]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """Merge neighbours that are all in `axes`, or all not; return the shape, and which are in.

    Dimensions of one element are left out where others remain.

    >>> folded((2, 3, 4, 1, 5), (1, 2))
    ((2, 12, 5), (False, True, False))
    """
    groups: list[tuple[int, bool]] = []
    for axis, extent in enumerate(shape):
        inside = axis in axes
        if groups and groups[-1][1] == inside:
            groups[-1] = (groups[-1][0] * extent, inside)
        elif extent > 1:
            groups.append((extent, inside))
    if not any(inside for _, inside in groups):
        groups.append((1, True))
    return tuple(n for n, _ in groups), tuple(inside for _, inside in groups)


def rows_of(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Return (outer, extent of the axis), with the product of what follows it unless that is 1."""
    outer, inner = prod(shape[:axis]), prod(shape[axis + 1 :])
    return (outer, shape[axis], inner) if inner > 1 else (outer, shape[axis])
