"""Affine indices: a constant plus loop variables times coefficients.

A coefficient is an integer, or an integer array with one entry for each candidate of a population:
everything here is plain arithmetic, so that both work.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tilewright.errors import ExpressionError
from tilewright.expr import ufuncs

if TYPE_CHECKING:
    from tilewright.expr.scalar import Within

Extent: TypeAlias = Any  # int | np.ndarray of int64, one entry a candidate
_FAR = 1 << 60


def is_zero(value: Extent) -> bool:
    return not value.any() if isinstance(value, np.ndarray) else value == 0


def anywhere(condition: Any) -> bool:
    """Whether a condition on extents holds, for a population in some candidate."""
    return bool(condition.any() if isinstance(condition, np.ndarray) else condition)


def greatest(value: Extent) -> int:
    """Return an integer, or the greatest of a population's."""
    return int(value.max() if isinstance(value, np.ndarray) else value)


def text(value: Extent) -> str:
    """Print an extent: an integer, or the range of a population's values."""
    if isinstance(value, np.ndarray):
        return f"{value.min()}..{value.max()}"
    return str(value)


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """`constant + sum(coefficient * variable)`; variables are loop names, sorted, never zero."""

    constant: Extent = 0
    terms: tuple[tuple[str, Extent], ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine) or self.variables != other.variables:
            return NotImplemented if not isinstance(other, Affine) else False
        pairs = ((a, b) for (_, a), (_, b) in zip(self.terms, other.terms, strict=True))
        return _same(self.constant, other.constant) and all(_same(a, b) for a, b in pairs)

    def __hash__(self) -> int:
        return hash(self.variables)

    def __bool__(self) -> bool:
        raise ExpressionError(
            f"{self} has no truth value: it is another number in each round. "
            "Compare it, and choose with select(i < 1, a, b)."
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
        return ufuncs.apply(ufunc, method, inputs)

    @staticmethod
    def of(value: AffineLike) -> Affine:
        """Return an index, an axis or an integer as an affine index; refuse all else."""
        if isinstance(value, Affine):
            return value
        if type(value) is int:
            return Affine(value)
        axis = getattr(value, "affine", None)
        return Affine(_integer(value)) if axis is None else axis

    @staticmethod
    def sum(constant: Extent, terms: Iterable[tuple[str, Extent]]) -> Affine:
        merged: dict[str, Extent] = {}
        for name, coefficient in terms:
            merged[name] = merged[name] + coefficient if name in merged else coefficient
        return Affine(constant, tuple(sorted((n, c) for n, c in merged.items() if not is_zero(c))))

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    def coefficient(self, name: str) -> Extent:
        for variable, coefficient in self.terms:
            if variable == name:
                return coefficient
        return 0

    def mentions(self, names: Container[str]) -> bool:
        """Whether one of some variables is in it."""
        return any(name in names for name, _ in self.terms)

    def substitute(self, values: Mapping[str, AffineLike]) -> Affine:
        """Replace variables by affine indices; those not named stay."""
        if not self.mentions(values):
            return self
        constant, terms = self.constant, list[tuple[str, Extent]]()
        for name, coefficient in self.terms:
            if name in values:
                part = Affine.of(values[name])
                constant = constant + coefficient * part.constant
                terms.extend(_times(part.terms, coefficient))
            else:
                terms.append((name, coefficient))
        return _merged(constant, terms)

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        total = self.constant
        for name, coefficient in self.terms:
            total = total + values[name] * coefficient
        return total

    def bounds(self, ranges: Callable[[str], tuple[int, int]]) -> tuple[int, int]:
        """Return the least and the greatest value, given each variable's, both included."""
        low = high = self.constant
        for name, coefficient in self.terms:
            first, last = ranges(name)
            a, b = coefficient * first, coefficient * last
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                low, high = low + np.minimum(a, b), high + np.maximum(a, b)
            else:
                low, high = low + min(a, b), high + max(a, b)
        return low, high

    def __add__(self, other: AffineLike) -> Affine:
        if _is_scalar(other):
            return NotImplemented
        other = Affine.of(other)
        constant = self.constant + other.constant
        if self.terms and other.terms:
            return _merged(constant, (*self.terms, *other.terms))
        return Affine(constant, self.terms or other.terms)

    def __radd__(self, other: AffineLike) -> Affine:
        return self + other

    def __mul__(self, factor: Extent) -> Affine:
        if type(factor) is not int:
            if _is_scalar(factor):
                return NotImplemented
            factor = _factor(self, factor)
        return Affine(self.constant * factor, tuple(_times(self.terms, factor)))

    def __rmul__(self, factor: Extent) -> Affine:
        return self * factor

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: AffineLike) -> Affine:
        return NotImplemented if _is_scalar(other) else self + -Affine.of(other)

    def __rsub__(self, other: AffineLike) -> Affine:
        return Affine.of(other) - self

    def __truediv__(self, other: Any) -> Any:
        return _no_index(self, "/", other)

    def __floordiv__(self, other: Any) -> Any:
        return _no_index(self, "//", other)

    def __mod__(self, other: Any) -> Any:
        return _no_index(self, "%", other)

    def __pow__(self, other: Any) -> Any:
        return _no_index(self, "**", other)

    def __rtruediv__(self, other: Any) -> Any:
        return _no_index(other, "/", self)

    def __rfloordiv__(self, other: Any) -> Any:
        return _no_index(other, "//", self)

    def __rmod__(self, other: Any) -> Any:
        return _no_index(other, "%", self)

    def __rpow__(self, other: Any) -> Any:
        return _no_index(other, "**", self)

    def __ge__(self, low: AffineLike) -> Within:
        from tilewright.expr.scalar import Within

        return NotImplemented if _is_scalar(low) else Within(self - low, 0, _FAR)

    def __lt__(self, high: AffineLike) -> Within:
        from tilewright.expr.scalar import Within

        return NotImplemented if _is_scalar(high) else Within(self - high, -_FAR, 0)

    def __gt__(self, low: AffineLike) -> Within:
        return NotImplemented if _is_scalar(low) else self >= Affine.of(low) + 1

    def __le__(self, high: AffineLike) -> Within:
        return NotImplemented if _is_scalar(high) else self < Affine.of(high) + 1

    def __str__(self) -> str:
        parts = [n if _is_one(c) else f"{n}*{text(c)}" for n, c in self.terms]
        if not parts or not is_zero(self.constant):
            parts.append(text(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


AffineLike: TypeAlias = Affine | int | Any


def _merged(constant: Extent, terms: Iterable[tuple[str, Extent]]) -> Affine:
    """Return a sum of terms, none of them zero; those of one variable may come to it together."""
    merged: dict[str, Extent] = {}
    for name, coefficient in terms:
        if name in merged:
            coefficient = merged.pop(name) + coefficient
            if is_zero(coefficient):
                continue
        merged[name] = coefficient
    return Affine(constant, tuple(sorted(merged.items())))


def _times(terms: tuple[tuple[str, Extent], ...], factor: Extent) -> Iterator[tuple[str, Extent]]:
    """Yield the terms times a factor, but for those that it makes zero."""
    if type(factor) is int and factor:
        yield from ((name, coefficient * factor) for name, coefficient in terms)
    else:
        yield from ((n, c * factor) for n, c in terms if not is_zero(c * factor))


def _is_scalar(value: Any) -> bool:
    """Whether an operand is a scalar expression: it knows what arithmetic with an index means."""
    return (
        not isinstance(value, Affine | int | np.ndarray)
        and hasattr(value, "dtype")
        and (not isinstance(value, np.generic))
    )


def _integer(value: Any) -> Extent:
    """Return an integer, or integers of a population, as they are; refuse all else."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise ExpressionError(
        f"{value!r} is no affine index: use axes, integers, +, - and multiplication by integers."
    )


def _factor(index: Affine, value: Any) -> Extent:
    try:
        return _integer(value)
    except ExpressionError:
        return _no_index(index, "*", value)


def _no_index(left: Any, sign: str, right: Any) -> Any:
    """Refuse an operation that leaves affine indices, unless its other side is a scalar."""
    if _is_scalar(left) or _is_scalar(right):
        return NotImplemented  # Python asks the scalar then
    raise ExpressionError(
        f"{_operand(left)} {sign} {_operand(right)} is no affine index: use axes, "
        "integers, +, - and multiplication by integers. To compute with the value of an index, "
        "cast it, as in cast('float32', i)."
    )


def _operand(value: Any) -> str:
    index = getattr(value, "affine", value)
    text = str(index) if isinstance(index, Affine) else repr(index)
    return f"({text})" if " " in text else text


def _same(a: Extent, b: Extent) -> bool:
    return a is b or bool(np.array_equal(a, b) if isinstance(a, np.ndarray) else np.all(a == b))


def _is_one(value: Extent) -> bool:
    return not isinstance(value, np.ndarray) and value == 1
