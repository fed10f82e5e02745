"""Random values of one element, of every type and operation, on numbers at the ends of ranges.

`pick` chooses one of several, by hypothesis or by a seed. Left out is what has no one answer: the
sign of a zero that is divided by, and floats converted to integers that do not hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tilewright as tw
from tilewright import dtypes
from tilewright.expr.scalar import Scalar, binary, unary
from tilewright.testing.programs import EXTENTS, Pick

INTEGERS = ("int32", "uint8", "int64", "int8", "uint32", "int16", "uint16", "uint64")
FLOATS = ("float32", "float64", "float32", "float16", "bfloat16")
REALS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 1e-3, -7.0, 30.0, -100.0, 1e-40, 3e4, -1e30, 3e38,
         np.inf, -np.inf, np.nan)  # fmt: skip
FUNCTIONS = (
    "neg", "abs", "sign", "floor", "ceil", "trunc", "rint", "sin", "cos", "atan", "tanh", "exp",
    "sigmoid", "erf", "asinh", "sqrt", "log", "log1p", "tan", "asin", "acos", "sinh", "cosh",
    "acosh", "atanh",
)  # fmt: skip
WHOLE = (
    "add", "sub", "mul", "div", "max", "min", "mod", "fmod", "pow", "bitand", "bitor", "bitxor",
    "shl", "shr",
)  # fmt: skip


def program(pick: Pick) -> tw.Tensor:
    """Return a tensor of such values, with one or two dimensions."""
    shape = tuple(pick(EXTENTS) for _ in range(pick((1, 2))))
    dtype = pick((*FLOATS, *INTEGERS, "bool"))
    other = pick((*INTEGERS, *FLOATS, "bool"))
    known = [
        tw.tensor("A", shape, dtype),
        tw.tensor("B", shape, dtype),
        tw.tensor("C", shape, other),
    ]
    depth = pick((1, 2, 3, 2))
    return tw.compute("out", shape, lambda *i: value(pick, dtype, depth, [x[i] for x in known]))


def value(pick: Pick, dtype: str, depth: int, known: Sequence[Scalar]) -> Any:
    """Return a value of a type, made of some of those known."""
    if dtype == "bool":
        return _condition(pick, depth, known)
    fitting = [x for x in known if x.dtype == dtype]
    whole = [x for x in known if not dtypes.is_float(x.dtype)]
    if depth == 0:
        cast = [tw.cast(dtype, x) for x in whole]
        return pick(fitting or cast or [_number(pick, dtype)])
    form = pick(("operation", "operation", "function", "choice", "cast", "number"))
    inner = lambda: value(pick, dtype, depth - 1, known)  # noqa: E731
    match form:
        case "choice":
            return tw.select(_condition(pick, depth - 1, known), inner(), inner())
        case "cast":
            return _cast(pick, dtype, depth, known)
        case "number":
            return binary(pick(("add", "max", "mul")), inner(), _number(pick, dtype))
        case "operation" if dtypes.is_float(dtype):
            return _floats(pick, inner(), inner())
        case "operation":
            return binary(pick(WHOLE), inner(), inner())
        case _ if dtypes.is_float(dtype):
            return unary(pick(FUNCTIONS), inner())
        case _:
            return unary(pick(("neg", "abs", "sign", "bitnot")), inner())


def inputs(output: tw.Tensor, seed: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return an array for each input: of ends of ranges, and of what is between."""
    rng = np.random.default_rng(seed)
    return {t.name: _array(rng, t) for t in output.inputs}


def _array(rng: np.random.Generator, t: tw.Tensor) -> np.ndarray[Any, Any]:
    if t.dtype == "bool":
        return rng.integers(0, 2, t.shape).astype(bool)
    if dtypes.is_float(t.dtype):
        some = np.where(
            rng.random(t.shape) < 0.5, rng.choice(REALS, t.shape), rng.normal(0, 3, t.shape)
        )
        with np.errstate(all="ignore"):
            given = some.astype(dtypes.numpy(t.dtype))
            if t.dtype == "bfloat16":  # whose subnormals may be taken as zeros
                given[np.abs(given) < dtypes.finfo(t.dtype)[2]] = 0
            return given
    info = np.iinfo(t.dtype)
    least = max(-9, int(info.min))
    ends = np.array([info.min, info.min + 1, info.max, info.max - 1, 0, 1], t.dtype)
    few = rng.integers(least, 10, t.shape).astype(t.dtype)
    return np.where(rng.random(t.shape) < 0.3, rng.choice(ends, t.shape), few)


def _number(pick: Pick, dtype: str) -> Scalar:
    whole = pick((1, 2, 0, 7, 100))
    return tw.cast(dtype, pick((0.5, float(whole), -2.0)) if dtypes.is_float(dtype) else whole)


def _floats(pick: Pick, a: Scalar, b: Scalar) -> Scalar:
    match pick(("add", "mul", "sub", "max", "min", "div", "mod", "fmod", "pow")):
        case "div":
            return a / (abs(b) + 0.5)
        case "pow":
            return tw.power(abs(a) + 0.25, b)
        case op:
            return binary(op, a, b)


def _cast(pick: Pick, dtype: str, depth: int, known: Sequence[Scalar]) -> Scalar:
    source = value(pick, pick((*INTEGERS, *FLOATS, "bool")), depth - 1, known)
    if not dtypes.is_float(source.dtype) or dtypes.is_float(dtype):
        return tw.cast(dtype, source)
    number = tw.minimum(tw.maximum(source, 0.0 if dtype in dtypes.UNSIGNED else -100.0), 100.0)
    return tw.cast(dtype, tw.select(tw.isnan(source), 1.0, number))


def _condition(pick: Pick, depth: int, known: Sequence[Scalar]) -> Scalar:
    dtype = pick([x.dtype for x in known])
    if depth <= 0 or dtype == "bool":
        return tw.cast("bool", pick(known))
    a, b = (value(pick, dtype, depth - 1, known) for _ in range(2))
    match pick(("lt", "le", "eq", "ne", "and", "or", "not", "isnan", "isinf")):
        case "lt":
            return a < b
        case "le":
            return a <= b
        case "eq":
            return tw.equal(a, b)
        case "ne":
            return tw.not_equal(a, b)
        case "and":
            return (a < b) & _condition(pick, depth - 1, known)
        case "or":
            return (a <= b) | _condition(pick, depth - 1, known)
        case "isnan" if dtypes.is_float(dtype):
            return tw.isnan(a)
        case "isinf" if dtypes.is_float(dtype):
            return tw.isinf(a)
        case _:
            return ~(a < b)
