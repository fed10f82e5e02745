"""Whether an expression stays inside of its tensors: what it loads, it may load.

A load may leave its tensor only where conditions on indices do not choose it. What data decide is
not known before a kernel runs, so conditions on data show nothing here; an index that is data never
leaves its dimension (`Load`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.parts import children, walk
from tilewright.expr.scalar import Binary, Load, Scalar, Select, Table, Within, invert

MAX_POINTS = 1 << 20  # so many points are looked at one by one; for more, bounds are derived
MAX_CASES = 64  # alternatives that are looked at, each a list of conditions which all hold
_ROUNDS = 8  # how often bounds are derived from bounds

Bounds = tuple[int, int]  # the least and the greatest value, both included


def check_loads(
    name: str, value: Scalar, extents: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Raise ExpressionError if a load may leave its tensor where the selects round it choose it."""
    _visit(name, value, extents, shapes, ())


def check_places(
    name: str, at: tuple[Affine, ...], extents: Mapping[str, int], shape: tuple[int, ...]
) -> None:
    """Raise ExpressionError unless each element of a tensor is computed at one point of the axes.

    Each dimension has axes of its own, with coefficients above zero.
    """
    used = [variable for index in at for variable in index.variables]
    once = sorted(used) == sorted(v for v, n in extents.items() if n > 1 or v in used)
    rising = all(step > 0 for index in at for _, step in index.terms)
    if len(at) != len(shape) or not once or not rising:
        raise ExpressionError(
            f"{name} of shape {shape} is computed at ({', '.join(map(str, at))}): give an index "
            f"for each dimension, in which each of the axes {', '.join(extents)} occurs once, "
            "times a positive number."
        )
    for d, (index, extent) in enumerate(zip(at, shape, strict=True)):
        grid = np.ix_(*(np.arange(extents[v]) for v in index.variables))
        places = np.asarray(index.evaluate(dict(zip(index.variables, grid, strict=True)))).ravel()
        count = np.bincount(places[(places >= 0) & (places < extent)], minlength=extent)
        if np.any(count != 1):
            wrong = int(np.argmax(count != 1))
            raise ExpressionError(
                f"{name} is computed at {index} in dimension {d}, which is {wrong} for "
                f"{count[wrong]} points: each element needs one."
            )


def _visit(
    name: str,
    value: Scalar,
    extents: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
    cases: tuple[Scalar, ...],
) -> None:
    match value:
        case Load(buffer=buffer, index=index):
            for d, (i, extent) in enumerate(zip(index, shapes[buffer], strict=True)):
                _check(name, value, d, i, extent, extents, cases)
            for child in children(value):
                _visit(name, child, extents, shapes, cases)
        case Table(index=index, shape=shape):
            for d, (i, extent) in enumerate(zip(index, shape, strict=True)):
                _check(name, value, d, i, extent, extents, cases)
        case Select(condition=condition, yes=yes, no=no):
            _visit(name, condition, extents, shapes, cases)
            _visit(name, yes, extents, shapes, (*cases, condition))
            _visit(name, no, extents, shapes, (*cases, invert(condition)))
        case Binary(op="and" | "or" as op, left=left, right=right):
            _visit(name, left, extents, shapes, cases)
            first = left if op == "and" else invert(left)
            _visit(name, right, extents, shapes, (*cases, first))
        case _:
            for child in children(value):
                _visit(name, child, extents, shapes, cases)


def _check(
    name: str,
    load: Load | Table,
    d: int,
    index: Affine,
    extent: int,
    extents: Mapping[str, int],
    cases: tuple[Scalar, ...],
) -> None:
    low, high = index.bounds(lambda v: (0, extents[v] - 1))
    if low >= 0 and high < extent:
        return
    variables = set(index.variables) | {v for c in cases for v in _variables(c)}
    ranges = {v: (0, extents[v] - 1) for v in variables}
    if math.prod(extents[v] for v in variables) <= MAX_POINTS:
        reached = seen(index, cases, ranges)
    else:
        reached = derived(index, cases, ranges)
    if reached and (reached[0] < 0 or reached[1] >= extent):
        source = load.buffer if isinstance(load, Load) else load.name
        data = not all(_of_indices(part) for condition in cases for part in walk(condition))
        raise ExpressionError(
            f"{load} in {name} leaves {source}: index {d} runs from {reached[0]} to "
            f"{reached[1]}, but the extent is {extent}. "
            "Guard it, as in select((i >= 1) & (i < n), a[i - 1], 0.0)"
            + ("; a condition on data does not show that it stays inside." if data else ".")
        )


def _of_indices(part: Scalar) -> bool:
    return isinstance(part, Within) or (isinstance(part, Binary) and part.op in ("and", "or"))


def _variables(condition: Scalar) -> Iterator[str]:
    for part in walk(condition):
        if isinstance(part, Within):
            yield from part.index.variables


def seen(index: Affine, cases: tuple[Scalar, ...], ranges: Mapping[str, Bounds]) -> Bounds | None:
    """Return the bounds of an index over the points where all cases may hold; None for no point."""
    slices = tuple(slice(low, high + 1) for low, high in ranges.values())
    grid = dict(zip(ranges, np.ogrid[slices], strict=True))
    chosen: Any = True
    for condition in cases:
        chosen = chosen & np.asarray(may_hold(condition, grid))
    at, chosen = np.broadcast_arrays(index.evaluate(grid), chosen)
    reached = at[chosen]
    return (int(reached.min()), int(reached.max())) if reached.size else None


def may_hold(condition: Scalar, grid: Mapping[str, Any]) -> Any:
    match condition:
        case Within(index=index, low=low, high=high):
            at = index.evaluate(grid)
            return (low <= at) & (at < high)
        case Binary(op="and", left=left, right=right):
            return may_hold(left, grid) & may_hold(right, grid)
        case Binary(op="or", left=left, right=right):
            return may_hold(left, grid) | may_hold(right, grid)
        case _:
            return True


def derived(
    index: Affine, cases: tuple[Scalar, ...], ranges: Mapping[str, Bounds]
) -> Bounds | None:
    """Return bounds of an index where all cases may hold, perhaps wide ones; None for no point."""
    alternatives: list[list[Within]] = [[]]
    for condition in cases:
        alternatives = _both(alternatives, _alternatives(condition))
    found = [_bounds(index, conditions, ranges) for conditions in alternatives]
    reached = [bounds for bounds in found if bounds]
    if not reached:
        return None
    return min(low for low, _ in reached), max(high for _, high in reached)


def _alternatives(condition: Scalar) -> list[list[Within]]:
    """Return lists of conditions: wherever `condition` holds, so do all of some list."""
    match condition:
        case Within():
            return [[condition]]
        case Binary(op="and", left=left, right=right):
            return _both(_alternatives(left), _alternatives(right))
        case Binary(op="or", left=left, right=right):
            either = _alternatives(left) + _alternatives(right)
            return either if len(either) <= MAX_CASES else [[]]
        case _:
            return [[]]


def _both(first: list[list[Within]], second: list[list[Within]]) -> list[list[Within]]:
    if len(first) * len(second) > MAX_CASES:
        return first
    return [a + b for a in first for b in second]


def _bounds(index: Affine, conditions: list[Within], ranges: Mapping[str, Bounds]) -> Bounds | None:
    """Bound an index by each condition that differs from it by little, and by its variables."""
    narrow = _narrowed(conditions, ranges)
    if narrow is None:
        return None
    low, high = index.bounds(narrow.__getitem__)
    for condition in conditions:
        for factor in _factors(index, condition.index):
            rest = (index - condition.index * factor).bounds(narrow.__getitem__)
            ends = sorted((condition.low * factor, (condition.high - 1) * factor))
            low, high = max(low, ends[0] + rest[0]), min(high, ends[1] + rest[1])
    return (low, high) if low <= high else None


def _factors(index: Affine, other: Affine) -> set[int]:
    """Return the multiples of `other` that cancel a variable of `index`."""
    shared = [(index.coefficient(v), step) for v, step in other.terms]
    return {of // step for of, step in shared if of and of % step == 0}


def _narrowed(conditions: list[Within], ranges: Mapping[str, Bounds]) -> dict[str, Bounds] | None:
    """Return where each variable can be if all conditions hold; None if they cannot."""
    narrow = dict(ranges)
    for _ in range(_ROUNDS):
        before = dict(narrow)
        for condition in conditions:
            for variable, step in condition.index.terms:
                rest = condition.index - Affine(0, ((variable, step),))
                least, greatest = rest.bounds(narrow.__getitem__)
                ends = condition.low - greatest, condition.high - 1 - least
                first, last = ends if step > 0 else (-ends[1], -ends[0])
                low, high = narrow[variable]
                low, high = max(low, -(-first // abs(step))), min(high, last // abs(step))
                if low > high:
                    return None
                narrow[variable] = low, high
        if narrow == before:
            break
    return narrow
