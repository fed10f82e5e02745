"""What an expression means: its stages evaluated by NumPy, one after the other.

This is the reference that every generated kernel is checked against, so it shares no code with the
lowering: axes become broadcast dimensions, loads become fancy indexing, sums of products einsum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright import dtypes
from tilewright.errors import ArgumentError
from tilewright.expr.affine import Affine
from tilewright.expr.integers import quotient, raised, remainder
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
from tilewright.expr.tensor import Axis, Reduce, Tensor

UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "floor": np.floor,
    "rint": np.rint,
    "sigmoid": lambda x: np.exp(-np.logaddexp(0.0, -x)),  # precise relative to itself
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "ceil": np.ceil,
    "trunc": np.trunc,
    "sign": np.sign,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "bitnot": np.bitwise_not,
}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.float_power,  # `power` takes the root for one half, which of -inf is NaN
    "mod": np.mod,
    "fmod": np.fmod,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
    "shl": np.left_shift,
    "shr": np.right_shift,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "and": np.logical_and,
    "or": np.logical_or,
}
REDUCE = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_FEW = 16  # a sum of so many, as of Winograd's transforms, is done without BLAS


def evaluate(
    output: Tensor, inputs: Mapping[str, np.ndarray], *, precise: bool = True
) -> dict[str, np.ndarray]:
    """Return every tensor of the expression by name.

    `inputs` holds one array for each of `output.inputs`. With `precise`, floats are computed in
    float64 and returned so: compare with a tolerance for the declared dtype.
    """
    values: dict[str, np.ndarray] = {}
    for t in output.inputs:
        if t.name not in inputs or tuple(inputs[t.name].shape) != t.shape:
            got = inputs[t.name].shape if t.name in inputs else "nothing"
            raise ArgumentError(f"{t.name} wants shape {t.shape}, given {got}.")
        array = np.asarray(inputs[t.name], dtype=dtypes.numpy(t.dtype))
        wide = precise and dtypes.is_float(t.dtype)
        values[t.name] = array.astype(np.float64) if wide else array
    for t in output.stages:
        values[t.name] = _stage(t, values, precise)
    return values


def _stage(t: Tensor, values: dict[str, np.ndarray], precise: bool) -> np.ndarray:
    assert t.stage
    axes = (*t.stage.axes, *t.stage.reduce_axes)
    grid = {
        axis.name: np.arange(axis.extent).reshape([-1 if a is axis else 1 for a in axes])
        for axis in axes
    }
    dtype = np.dtype("float64") if precise and dtypes.is_float(t.dtype) else dtypes.numpy(t.dtype)
    value = t.stage.value
    if not isinstance(value, Reduce):
        result = _value(value, grid, values)
    elif value.kind == "sum":
        result = _sum(value, axes, len(t.stage.axes), grid, values)
    else:
        full = np.broadcast_to(_value(value.value, grid, values), [a.extent for a in axes])
        result = REDUCE[value.kind](full, axis=tuple(range(len(t.stage.axes), len(axes))))
    whole = np.broadcast_to(result, [axis.extent for axis in t.stage.axes])
    return placed(t, np.array(whole, dtype, order="C"))


def at_points(t: Tensor, array: np.ndarray) -> np.ndarray:
    """Return what an array of the tensor's shape holds for each point of its stage's axes."""
    assert t.stage
    if not t.stage.at:
        return array
    axes = t.stage.axes
    grid = dict(zip([a.name for a in axes], np.indices([a.extent for a in axes]), strict=True))
    return element(array, t.stage.at, grid)


def placed(t: Tensor, points: np.ndarray) -> np.ndarray:
    """Return the tensor whose stage gives these values at the points of its axes."""
    assert t.stage
    if not t.stage.at:
        return points
    grid = dict(zip([a.name for a in t.stage.axes], np.indices(points.shape), strict=True))
    at = [np.broadcast_to(index.evaluate(grid), points.shape) for index in t.stage.at]
    inside = np.all([(i >= 0) & (i < n) for i, n in zip(at, t.shape, strict=True)], axis=0)
    out = np.empty(t.shape, points.dtype)
    out[tuple(i[inside] for i in at)] = points[inside]
    return out


def applied(op: str, a: Any, b: Any, dtype: str) -> Any:
    """Apply an operation to two values of a type; what NumPy leaves open, `integers` answers."""
    if dtypes.is_float(dtype):
        return a / b if op == "div" else BINARY[op](a, b)
    match op:
        case "div":
            return quotient(a, b, dtype)
        case "mod" | "fmod":
            return remainder(op, a, b, dtype)
        case "pow":
            return raised(a, b, dtype)
        case _:
            with np.errstate(over="ignore"):  # which NumPy says of single elements alone
                return BINARY[op](a, b)


def _sum(
    value: Reduce,
    axes: tuple[Axis, ...],
    rank: int,
    grid: dict[str, np.ndarray],
    values: dict[str, np.ndarray],
) -> np.ndarray:
    return contract([_value(factor, grid, values) for factor in factors(value.value)], axes, rank)


def contract(arrays: Sequence[Any], axes: Sequence[Axis], rank: int) -> np.ndarray:
    """Sum a product over all but the first `rank` axes by einsum.

    No factor is spread over axes that it does not use.
    """
    operands: list[Any] = []
    for array in map(np.asarray, arrays):
        array = array.reshape((1,) * (len(axes) - array.ndim) + array.shape)
        keep = [d for d in range(len(axes)) if array.shape[d] != 1]
        operands.append((array.reshape([array.shape[d] for d in keep]), keep))
    missing = set(range(len(axes))) - {d for _, keep in operands for d in keep}
    operands += [(np.ones(axes[d].extent, operands[0][0].dtype), [d]) for d in sorted(missing)]
    terms = ["".join(_LETTERS[d] for d in keep) for _, keep in operands]
    arrays = [array for array, _ in operands]
    result = _LETTERS[:rank]
    if math.prod(axis.extent for axis in axes[rank:]) <= _FEW:
        return _by_pairs(terms, arrays, result)
    return np.einsum(f"{','.join(terms)}->{result}", *arrays, optimize=True)


def _by_pairs(terms: list[str], arrays: list[np.ndarray], result: str) -> np.ndarray:
    """Sum a product as einsum does, two factors at a time, without BLAS.

    For sums of a few numbers that is as fast; but BLAS has its threads do them, and where another
    process has one of their cores, waits for it at each of thousands of small products.
    """
    path, _ = np.einsum_path(f"{','.join(terms)}->{result}", *arrays, optimize="greedy")
    for places in path[1:]:
        taken = sorted(places, reverse=True)
        factor_terms, factor_arrays = [terms.pop(i) for i in taken], [arrays.pop(i) for i in taken]
        wanted = {*result, *"".join(terms)}
        left = "".join(sorted(wanted & {*"".join(factor_terms)})) if terms else result
        arrays.append(np.einsum(f"{','.join(factor_terms)}->{left}", *factor_arrays))
        terms.append(left)
    return arrays[0]


def factors(value: Scalar) -> list[Scalar]:
    """Return what a value is the product of."""
    if isinstance(value, Binary) and value.op == "mul":
        return factors(value.left) + factors(value.right)
    return [value]


def _value(value: Scalar, grid: dict[str, np.ndarray], values: dict[str, np.ndarray]) -> Any:
    match value:
        case Const(value=number, dtype=dtype):
            return np.asarray(number, "float64" if dtypes.is_float(dtype) else dtype)
        case Index(index=index):
            return np.asarray(index.evaluate(grid))
        case Within(index=index, low=low, high=high):
            at = np.asarray(index.evaluate(grid))
            return (low <= at) & (at < high)
        case Load(buffer=buffer, index=index, gathered=gathered):
            rows = {d: _value(at, grid, values) for d, at in gathered}
            return element(values[buffer], index, grid, rows)
        case Table(values=numbers, shape=shape, index=index, dtype=dtype):
            held = np.float64 if dtypes.is_float(dtype) else dtypes.numpy(dtype)
            return element(np.asarray(numbers).astype(held).reshape(shape), index, grid)
        case Select(condition=condition, yes=yes, no=no):
            return np.where(*(_value(v, grid, values) for v in (condition, yes, no)))
        case Cast(value=inner, dtype=dtype):
            wide = "float64" if dtypes.is_float(dtype) else dtype
            return np.asarray(_value(inner, grid, values)).astype(wide)
        case Unary(op=op, value=inner):
            return UNARY[op](_value(inner, grid, values))
        case Binary(op=op, left=left, right=right):
            a, b = _value(left, grid, values), _value(right, grid, values)
            return applied(op, a, b, left.dtype)
        case _:
            raise NotImplementedError(f"no meaning for {type(value).__name__}")


def element(
    array: np.ndarray,
    index: tuple[Affine, ...],
    grid: dict[str, np.ndarray],
    gathered: Mapping[int, Any] = MappingProxyType({}),
) -> Any:
    """Load from an array; what lies outside of it is not chosen, so any element will do there.

    `gathered` holds the values that are the index in some of the dimensions.
    """
    at = [np.clip(i.evaluate(grid), 0, n - 1) for i, n in zip(index, array.shape, strict=True)]
    for d, value in gathered.items():
        at[d] = nearest(value, array.shape[d])
    return array[tuple(at)]


def nearest(value: Any, extent: int) -> Any:
    """Return where in a dimension a gathered index leads: from its end, and never out of it."""
    value = np.asarray(value)
    value = (np.minimum(value, extent) if value.dtype == np.uint64 else value).astype(np.int64)
    return np.clip(np.where(value < 0, value + extent, value), 0, extent - 1)
