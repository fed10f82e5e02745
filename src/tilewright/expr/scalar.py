"""Scalar expressions: what one element of a tensor is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine

if TYPE_CHECKING:
    from tilewright.expr.tensor import Axis

UNARY = ("neg", "abs", "exp", "log", "sqrt", "tanh", "sigmoid", "erf", "floor")
BINARY = ("add", "sub", "mul", "div", "min", "max")
COMPARE = ("lt", "le", "eq", "ne")
LOGIC = ("and", "or")

_SYMBOL = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "eq": "==", "ne": "!=",
    "and": "and", "or": "or",
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
        return binary("div", self, other)

    def __rtruediv__(self, other: ScalarLike) -> Scalar:
        return binary("div", other, self)

    def __neg__(self) -> Scalar:
        return Unary("neg", self, self.dtype)

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

    def __or__(self, other: Scalar) -> Scalar:
        return binary("or", self, other)


ScalarLike: TypeAlias = Union[Scalar, Affine, float, int, "Axis"]


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
    buffer: str
    index: tuple[Affine, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.buffer}[{', '.join(map(str, self.index))}]"


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
        low = "" if self.low <= -(1 << 40) else f"{self.low} <= "
        high = "" if self.high >= 1 << 40 else f" < {self.high}"
        return f"{low}{self.index}{high}"


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
    if isinstance(value, bool | int | float):
        if not dtypes.is_float(dtype) and int(value) != value:
            raise ExpressionError(
                f"{value!r} is no {dtype}: cast the other operand first, as in "
                "cast('float32', ...)."
            )
        return Const(float(value) if dtypes.is_float(dtype) else int(value), dtype)
    raise ExpressionError(f"{value!r} ({type(value).__name__}) is no scalar expression.")


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
    return Binary(op, a, b, "bool" if op in COMPARE or op in LOGIC else a.dtype)


def children(value: Scalar) -> tuple[Scalar, ...]:
    """Return the scalars that `value` is made of."""
    match value:
        case Unary(value=inner) | Cast(value=inner):
            return (inner,)
        case Binary(left=left, right=right):
            return (left, right)
        case Select(condition=condition, yes=yes, no=no):
            return (condition, yes, no)
        case _:
            return ()


def rebuild(value: Scalar, change: Callable[[Scalar], Scalar]) -> Scalar:
    """Apply `change` to every part, innermost first, and to the whole."""
    match value:
        case Unary() | Cast():
            value = replace(value, value=rebuild(value.value, change))
        case Binary():
            value = replace(
                value, left=rebuild(value.left, change), right=rebuild(value.right, change)
            )
        case Select():
            value = replace(
                value,
                condition=rebuild(value.condition, change),
                yes=rebuild(value.yes, change),
                no=rebuild(value.no, change),
            )
        case _:
            pass
    return change(value)


def substitute(value: Scalar, values: dict[str, Any]) -> Scalar:
    """Replace loop variables in every index by affine indices."""

    def change(part: Scalar) -> Scalar:
        match part:
            case Load(index=index):
                return replace(part, index=tuple(i.substitute(values) for i in index))
            case Index(index=index) | Within(index=index):
                return replace(part, index=index.substitute(values))
            case _:
                return part

    return rebuild(value, change)


def loads(value: Scalar) -> list[Load]:
    """Return every load in `value`, left to right."""
    if isinstance(value, Load):
        return [value]
    return [load for child in children(value) for load in loads(child)]


def conjuncts(condition: Scalar) -> list[Scalar]:
    """Split a condition at its `and`s."""
    if isinstance(condition, Binary) and condition.op == "and":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return [condition]
