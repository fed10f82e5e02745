"""How far from the exact result right code may be: the error of rounding, for each element.

Values are evaluated in float64, and with each goes a bound of what computing it in its own type may
add: a unit in the last place of each intermediate value, not of the result, so that a difference of
near numbers may be far off and a small result must be near. What is out of a type's range is
infinite, as it is in the code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright import dtypes
from tilewright.expr.interpret import (
    REDUCE,
    UNARY,
    applied,
    at_points,
    contract,
    element,
    evaluate,
    factors,
    placed,
)
from tilewright.expr.scalar import (
    COMPARE,
    LOGIC,
    Binary,
    Cast,
    Const,
    Index,
    Load,
    Scalar,
    Select,
    Table,
    Unary,
    Within,
)
from tilewright.expr.tensor import Axis, Reduce, Tensor

FUNCTION_ULP = 4.0  # what exp and its like may err by, a good deal more than ours do


class Rough(NamedTuple):
    """A value, and how far from it right code may be, which is infinite where anything goes.

    That of a condition says whether it may turn out otherwise. An error of zero is a plain number.
    """

    value: Any
    error: Any = 0.0


def rough(output: Tensor, inputs: Mapping[str, np.ndarray]) -> Rough:
    """Return the result of an expression in float64 (or its integers) for arrays by name.

    A sum of n terms t may be taken in any order. Its rounding is a random walk of n steps that lead
    sqrt(n) / 2 as far as sum |t|, six deviations included, if half of the terms are added before
    the other half is taken away. Steps go one way only where partial sums grow steadily to the
    result, which is then n / 4 times epsilon off; with terms of one size a third of that was seen.
    """
    with np.errstate(all="ignore"):
        exact = evaluate(output, inputs)
        known = {t.name: Rough(exact[t.name]) for t in output.inputs}
        for t in output.stages:
            known[t.name] = _stage(t, exact[t.name], known)
    value, error = known[output.name]
    return Rough(value, np.broadcast_to(np.asarray(error, np.float64), output.shape))


def _stage(t: Tensor, exact: np.ndarray, known: Mapping[str, Rough]) -> Rough:
    assert t.stage
    axes = (*t.stage.axes, *t.stage.reduce_axes)
    grid = {
        axis.name: np.arange(axis.extent).reshape([-1 if a is axis else 1 for a in axes])
        for axis in axes
    }
    rank, value = len(t.stage.axes), t.stage.value
    exact = at_points(t, exact)
    if not isinstance(value, Reduce):
        made = _scalar(value, grid, known)
    elif value.kind == "sum":
        parts = [_scalar(factor, grid, known) for factor in factors(value.value)]
        made = _sum(exact, parts, axes, rank, value.dtype)
    else:
        made = _reduced(value, _scalar(value.value, grid, known), axes, rank)
    points = [axis.extent for axis in t.stage.axes]
    whole = np.array(np.broadcast_to(made.value, points), exact.dtype, order="C")
    if np.ndim(made.error) == 0:
        return Rough(placed(t, whole), made.error)
    return Rough(placed(t, whole), placed(t, np.broadcast_to(made.error, points)))


def _sum(
    exact: np.ndarray, parts: Sequence[Rough], axes: Sequence[Axis], rank: int, dtype: str
) -> Rough:
    if not dtypes.is_float(dtype) and not any(map(_is_rough, parts)):
        return Rough(exact)
    sizes = [np.abs(part.value).astype(np.float64, copy=False) for part in parts]
    error: Any = 0.0
    for i, part in enumerate(parts):
        if _is_rough(part):
            most = [size + p.error for size, p in zip(sizes, parts, strict=True)]
            error = error + contract([*most[:i], part.error, *most[i + 1 :]], axes, rank)
    terms = math.prod(axis.extent for axis in axes[rank:])
    every = contract(sizes, axes, rank)
    if dtypes.is_float(dtype):  # a part of the sum may be out of range, and the whole not
        error = np.where(every > dtypes.finfo(dtype)[1], np.inf, error)
    steps = (4 + len(parts) + math.sqrt(terms) / 2) * every + terms / 4 * np.abs(exact)
    return _rounded(exact, error, dtype, steps)


def _reduced(reduce: Reduce, part: Rough, axes: Sequence[Axis], rank: int) -> Rough:
    """Return a greatest or a least value, or a product."""
    over = tuple(range(rank, len(axes)))
    extents = [axis.extent for axis in axes]
    value = REDUCE[reduce.kind](np.broadcast_to(part.value, extents), axis=over)
    if reduce.kind != "prod":
        error = np.broadcast_to(part.error, extents).max(axis=over) if _is_rough(part) else 0.0
        return Rough(value, error)
    relative: Any = 0.0
    if _is_rough(part):
        share = np.where(part.error == 0, 0.0, part.error / np.abs(part.value))
        relative = np.expm1(np.broadcast_to(share, extents).sum(axis=over))
    terms = math.prod(extents[rank:])
    return _rounded(value, np.abs(value) * relative, reduce.dtype, terms * np.abs(value))


def _scalar(value: Scalar, grid: Mapping[str, Any], known: Mapping[str, Rough]) -> Rough:
    def inner(part: Scalar) -> Rough:
        return _scalar(part, grid, known)

    match value:
        case Const(value=number, dtype=dtype):
            return _stored(np.asarray(number), dtype)
        case Index(index=index):
            return Rough(np.asarray(index.evaluate(grid)))
        case Within(index=index, low=low, high=high):
            at = np.asarray(index.evaluate(grid))
            return Rough((low <= at) & (at < high))
        case Load(buffer=buffer, index=index, gathered=gathered):
            held, error = known[buffer]
            rows = {d: inner(at) for d, at in gathered}
            exact = {d: row.value for d, row in rows.items()}
            given = error if np.ndim(error) == 0 else element(error, index, dict(grid), exact)
            for row in rows.values():  # what another index would have loaded may be anything
                given = np.where(row.error, np.inf, given) if _is_rough(row) else given
            return Rough(element(held, index, dict(grid), exact), given)
        case Table(values=numbers, shape=shape, index=index, dtype=dtype):
            return _stored(element(np.asarray(numbers).reshape(shape), index, dict(grid)), dtype)
        case Select(condition=condition, yes=yes, no=no):
            return _select(inner(condition), inner(yes), inner(no))
        case Cast(value=source, dtype=dtype):
            return _cast(inner(source), source.dtype, dtype)
        case Unary(op=op, value=source, dtype=dtype):
            return _unary(op, inner(source), dtype)
        case Binary(op="eq" | "ne" as op, left=left, right=right) if left == right:
            known_value, error = inner(left)  # whether it is NaN
            unsure = ~np.isfinite(error) if np.ndim(error) else False
            return Rough(applied(op, known_value, known_value, left.dtype), unsure)
        case Binary(op=op, left=left, right=right):
            return _binary(op, inner(left), inner(right), left.dtype)
        case _:
            raise NotImplementedError(f"no rounding known of {type(value).__name__}")


def _stored(number: np.ndarray, dtype: str) -> Rough:
    """Return a constant as the code holds it: rounded to its type."""
    if not dtypes.is_float(dtype):
        return Rough(number.astype(dtype))
    wide = number.astype(np.float64)
    off = np.abs(wide - wide.astype(dtypes.numpy(dtype)))
    return Rough(wide, off if off.any() else 0.0)


def _select(condition: Rough, yes: Rough, no: Rough) -> Rough:
    value = np.where(condition.value, yes.value, no.value)
    if not any(map(_is_rough, (condition, yes, no))):
        return Rough(value)
    error = np.where(condition.value, yes.error, no.error)
    if _is_rough(condition):
        apart = np.abs(np.subtract(yes.value, no.value, dtype=np.float64))
        either = _or_anything(np.maximum(yes.error, no.error) + apart)
        error = np.where(condition.error, either, error)
    return Rough(value, error)


def _cast(source: Rough, old: str, new: str) -> Rough:
    if not dtypes.is_float(new):
        value = np.asarray(source.value).astype(new)
        if not _is_rough(source):
            return Rough(value)
        low, high = (np.trunc(source.value + sign * source.error) for sign in (-1, 1))
        return Rough(value, _or_anything(np.maximum(high - value, value - low)))
    value = np.asarray(source.value).astype(np.float64)
    if new == old or 2 * dtypes.nbytes(old) <= dtypes.nbytes(new):
        return Rough(value, source.error)
    return _rounded(value, source.error, new, np.abs(value))


def _unary(op: str, source: Rough, dtype: str) -> Rough:
    value = UNARY[op](source.value)
    if op in ("neg", "abs", "bitnot"):
        return Rough(value, source.error)
    error: Any = 0.0
    if _is_rough(source):
        ends = [UNARY[op](source.value + sign * source.error) for sign in (-1, 1)]
        none = [np.isnan(each) for each in (value, *ends)]
        error = np.max([np.abs(end - value) for end in ends], axis=0)
        known = np.all(none, axis=0) & np.isfinite(source.error)
        error = np.where(known, 0.0, _or_anything(error))
        error = _beyond_ends(op, source, value, error)
    if op in ("floor", "rint", "ceil", "trunc", "sign"):
        return Rough(value, error)
    return _rounded(value, error, dtype, (1.0 if op == "sqrt" else FUNCTION_ULP) * np.abs(value))


def _beyond_ends(op: str, source: Rough, value: Any, error: Any) -> Any:
    """Return how far a function may go between the ends of what it is of; most are monotonic."""
    match op:
        case "sin" | "cos":
            return _or_anything(np.minimum(source.error, 2.0))
        case "tan":
            branch = [np.rint((source.value + s * source.error) / np.pi) for s in (-1, 1)]
            return np.where(branch[0] == branch[1], error, np.inf)
        case "cosh":
            return np.where(np.abs(source.value) <= source.error, value - 1 + error, error)
        case _:
            return error


def _binary(op: str, a: Rough, b: Rough, dtype: str) -> Rough:
    """Apply an operation to two values of a type."""
    is_rough = _is_rough(a) or _is_rough(b)
    value = applied(op, a.value, b.value, dtype)
    if op in LOGIC:
        return Rough(value, np.logical_or(a.error, b.error) if is_rough else 0.0)
    if op in COMPARE:
        apart = np.abs(np.subtract(a.value, b.value, dtype=np.float64))
        reach = a.error + b.error
        return Rough(value, (reach > 0) & ~(apart > reach) if is_rough else 0.0)
    if op in ("min", "max"):
        return Rough(value, np.maximum(a.error, b.error) if is_rough else 0.0)
    error: Any = 0.0
    if is_rough:
        match op:
            case "add" | "sub":
                error = a.error + b.error
            case "mul":
                size = np.abs(a.value) + a.error
                error = size * b.error + np.abs(b.value) * a.error
            case "div":
                least = np.abs(b.value) - b.error
                error = (a.error + np.abs(value) * b.error) / np.where(least > 0, least, 0.0)
                error = error + (0.0 if dtypes.is_float(dtype) else 1.0)
            case "mod" | "fmod":  # what is left is at most the divisor, of zero NaN
                error = np.abs(b.value) + b.error + np.abs(value)
                error = np.where(_settled(b), error, np.inf)
            case "pow" if dtypes.is_float(dtype):
                error = _power_error(a, b, value)
            case _:  # bits, and powers that wrap, may be any
                error = np.inf
        # What is infinite or no number of operands that are so for certain is so for certain.
        certain = np.isfinite(a.error) & np.isfinite(b.error) & ~np.isfinite(value)
        certain = certain & ~(np.isfinite(a.value) & np.isfinite(b.value))
        if op not in ("add", "sub"):
            certain = certain & _settled(a) & _settled(b)
        error = np.where(certain, 0.0, _or_anything(error))
    return _rounded(value, error, dtype, (FUNCTION_ULP if op == "pow" else 1.0) * np.abs(value))


def _power_error(a: Rough, b: Rough, value: Any) -> Any:
    """Return how far a power may be off: of bases above zero, or to one exponent, the corners."""
    signs = [(s, t) for s in (-1, 1) for t in (-1, 1)]
    corners = [np.float_power(a.value + s * a.error, b.value + t * b.error) for s, t in signs]
    error = np.max([np.abs(corner - value) for corner in corners], axis=0)
    crosses = np.abs(a.value) <= a.error
    error = np.where(crosses, np.maximum(error, np.abs(value)), error)
    unsure = (b.error > 0) & ((a.value < 0) | crosses) | crosses & (b.value < 0)
    return np.where(unsure, np.inf, error)


def _rounded(value: Any, error: Any, dtype: str, steps: Any) -> Rough:
    """Round a value of that error to `dtype`, which adds `steps` times epsilon."""
    if not dtypes.is_float(dtype):
        return Rough(value, error)
    size = np.abs(value)
    eps, limit, tiny = dtypes.finfo(dtype)
    if dtype == "float64":  # the reference is rounded, too
        eps *= 2
    unsure = ~np.isfinite(error)
    error = _or_anything(error + eps * steps + tiny)
    unsure = unsure | (size - error <= limit) & (limit < size + error)
    beyond = size > limit
    error = np.where(unsure, np.inf, np.where(beyond | np.isnan(size), 0.0, error))
    return Rough(np.where(beyond, np.copysign(np.inf, value), value), error)


def _settled(part: Rough) -> Any:
    """Whether a value is known to be zero, below it, above it or no number."""
    return np.logical_or(part.error == 0, np.abs(part.value) > part.error)


def _is_rough(part: Rough) -> bool:
    return np.ndim(part.error) > 0 or bool(part.error)


def _or_anything(error: Any) -> Any:
    """Return an error, infinite where it is no number."""
    return np.where(np.isnan(error), np.inf, error)
