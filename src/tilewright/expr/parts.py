"""The parts of a scalar expression: walking through them, counting and replacing them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tilewright.expr.affine import Affine
from tilewright.expr.scalar import (
    Binary,
    Cast,
    Index,
    Load,
    Scalar,
    Select,
    Table,
    Unary,
    Within,
)

MAX_DEPTH = 128  # levels of one value; Python's stack has room for a few calls on each
MAX_SIZE = 1 << 14  # parts of one value, each of which is code


def children(value: Scalar) -> tuple[Scalar, ...]:
    """Return the scalars that `value` is made of."""
    match value:
        case Unary(value=inner) | Cast(value=inner):
            return (inner,)
        case Binary(left=left, right=right):
            return (left, right)
        case Select(condition=condition, yes=yes, no=no):
            return (condition, yes, no)
        case Load(gathered=gathered) if gathered:
            return tuple(index for _, index in gathered)
        case _:
            return ()


def rebuild(value: Scalar, change: Callable[[Scalar], Scalar]) -> Scalar:
    """Apply `change` to every part, innermost first, and to the whole; what stays is not copied."""
    match value:
        case Unary(value=inner) | Cast(value=inner):
            made = rebuild(inner, change)
            if made is not inner:
                value = replace(value, value=made)
        case Binary(left=a, right=b):
            left, right = rebuild(a, change), rebuild(b, change)
            if left is not a or right is not b:
                value = Binary(value.op, left, right, value.dtype)
        case Select(condition=a, yes=b, no=c):
            parts = rebuild(a, change), rebuild(b, change), rebuild(c, change)
            if any(new is not old for new, old in zip(parts, (a, b, c), strict=True)):
                value = replace(value, condition=parts[0], yes=parts[1], no=parts[2])
        case Load(gathered=gathered) if gathered:
            indices = tuple((d, rebuild(index, change)) for d, index in gathered)
            if any(new is not old for (_, new), (_, old) in zip(indices, gathered, strict=True)):
                value = replace(value, gathered=indices)
        case _:
            pass
    return change(value)


def substitute(value: Scalar, values: Mapping[str, Any]) -> Scalar:
    """Replace loop variables in every index by affine indices."""

    def change(part: Scalar) -> Scalar:
        match part:
            case Load(index=index) | Table(index=index):
                if any(i.mentions(values) for i in index):
                    return replace(part, index=tuple(i.substitute(values) for i in index))
            case Index(index=index) | Within(index=index):
                if index.mentions(values):
                    return replace(part, index=index.substitute(values))
            case _:
                pass
        return part

    return rebuild(value, change)


def walk(value: Scalar) -> Iterator[Scalar]:
    """Yield `value` and every part of it, outer before inner, left to right."""
    open_ = [value]
    while open_:
        part = open_.pop()
        yield part
        open_.extend(reversed(children(part)))


def loads(value: Scalar) -> list[Load]:
    """Return every load in `value`, left to right."""
    return [part for part in walk(value) if isinstance(part, Load)]


def operands(value: Scalar) -> list[Load]:
    """Return every load in `value` that does more than give the index of another."""
    if isinstance(value, Load):
        return [value]
    return [load for child in children(value) for load in operands(child)]


def indices(part: Scalar) -> tuple[Affine, ...]:
    """Return the affine indices that a part holds by itself."""
    match part:
        case Load(index=index) | Table(index=index):
            return index
        case Index(index=index) | Within(index=index):
            return (index,)
        case _:
            return ()


def variables(value: Scalar) -> set[str]:
    """Return the loop variables in a value, those of conditions included."""
    return {name for part in walk(value) for index in indices(part) for name in index.variables}


def measure(value: Scalar) -> tuple[int, int]:
    """Return how deep `value` is nested, and how many parts it has, shared ones each time."""
    known: dict[int, tuple[int, int]] = {}
    open_ = [value]
    while open_:
        part = open_[-1]
        inner = children(part)
        missing = [child for child in inner if id(child) not in known]
        open_.extend(missing)
        if not missing:
            measured = [known[id(child)] for child in inner]
            depth = max((depth for depth, _ in measured), default=0)
            known[id(part)] = depth + 1, sum(size for _, size in measured) + 1
            open_.pop()
    return known[id(value)]


def excess(value: Scalar) -> str:
    """Say by what a value is larger than one can be, which is walked through recursively."""
    depth, size = measure(value)
    if depth <= MAX_DEPTH and size <= MAX_SIZE:
        return ""
    return (
        f"it is nested {depth} deep and has {size} parts, but a value has at most {MAX_DEPTH} "
        f"levels and {MAX_SIZE} parts"
    )


def conditions(value: Scalar) -> list[Within]:
    """Return the index conditions of every select in `value`, innermost first."""
    found = [w for child in children(value) for w in conditions(child)]
    if isinstance(value, Select):
        found += [c for c in conjuncts(value.condition) if isinstance(c, Within)]
    return found


def conjuncts(condition: Scalar) -> list[Scalar]:
    """Split a condition at its `and`s."""
    if isinstance(condition, Binary) and condition.op == "and":
        return conjuncts(condition.left) + conjuncts(condition.right)
    return [condition]
