"""The canonical form of an expression: equal forms are equal work, whatever its parts are called.

Tensors are numbered, inputs first, and the axes of each stage are d0, d1, … and r0, r1, …; scalars
are written as lists, operation first, with floats in hexadecimal. Nothing here is printed text, so
expressions may print otherwise and keep their records (docs/decisions/0005-names-are-places.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tilewright import dtypes
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import (
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

if TYPE_CHECKING:
    from tilewright.expr.tensor import Tensor

VERSION = 1
"""Counts up with any change of what is written below, and with it every record is out of reach."""

_FAR = 1 << 50  # further than any index


def canonical(output: Tensor) -> str:
    """Return the form as JSON.

    >>> from tilewright import compute, tensor
    >>> a = tensor("A", (8,))
    >>> print(canonical(compute("B", (4,), lambda i: a[2 * i + 1] * 0.5)))
    [1,["input","float32",[8]],["stage","float32",[4],[4],[],["mul","float32",["load","float32",0,\
[1,["d0",2]]],["const","float32","0x1.0000000000000p-1"]]]]
    """
    number = {t.name: i for i, t in enumerate((*output.inputs, *output.stages))}
    form: list[Any] = [VERSION]
    for t in output.inputs:
        form.append(["constant" if t.constant else "input", t.dtype, list(t.shape)])
    form += [_stage(t, number) for t in output.stages]
    return json.dumps(form, separators=(",", ":"))


def _stage(t: Tensor, number: Mapping[str, int]) -> list[Any]:
    assert t.stage
    kept, reduced = t.stage.axes, t.stage.reduce_axes
    axis = {a.name: f"d{i}" for i, a in enumerate(kept)}
    axis |= {a.name: f"r{i}" for i, a in enumerate(reduced)}
    extents = [[a.extent for a in kept], [a.extent for a in reduced]]
    at = [[_affine(index, axis) for index in t.stage.at]] if t.stage.at else []
    return ["stage", t.dtype, list(t.shape), *extents, _scalar(t.stage.value, number, axis), *at]


def _scalar(value: Scalar, number: Mapping[str, int], axis: Mapping[str, str]) -> list[Any]:
    from tilewright.expr.tensor import Reduce

    def inner(*parts: Scalar) -> list[Any]:
        return [_scalar(part, number, axis) for part in parts]

    def at(*index: Affine) -> list[Any]:
        return [_affine(i, axis) for i in index]

    match value:
        case Const(value=constant, dtype=dtype):
            return ["const", dtype, _number(constant, dtype)]
        case Index(index=index, dtype=dtype):
            return ["index", dtype, *at(index)]
        case Within(index=index, low=low, high=high):
            shifted = [_bound(low - index.constant), _bound(high - index.constant)]
            return ["within", *at(index - index.constant), *shifted]
        case Load(buffer=buffer, dtype=dtype):
            each = [inner(i)[0] if isinstance(i, Scalar) else at(i)[0] for i in value.at]
            return ["load", dtype, number[buffer], *each]
        case Table(values=values, shape=shape, index=index, dtype=dtype):
            return ["table", dtype, list(shape), [_number(v, dtype) for v in values], *at(*index)]
        case Cast(value=source, dtype=dtype):
            return ["cast", dtype, *inner(source)]
        case Unary(op=op, value=source, dtype=dtype):
            return [op, dtype, *inner(source)]
        case Binary(op=op, left=left, right=right, dtype=dtype):
            return [op, dtype, *inner(left, right)]
        case Select(condition=condition, yes=yes, no=no, dtype=dtype):
            return ["select", dtype, *inner(condition, yes, no)]
        case Reduce(kind=kind, value=source, dtype=dtype):
            return [f"reduce {kind}", dtype, *inner(source)]
        case _:
            raise NotImplementedError(f"no canonical form for {type(value).__name__}")


def _affine(index: Affine, axis: Mapping[str, str]) -> list[Any]:
    """Return the constant, then (axis, coefficient) pairs in the order of the axes."""
    order = {name: place for place, name in enumerate(axis)}
    terms = sorted(index.terms, key=lambda term: order[term[0]])
    return [int(index.constant), *([axis[name], int(step)] for name, step in terms)]


def _bound(value: int) -> int | None:
    """Return a bound of a condition; None if it is so far that it is none."""
    return int(value) if abs(value) < _FAR else None


def _number(value: float, dtype: str) -> str | int:
    return float(value).hex() if dtypes.is_float(dtype) else int(value)
