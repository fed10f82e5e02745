"""The fields of operators: one check of all of them, by the types that they are declared with."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from tilewright import dtypes
from tilewright.errors import ExpressionError

DTYPES = ("dtype", "index_dtype", "to")  # fields that hold an element type
LEAST = {
    "pads": 0,
    "before": 0,
    "behind": 0,
    "output_padding": 0,
    "overhang": 0,
    "count": 0,
    "shared": 0,
}
SIGNED = ("axis", "axes", "order", "start", "step", "zero_point", "input_zero_point")


class _MisfitError(ValueError):
    """A value that its field cannot hold."""


def check(operator: Any) -> None:
    """Refuse what a field cannot hold: raise ExpressionError that names it and says what it is.

    Integers count something and are at least 1, unless `LEAST` or `SIGNED` names their field. What
    means the same becomes the same: lists are tuples, NumPy's numbers Python's, its types names.

    >>> from tilewright.ops.dense import Dense
    >>> Dense(np.int64(8), 4, 4, dtype=np.float16) == Dense(8, 4, 4, dtype="float16")
    True
    >>> Dense(8, 8.5, 4)
    Traceback (most recent call last):
    tilewright.errors.ExpressionError: Dense(features_in=8.5): features_in is a whole number of at least 1.
    """  # noqa: E501
    for name, kind in _declared(type(operator)).items():
        given = getattr(operator, name)
        try:
            held = _held(name, kind, given)
        except _MisfitError:
            raise ExpressionError(
                f"{type(operator).__name__}({name}={given!r:.80}): {name} is {_wanted(name, kind)}."
            ) from None
        object.__setattr__(operator, name, held)


def of(dtype: str) -> str:
    """Return what a name says of an element type: nothing of float32, the usual one.

    >>> of("int8"), of("float32")
    (' of int8', '')
    """
    return "" if dtype == "float32" else f" of {dtype}"


@cache
def _declared(operator: type) -> dict[str, Any]:
    hints = get_type_hints(operator)
    return {field.name: hints[field.name] for field in fields(operator)}


def _held(name: str, kind: Any, value: Any) -> Any:
    """Return a value as its field is to hold it, or raise `_MisfitError`."""
    value = value.item() if isinstance(value, np.generic) else value
    if NoneType in get_args(kind):
        return None if value is None else _held(name, get_args(kind)[0], value)
    if name in DTYPES:
        try:
            return dtypes.check(value)
        except ExpressionError:
            raise _MisfitError from None
    if get_origin(kind) is tuple:
        return _tuple(name, get_args(kind), value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    least = _least(name)
    if (
        (kind is int and not (number and isinstance(value, int)))
        or (kind is int and least is not None and value < least)
        or (kind is float and not number)
        or (kind in (bool, str) and not isinstance(value, kind))
    ):
        raise _MisfitError
    return value


def _tuple(name: str, kinds: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple | list):
        raise _MisfitError
    items: list[Any] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    each = (kinds[0],) * len(items) if kinds[-1] is Ellipsis else kinds
    if len(each) != len(items):
        raise _MisfitError
    return tuple(_held(name, kind, item) for kind, item in zip(each, items, strict=True))


def _least(name: str) -> int | None:
    return None if name in SIGNED else LEAST.get(name, 1)


def _wanted(name: str, kind: Any, several: bool = False) -> str:
    """Say what a field holds, as in "a tuple of 2 whole numbers, each at least 1"."""
    kinds, least = get_args(kind), _least(name)
    if name in DTYPES:
        return f"one of {', '.join(dtypes.LLVM)}, or NumPy's type of that name"
    if NoneType in kinds:
        return f"{_wanted(name, kinds[0])}, or None"
    if get_origin(kind) is tuple:
        many = "" if kinds[-1] is Ellipsis else f"{len(kinds)} "
        return f"{'' if several else 'a '}tuple{'s' * several} of {many}" + _wanted(
            name, kinds[0], several=True
        )
    if kind is int and several:
        return "whole numbers" + ("" if least is None else f", each at least {least}")
    if kind is int:
        return "a whole number" + ("" if least is None else f" of at least {least}")
    return {bool: "True or False", float: "a number", str: "a text"}.get(kind, "values")
