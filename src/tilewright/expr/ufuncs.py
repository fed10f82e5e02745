"""What NumPy's functions mean for expressions: arithmetic is done, anything else is refused."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tilewright.errors import ExpressionError

_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "power": operator.pow,
    "negative": operator.neg,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
}
# What to write instead of NumPy's other functions, by their names.
_INSTEAD = {
    "absolute": "abs(x)",
    "fabs": "abs(x)",
    "square": "x * x",
    "equal": "tw.equal(x, y)",
    "not_equal": "tw.not_equal(x, y)",
    "invert": "~x",
    "logical_not": "~x",
    "logical_and": "x & y",
    "logical_or": "x | y",
    "logical_xor": "tw.not_equal(x, y)",
    "reciprocal": "1 / x",
} | {f: f"tw.{f}(x)" for f in (
    "exp", "log", "sqrt", "tanh", "floor", "rint", "ceil", "trunc", "sign", "log1p", "sin", "cos",
    "tan", "sinh", "cosh", "isnan", "isinf",
)} | {f"arc{f}": f"tw.a{f}(x)" for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")} \
  | {f: f"tw.{f}(x, y)" for f in (
    "maximum", "minimum", "fmod", "bitwise_xor", "left_shift", "right_shift",
)}  # fmt: skip


def apply(ufunc: Any, method: str, inputs: tuple[Any, ...]) -> Any:
    """Apply an operator of NumPy's, as in `np.float32(2) * a[i]`, to numbers and expressions."""
    plain = [
        v.item() if isinstance(v, np.generic | np.ndarray) and v.ndim == 0 else v for v in inputs
    ]
    name = str(ufunc.__name__)
    if any(isinstance(v, np.ndarray) for v in plain):
        raise ExpressionError(
            f"np.{name} of an array and an expression: an expression is one element; declare the "
            "array with tensor(...), or a small constant one with table(...), and index it."
        )
    if method != "__call__" or name not in _OPERATORS:
        _refuse(name, method)
    return _OPERATORS[name](*plain)


def _refuse(name: str, method: str) -> NoReturn:
    if method == "reduce":
        instead = {"add": "sum", "maximum": "max", "minimum": "min", "multiply": "prod"}.get(name)
        hint = f"write tw.{instead}(x, over=axis)" if instead else "reduce with tw.sum or tw.max"
    else:
        hint = f"write {_INSTEAD[name]}" if name in _INSTEAD else "there is nothing like it"
    raise ExpressionError(f"np.{name} cannot be applied to an expression: {hint}.")
