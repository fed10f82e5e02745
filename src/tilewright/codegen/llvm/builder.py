"""LLVM text for one function: names, scopes that addresses are hoisted to, loads shared."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tilewright import dtypes
from tilewright.expr.affine import Affine
from tilewright.loops.nodes import Buffer

Line: TypeAlias = str | list[Any]


@dataclass(frozen=True, slots=True)
class Dynamic:
    """A loop variable at run time: its value, the scope that defines it, low <= value < high."""

    name: str
    depth: int
    low: int
    high: int


@dataclass(slots=True)
class Scope:
    """The place just after a variable is defined: what depends on nothing deeper is put there."""

    head: list[Line] = field(default_factory=list[Line])
    pointers: dict[Any, str] = field(default_factory=dict[Any, str])


@dataclass(slots=True)
class Entry:
    """The place in front of a loop at run time, and the variables that are bound there.

    `written` are the buffers that the loop stores to; `values` is what was put there, by a key.
    """

    env: dict[str, int | Dynamic]
    written: set[str]
    lines: list[Line] = field(default_factory=list[Line])
    values: dict[Any, Value] = field(default_factory=dict[Any, "Value"])


class Value(NamedTuple):
    """A value in SSA form; `width` 1 is a scalar, more is a vector."""

    name: str
    dtype: str
    width: int

    @property
    def type(self) -> str:
        return llvm_type(self.dtype, self.width)


@cache
def llvm_type(dtype: str, width: int) -> str:
    base = "i1" if dtype == "bool" else dtypes.LLVM[dtype]
    return base if width == 1 else f"<{width} x {base}>"


@cache
def suffix(dtype: str, width: int) -> str:
    """Return the part of an intrinsic's name that stands for a type, such as v16f32."""
    base = {"float32": "f32", "float64": "f64"}.get(dtype, f"i{dtypes.nbytes(dtype) * 8}")
    return base if width == 1 else f"v{width}{base}"


def constant(value: float, dtype: str) -> str:
    if dtype in dtypes.SHORT_FLOATS:
        return str(np.asarray(value).astype(dtypes.numpy(dtype)).view(np.int16).item())
    if dtypes.is_float(dtype):
        if dtype == "float32":
            value = struct.unpack("f", struct.pack("f", value))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if dtype == "bool":
        return "true" if value else "false"
    return str(int(value))


def is_zero(value: Value) -> bool:
    """Whether a floating-point value is the number 0.0, in one lane or in all."""
    return value.name in _zeros(value.dtype)


@cache
def _zeros(dtype: str) -> tuple[str, ...]:
    zero = constant(0.0, dtype)
    return (zero, f"splat ({llvm_type(dtype, 1)} {zero})") if dtypes.is_float(dtype) else ()


class Builder:
    """Collects the text of one function."""

    def __init__(self) -> None:
        self.out: list[Line] = []
        self.label = "entry"
        self.count = 0
        self.scopes = [Scope()]
        self.out.append(self.scopes[0].head)
        self.entries: list[Entry] = []  # of the open loops, outermost first
        self.env: dict[str, int | Dynamic] = {}
        self.shared: dict[Any, Value] = {}
        self.declared: set[str] = set()
        self.pointers: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def fresh_label(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def emit(self, text: str) -> str:
        """Write `%new = text` and return the new name."""
        name = self.fresh()
        self.out.append(f"  {name} = {text}")
        return name

    def start(self, label: str) -> None:
        """Begin a basic block: loads seen before it are not shared with it."""
        self.out.append(f"{label}:")
        self.label = label
        self.shared = {}

    def open_scope(self) -> int:
        self.scopes.append(Scope())
        self.out.append(self.scopes[-1].head)
        return len(self.scopes) - 1

    def close_scope(self) -> None:
        self.scopes.pop()

    def intrinsic(self, name: str, result: str, arguments: str) -> None:
        self.declared.add(f"declare {result} @{name}({arguments})")

    # addresses ---------------------------------------------------------------------------------

    def resolve(self, index: Affine) -> tuple[int, list[tuple[int, str, str, int]]]:
        """Split an index into its constant and its terms that are known at run time only."""
        total = int(index.constant)
        dynamic: list[tuple[int, str, str, int]] = []
        for variable, coefficient in index.terms:
            bound = self.env[variable]
            if isinstance(bound, int):
                total += bound * int(coefficient)
            else:
                dynamic.append((bound.depth, variable, bound.name, int(coefficient)))
        dynamic.sort()
        return total, dynamic

    def known(self, index: Affine) -> int | None:
        """Return an index as a number, or None where it is known at run time only."""
        total = int(index.constant)
        for variable, coefficient in index.terms:
            bound = self.env.get(variable)
            if not isinstance(bound, int):
                return None
            total += bound * int(coefficient)
        return total

    def address(self, buffer: Buffer, index: Affine, extra: int = 0) -> tuple[str, int]:
        """Return a pointer and a constant number of bytes beyond it, for a flat offset.

        Partial sums are put where their deepest variable is defined, and shared from there.
        """
        size = dtypes.nbytes(buffer.dtype)
        fixed, dynamic = self.resolve(index)
        pointer = self.pointers[buffer.name]
        key: tuple[Any, ...] = (buffer.name,)
        for depth, variable, name, coefficient in dynamic:
            key = (*key, (variable, coefficient))
            scope = self.scopes[depth]
            known = scope.pointers.get(key)
            if known is None:
                offset, known = self.fresh(), self.fresh()
                scope.head.append(f"  {offset} = mul nsw i64 {name}, {coefficient * size}")
                scope.head.append(f"  {known} = getelementptr i8, ptr {pointer}, i64 {offset}")
                scope.pointers[key] = known
            pointer = known
        return pointer, (fixed + extra) * size

    def at(self, pointer: str, byte: int) -> str:
        return pointer if byte == 0 else self.emit(f"getelementptr i8, ptr {pointer}, i64 {byte}")

    def integer(self, index: Affine) -> str:
        """Return an index as an i64 value."""
        fixed, dynamic = self.resolve(index)
        total = str(fixed)
        for _, _, name, coefficient in dynamic:
            part = name if coefficient == 1 else self.emit(f"mul nsw i64 {name}, {coefficient}")
            total = part if total == "0" else self.emit(f"add nsw i64 {total}, {part}")
        return total

    def range_of(self, variable: str) -> tuple[int, int] | None:
        bound = self.env.get(variable)
        if bound is None:
            return None
        return (bound, bound) if isinstance(bound, int) else (bound.low, bound.high - 1)

    def text(self) -> str:
        lines: list[str] = []

        def flatten(parts: list[Line]) -> None:
            for part in parts:
                if isinstance(part, list):
                    flatten(part)
                else:
                    lines.append(part)

        flatten(self.out)
        return "\n".join(lines)
