"""Scalar expressions: what one element of a tensor is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, Union

import numpy as np

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr import ufuncs
from tilewright.expr.affine import Affine

if TYPE_CHECKING:
    from tilewright.expr.axis import Axis

UNARY = (
    "neg", "abs", "exp", "log", "sqrt", "tanh", "sigmoid", "erf", "floor", "rint", "ceil", "trunc",
    "sign", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
    "atanh", "bitnot",
)  # fmt: skip
BINARY = (
    "add", "sub", "mul", "div", "min", "max", "pow", "mod", "fmod", "bitand", "bitor", "bitxor",
    "shl", "shr",
)  # fmt: skip
OF_NUMBERS = ("neg", "abs", "sign")  # functions of integers, too; the others are of floats
OF_INTEGERS = ("bitnot", "bitand", "bitor", "bitxor", "shl", "shr")
COMPARE = ("lt", "le", "eq", "ne")
LOGIC = ("and", "or")
MAX_POWER = 8  # the greatest exponent that is written as multiplications
FAR = 1 << 60  # further than any index

_SYMBOL = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==", "ne": "!=",
    "and": "and", "or": "or", "bitand": "&", "bitor": "|", "bitxor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip


class Scalar:
    """What every scalar expression can do: arithmetic that builds larger ones."""

    __slots__ = ()
    dtype: str

    def __add__(self, other: ScalarLike) -> Scalar:
        return binary("add", self, other)

    def __radd__(self, other: ScalarLike) -> Scalar:
        return binary("add", other, self)

    def __sub__(self, other: ScalarLike) -> Scalar:
        return binary("sub", self, other)

    def __rsub__(self, other: ScalarLike) -> Scalar:
        return binary("sub", other, self)

    def __mul__(self, other: ScalarLike) -> Scalar:
        return binary("mul", self, other)

    def __rmul__(self, other: ScalarLike) -> Scalar:
        return binary("mul", other, self)

    def __truediv__(self, other: ScalarLike) -> Scalar:
        """Divide; integers round to zero, by zero is 0, and the least by -1 stays itself."""
        return binary("div", self, other)

    def __rtruediv__(self, other: ScalarLike) -> Scalar:
        return binary("div", other, self)

    def __neg__(self) -> Scalar:
        return unary("neg", self)

    def __abs__(self) -> Scalar:
        return unary("abs", self)

    def __lt__(self, other: ScalarLike) -> Scalar:
        return binary("lt", self, other)

    def __le__(self, other: ScalarLike) -> Scalar:
        return binary("le", self, other)

    def __gt__(self, other: ScalarLike) -> Scalar:
        return binary("lt", other, self)

    def __ge__(self, other: ScalarLike) -> Scalar:
        return binary("le", other, self)

    def __and__(self, other: Scalar) -> Scalar:
        return binary("and", self, other)

    def __rand__(self, other: ScalarLike) -> Scalar:
        return binary("and", other, self)

    def __or__(self, other: Scalar) -> Scalar:
        return binary("or", self, other)

    def __ror__(self, other: ScalarLike) -> Scalar:
        return binary("or", other, self)

    def __invert__(self) -> Scalar:
        return invert(self)

    def __pow__(self, exponent: ScalarLike) -> Scalar:
        return power(self, exponent)

    def __rpow__(self, base: ScalarLike) -> Scalar:
        return power(base, self)

    def __floordiv__(self, other: Any) -> NoReturn:
        raise ExpressionError(
            f"{self} // {other}: write floor(x / y) for floats; x / y of integers rounds to zero."
        )

    def __rfloordiv__(self, other: Any) -> NoReturn:
        self.__floordiv__(other)

    def __mod__(self, other: ScalarLike) -> Scalar:
        """Return what division leaves, with the sign of the divisor; of integers by zero 0."""
        return binary("mod", self, other)

    def __rmod__(self, other: ScalarLike) -> Scalar:
        return binary("mod", other, self)

    def __bool__(self) -> bool:
        kind = "a condition" if self.dtype == "bool" else "a value"
        raise ExpressionError(
            f"{self} has no truth value: it is {kind} of each element. Choose with "
            "select(condition, a, b); combine conditions with &, | and ~, each comparison in "
            "parentheses, as in (1 <= i) & (i < n); write maximum(a, b) and minimum(a, b)."
        )

    def __float__(self) -> float:
        raise ExpressionError(
            f"{self} is no number: it is a value of each element. Compute with tw.exp, tw.sqrt, "
            "tw.floor and their like, and convert with cast('float32', ...)."
        )

    def __int__(self) -> int:
        return int(float(self))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        return ufuncs.apply(ufunc, method, inputs)


ScalarLike: TypeAlias = Union[Scalar, Affine, float, int, np.generic, "Axis"]


@dataclass(frozen=True, slots=True)
class Const(Scalar):
    value: float
    dtype: str

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Index(Scalar):
    """The value of an affine index itself, as int64."""

    index: Affine
    dtype: str = "int64"

    def __str__(self) -> str:
        return f"({self.index})"


@dataclass(frozen=True, slots=True)
class Load(Scalar):
    """An element of a tensor.

    `gathered` holds the dimensions whose index is a value, and that integer; `index` is 0 there. A
    value below zero counts from the end of the dimension, as in NumPy, and what is beyond either
    end then is the nearest element: a load never leaves its tensor along them.
    """

    buffer: str
    index: tuple[Affine, ...]
    dtype: str
    gathered: tuple[tuple[int, Scalar], ...] = ()

    @property
    def at(self) -> tuple[Affine | Scalar, ...]:
        """The index as one writes it."""
        values = dict(self.gathered)
        return tuple(values.get(d, i) for d, i in enumerate(self.index))

    @property
    def variables(self) -> set[str]:
        """The loops on which it depends which element is loaded."""
        from tilewright.expr.parts import variables

        return variables(self)

    def __str__(self) -> str:
        return f"{self.buffer}[{', '.join(map(str, self.at))}]"


@dataclass(frozen=True, slots=True)
class Table(Scalar):
    """An element of a small constant array that the expression itself holds, row-major.

    Where unrolling makes its index known it becomes a number, and products with 0, 1 and -1 cost
    nothing.
    """

    name: str
    values: tuple[float, ...]
    shape: tuple[int, ...]
    index: tuple[Affine, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.index))}]"


@dataclass(frozen=True, slots=True)
class Unary(Scalar):
    op: str
    value: Scalar
    dtype: str

    def __str__(self) -> str:
        return f"{self.op}({self.value})"


@dataclass(frozen=True, slots=True)
class Binary(Scalar):
    op: str
    left: Scalar
    right: Scalar
    dtype: str

    def __str__(self) -> str:
        if self.op == "eq" and self.right == Const(0, "bool"):
            return f"not ({self.left})"
        if self.op in _SYMBOL:
            return f"({self.left} {_SYMBOL[self.op]} {self.right})"
        return f"{self.op}({self.left}, {self.right})"


@dataclass(frozen=True, slots=True)
class Within(Scalar):
    """`low <= index < high`: the only kind of condition that loops can be specialised for."""

    index: Affine
    low: int
    high: int
    dtype: str = "bool"

    def __str__(self) -> str:
        index, shift = self.index, 0
        if isinstance(index.constant, int) and index.terms:
            index, shift = Affine(0, index.terms), index.constant
        if self.high - self.low == 1:
            return f"{index} == {self.low - shift}"
        low = "" if self.low <= -(1 << 40) else f"{self.low - shift} <= "
        high = "" if self.high >= 1 << 40 else f" < {self.high - shift}"
        return f"{low}{index}{high}"


@dataclass(frozen=True, slots=True)
class Select(Scalar):
    condition: Scalar
    yes: Scalar
    no: Scalar
    dtype: str

    def __str__(self) -> str:
        return f"select({self.condition}, {self.yes}, {self.no})"


@dataclass(frozen=True, slots=True)
class Cast(Scalar):
    value: Scalar
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}({self.value})"


def scalar(value: ScalarLike, dtype: str) -> Scalar:
    """Turn a number, an axis or an affine index into a scalar; numbers take `dtype`."""
    if isinstance(value, Scalar):
        return value
    if isinstance(value, Affine):
        return Index(value)
    if hasattr(value, "affine"):
        return Index(value.affine)  # type: ignore[union-attr]
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, bool | int | float):
        made = dtypes.number(value, dtype)
        if made is None:
            raise ExpressionError(
                f"{value!r} is no {dtype}: cast the other operand first, as in "
                f"cast({_wider(value)!r}, ...)."
            )
        return Const(made, dtype)
    if isinstance(value, np.ndarray) or hasattr(value, "stage"):
        named = getattr(value, "name", None)
        what = f"the tensor {named}" if named else "an array"
        raise ExpressionError(
            f"{what} is no scalar expression: index it, as in a[i, j]. (An array is declared with "
            "tensor(...), or with table(...) if it is small and constant.)"
        )
    raise ExpressionError(f"{value!r} ({type(value).__name__}) is no scalar expression.")


def _wider(value: Any) -> str:
    """Return a type that holds the number, for a message."""
    wider = ("int32", "int64", "float32", "float64")
    return next((t for t in wider if dtypes.number(value, t) is not None), "float64")


def power(value: ScalarLike, exponent: ScalarLike) -> Scalar:
    """Raise a number to a power of its type; small whole ones are written as multiplications.

    Integers wrap; to a power below zero they are 0, but for 1 and -1, of which it is exact.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: tw.power(a[i], 2) + 2.0 ** a[i])
    B: float32 4 = ((A[i] * A[i]) + pow(2.0, A[i]))
    """
    exponent = exponent.item() if isinstance(exponent, np.generic) else exponent
    plain = isinstance(exponent, int | float) and not isinstance(exponent, bool)
    whole = dtypes.number(exponent, "int64") if plain else None
    if whole is None or not 0 <= whole <= MAX_POWER or not isinstance(value, Scalar):
        return binary("pow", value, exponent)
    if value.dtype == "bool":
        raise ExpressionError(
            f"pow of {value} and {exponent}, the first of which is of bool: it takes numbers, "
            "made by cast."
        )
    count = int(whole)
    if count == 0:
        return Const(1.0 if dtypes.is_float(value.dtype) else 1, value.dtype)
    if count == 1:
        return value
    half = power(value, count // 2)
    square = half * half
    return square * value if count % 2 else square


def equal(left: ScalarLike, right: ScalarLike) -> Scalar:
    """Compare two values, or an index with an integer: `==` in an expression.

    >>> import tilewright as tw
    >>> a = tw.tensor("A", (4,))
    >>> tw.compute("B", (4,), lambda i: tw.select(tw.equal(i, 0), 0.0, a[i]))
    B: float32 4 = select(i == 0, 0.0, A[i])
    >>> tw.compute("B", (4,), lambda i: tw.select(tw.equal(a[i], 0.0), 1.0, a[i]))
    B: float32 4 = select((A[i] == 0.0), 1.0, A[i])
    """
    if _is_index(left) and _is_index(right):
        return Within(Affine.of(left) - Affine.of(right), 0, 1)
    return binary("eq", left, right)


def not_equal(left: ScalarLike, right: ScalarLike) -> Scalar:
    """Compare two values, or an index with an integer: `!=` in an expression; see `equal`."""
    if _is_index(left) and _is_index(right):
        return invert(equal(left, right))
    return binary("ne", left, right)


def _is_index(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole or isinstance(value, Affine) or hasattr(value, "affine")


def invert(condition: Scalar) -> Scalar:
    """Return the opposite of a condition, in such conditions as loops can be specialised for."""
    match condition:
        case Within(index=index, low=low, high=high):
            parts = [Within(index, -FAR, low)] if low > -(1 << 40) else []
            parts += [Within(index, high, FAR)] if high < 1 << 40 else []
            return parts[0] if len(parts) == 1 else Binary("or", parts[0], parts[1], "bool")
        case Binary(op="and" | "or" as op, left=left, right=right):
            other = "or" if op == "and" else "and"
            return Binary(other, invert(left), invert(right), "bool")
        case Binary(op="eq", left=left, right=Const(value=0, dtype="bool")):
            return left
        case Binary(op="eq" | "ne" as op):
            return replace(condition, op="ne" if op == "eq" else "eq")
        case Scalar(dtype="bool"):  # less and its like have no opposite that NaN obeys
            return Binary("eq", condition, Const(0, "bool"), "bool")
        case _:
            raise ExpressionError(
                f"~{condition}, which is of {condition.dtype}: it takes a condition, made by "
                "comparing."
            )


def unary(op: str, value: ScalarLike) -> Unary:
    """Apply a function of one scalar: of any number, of an integer, or of a float."""
    x = scalar(value, "float32")
    if op in OF_INTEGERS:
        fits, wanted, into = dtypes.is_integer(x.dtype), "an integer", "int32"
    elif op in OF_NUMBERS:
        fits, wanted, into = x.dtype != "bool", "a number", "float32"
    else:
        fits, wanted, into = dtypes.is_float(x.dtype), "float32 or float64", "float32"
    if not fits:
        raise ExpressionError(
            f"{op} of {x}, which is of {x.dtype}: it takes {wanted}; "
            f"cast it, as in cast({into!r}, ...)."
        )
    return Unary(op, x, x.dtype)


def binary(op: str, left: ScalarLike, right: ScalarLike) -> Scalar:
    known: Any = left if isinstance(left, Scalar) else right
    dtype = known.dtype if isinstance(known, Scalar) else "int64"
    a, b = scalar(left, dtype), scalar(right, dtype)
    if op in LOGIC:
        dtype = "bool"
    elif a.dtype != b.dtype:
        raise ExpressionError(
            f"{op} of {a.dtype} and {b.dtype} in {Binary(op, a, b, a.dtype)}: "
            f"the types must agree; cast one of them, as in cast({b.dtype!r}, ...)."
        )
    bools = (a.dtype == "bool", b.dtype == "bool")
    if op not in ("eq", "ne") and bools != (op in LOGIC, op in LOGIC):
        wanted = "conditions, made by comparing" if op in LOGIC else "numbers, made by cast"
        raise ExpressionError(
            f"{op} of {a} and {b}, which are of {a.dtype} and {b.dtype}: it takes {wanted}."
        )
    if op in OF_INTEGERS and not dtypes.is_integer(a.dtype):
        raise ExpressionError(
            f"{op} of {a} and {b}, which are of {a.dtype}: it takes integers; "
            "cast them, as in cast('int32', ...)."
        )
    return Binary(op, a, b, "bool" if op in COMPARE or op in LOGIC else a.dtype)
