"""Whether an expression stays inside of its tensors: what it loads, it may load."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Binary, Load, Scalar, Select, Within, children

MAX_POINTS = 1 << 20  # beyond so many points, conditions are believed

Case = tuple[Scalar, bool]  # a condition, and whether it holds


def check_loads(
    name: str, value: Scalar, extents: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise ExpressionError if a load can leave its tensor where the selects round it choose it."""
    _visit(name, value, extents, shapes, ())


def _visit(
    name: str,
    value: Scalar,
    extents: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
    cases: tuple[Case, ...],
) -> None:
    match value:
        case Load(buffer=buffer, index=index):
            for d, (i, extent) in enumerate(zip(index, shapes[buffer], strict=True)):
                _check(name, value, d, i, extent, extents, cases)
        case Select(condition=condition, yes=yes, no=no):
            _visit(name, condition, extents, shapes, cases)
            _visit(name, yes, extents, shapes, (*cases, (condition, True)))
            _visit(name, no, extents, shapes, (*cases, (condition, False)))
        case Binary(op="and", left=left, right=right):
            _visit(name, left, extents, shapes, cases)
            _visit(name, right, extents, shapes, (*cases, (left, True)))
        case _:
            for child in children(value):
                _visit(name, child, extents, shapes, cases)


def _check(
    name: str,
    load: Load,
    d: int,
    index: Affine,
    extent: int,
    extents: Mapping[str, int],
    cases: tuple[Case, ...],
) -> None:
    low, high = index.bounds(lambda v: (0, extents[v] - 1))
    if low >= 0 and high < extent:
        return
    if not all(_only_indices(condition) for condition, _ in cases):
        return  # data may decide; only the run can tell
    variables = {v for c, _ in cases for v in _variables(c)} | set(index.variables)
    if math.prod(extents[v] for v in variables) > MAX_POINTS:
        return
    grid = dict(zip(variables, np.ogrid[tuple(slice(extents[v]) for v in variables)], strict=True))
    chosen: Any = True
    for condition, holds in cases:
        chosen = chosen & (np.asarray(_evaluate(condition, grid)) == holds)
    at, chosen = np.broadcast_arrays(index.evaluate(grid), chosen)
    reached = at[chosen]
    if reached.size and (reached.min() < 0 or reached.max() >= extent):
        raise ExpressionError(
            f"{load} in {name} leaves {load.buffer}: index {d} runs from {reached.min()} to "
            f"{reached.max()}, but the extent is {extent}. "
            "Guard it, as in select((i >= 1) & (i < n), a[i - 1], 0.0)."
        )


def _only_indices(condition: Scalar) -> bool:
    if isinstance(condition, Binary) and condition.op in ("and", "or"):
        return _only_indices(condition.left) and _only_indices(condition.right)
    return isinstance(condition, Within)


def _variables(condition: Scalar) -> set[str]:
    own = getattr(condition, "index", None)
    inner = {v for child in children(condition) for v in _variables(child)}
    return inner | (set(own.variables) if isinstance(own, Affine) else set())


def _evaluate(condition: Scalar, grid: Mapping[str, Any]) -> Any:
    match condition:
        case Within(index=index, low=low, high=high):
            at = index.evaluate(grid)
            return (low <= at) & (at < high)
        case Binary(op="and", left=left, right=right):
            return _evaluate(left, grid) & _evaluate(right, grid)
        case Binary(op="or", left=left, right=right):
            return _evaluate(left, grid) | _evaluate(right, grid)
        case _:
            raise NotImplementedError(f"no condition on indices: {condition}")
