"""From the lanes of vectors to one value: how a reduction ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.codegen.llvm.builder import Value, constant, llvm_type
from tilewright.codegen.llvm.memory import mask
from tilewright.loops.interpret import neutral
from tilewright.loops.nodes import Block, Loop

if TYPE_CHECKING:
    from tilewright.codegen.llvm.values import Values

OPERATION = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


def reduced(loop: Loop) -> Block | None:
    """Return what a vector loop reduces from all its lanes to one element, if it does just that."""
    if loop.kind == "vectorize" and loop.reduce and len(loop.body) == 1:
        block = loop.body[0]
        return block if isinstance(block, Block) and block.reduce else None
    return None


def combined(writer: Values, reduce: str, parts: list[Value]) -> list[Value]:
    """Reduce vectors of equal widths to one each, in pairs; return a value for each width."""
    by_width: dict[int, list[Value]] = {}
    for part in parts:
        by_width.setdefault(part.width, []).append(part)
    found: list[Value] = []
    for values in by_width.values():
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            odd = values[-1:] if len(values) % 2 else []
            values = [writer.apply(OPERATION[reduce], a, b) for a, b in pairs] + odd
        found += values
    return found


def across(writer: Values, reduce: str, value: Value) -> Value:
    """Reduce the lanes of a vector, whose width is a power of two: halves onto each other."""
    while value.width > 1:
        half = value.width // 2
        low, high = (_lanes(writer, value, first, half) for first in (0, half))
        value = writer.apply(OPERATION[reduce], low, high)
    return value


def _lanes(writer: Values, value: Value, first: int, count: int) -> Value:
    if count == 1:
        name = writer.emit(f"extractelement {value.type} {value.name}, i64 {first}")
        return Value(name, value.dtype, 1)
    lanes = ", ".join(f"i32 {first + i}" for i in range(count))
    text = (
        f"shufflevector {value.type} {value.name}, {value.type} poison, <{count} x i32> <{lanes}>"
    )
    return Value(writer.emit(text), value.dtype, count)


def filled(writer: Values, reduce: str, value: Value, active: int) -> Value:
    """Put what changes no result into the lanes from `active` on."""
    if active == value.width:
        return value
    one = Value(constant(neutral(reduce, value.dtype), value.dtype), value.dtype, 1)
    return chosen(writer, active, value, writer.spread(one, value.width))


def chosen(writer: Values, active: int, value: Value, other: Value) -> Value:
    """Take the first `active` lanes of one vector and the rest of another."""
    kind = llvm_type("bool", value.width)
    lanes = mask(value.width, active).removeprefix(kind)
    name = writer.emit(
        f"select {kind}{lanes}, {value.type} {value.name}, {other.type} {other.name}"
    )
    return Value(name, value.dtype, value.width)
