"""Conditions, loads and stores, one element or one vector register at a time."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Builder, Value, llvm_type, suffix
from tilewright.errors import CompileError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Within
from tilewright.loops.nodes import Buffer, offset


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector loop being emitted: lanes `base` to `base + active` in registers of `width`."""

    loop: str
    base: int
    width: int
    active: int


class Memory(Builder):
    """Emits loads and stores; `vector` is the vector loop that is open, `registers` live tiles."""

    def __init__(self, buffers: dict[str, Buffer], promoted: set[str]) -> None:
        super().__init__()
        self.buffers = buffers
        self.promoted = promoted
        self.registers: dict[tuple[str, int], Value] = {}
        self.vector: Vector | None = None
        self.assumed: set[Within] = set()  # conditions that the bounds of open loops ensure

    # conditions --------------------------------------------------------------------------------

    def decide(self, condition: Within) -> bool | None:
        """Return whether a condition always or never holds here, or None if that varies."""
        if condition in self.assumed:
            return True
        low, high = condition.index.bounds(self._range)
        if condition.low <= low and high < condition.high:
            return True
        if high < condition.low or low >= condition.high:
            return False
        return None

    def _range(self, variable: str) -> tuple[int, int]:
        if self.vector and variable == self.vector.loop:
            return self.vector.base, self.vector.base + self.vector.active - 1
        known = self.range_of(variable)
        assert known is not None, f"{variable} is not bound"
        return known

    def varies(self, condition: Within) -> bool:
        """Whether a condition differs between the lanes of the open vector."""
        return self.vector is not None and self.vector.loop in condition.index.variables

    def test(self, condition: Within) -> str:
        """Return a condition on loop variables as an i1."""
        at = self.integer(condition.index)
        parts: list[str] = []
        if condition.low > -(1 << 40):
            parts.append(self.emit(f"icmp sge i64 {at}, {condition.low}"))
        if condition.high < 1 << 40:
            parts.append(self.emit(f"icmp slt i64 {at}, {condition.high}"))
        if not parts:
            return "true"
        return parts[0] if len(parts) == 1 else self.emit(f"and i1 {parts[0]}, {parts[1]}")

    # loads and stores --------------------------------------------------------------------------

    def flat(self, buffer: Buffer, index: tuple[Affine, ...]) -> tuple[Affine, int, int]:
        """Return the offset without the vector loop, that loop's step, the first lane's part."""
        whole = offset(buffer.shape, index)
        if self.vector is None:
            return whole, 0, 0
        step = int(whole.coefficient(self.vector.loop))
        rest = tuple((n, c) for n, c in whole.terms if n != self.vector.loop)
        return Affine(whole.constant, rest), step, step * self.vector.base

    def load(self, name: str, index: tuple[Affine, ...]) -> Value:
        buffer = self.buffers[name]
        at, step, extra = self.flat(buffer, index)
        if name in self.promoted:
            fixed, dynamic = self.resolve(at)
            slot = (name, fixed + extra)
            if dynamic or slot not in self.registers:
                raise CompileError(f"{name} is read before it is written: {slot}")
            return self.registers[slot]
        pointer, byte = self.address(buffer, at, extra)
        vector = self.vector
        width, active = (vector.width, vector.active) if vector and step else (1, 1)
        key = (pointer, byte, step, width, active, name)
        if key not in self.shared:
            self.shared[key] = self._load(buffer, pointer, byte, step, width, active)
        return self.shared[key]

    def _load(
        self, buffer: Buffer, pointer: str, byte: int, step: int, width: int, active: int
    ) -> Value:
        size = dtypes.nbytes(buffer.dtype)
        stored = "int8" if buffer.dtype == "bool" else buffer.dtype
        kind = llvm_type(stored, width)
        if width == 1 or (step == 1 and active == width):
            name = self.emit(f"load {kind}, ptr {self.at(pointer, byte)}, align {size}")
        elif step == 1:
            name = self._masked_load(
                kind, suffix(stored, width), pointer, byte, size, width, active
            )
        else:
            name = "poison"
            element = llvm_type(stored, 1)
            for lane in range(active):
                place = self.at(pointer, byte + lane * step * size)
                one = self.emit(f"load {element}, ptr {place}, align {size}")
                name = self.emit(f"insertelement {kind} {name}, {element} {one}, i64 {lane}")
        if buffer.dtype == "bool":
            name = self.emit(f"trunc {kind} {name} to {llvm_type('bool', width)}")
        return Value(name, buffer.dtype, width)

    def _masked_load(
        self, kind: str, mangled: str, pointer: str, byte: int, size: int, width: int, active: int
    ) -> str:
        name = f"llvm.masked.load.{mangled}.p0"
        self.intrinsic(name, kind, f"ptr, i32, <{width} x i1>, {kind}")
        place, lanes = self.at(pointer, byte), mask(width, active)
        return self.emit(
            f"call {kind} @{name}(ptr {place}, i32 {size}, {lanes}, {kind} zeroinitializer)"
        )

    def store(self, name: str, index: tuple[Affine, ...], value: Value) -> None:
        buffer = self.buffers[name]
        at, step, extra = self.flat(buffer, index)
        if name in self.promoted:
            fixed, _ = self.resolve(at)
            width = self.vector.width if self.vector and step else 1
            self.registers[name, fixed + extra] = self.spread(value, width)
            return
        pointer, byte = self.address(buffer, at, extra)
        vector = self.vector
        if vector and step == 0:
            raise CompileError(f"every lane of {vector.loop} stores to the same {name}")
        width, active = (vector.width, vector.active) if vector else (1, 1)
        value = self.spread(value, width)
        size = dtypes.nbytes(buffer.dtype)
        if buffer.dtype == "bool":
            wide = self.emit(f"zext {value.type} {value.name} to {llvm_type('int8', width)}")
            value = Value(wide, "int8", width)
        if width == 1 or (step == 1 and active == width):
            place = self.at(pointer, byte)
            self.out.append(f"  store {value.type} {value.name}, ptr {place}, align {size}")
        elif step == 1:
            intrinsic = f"llvm.masked.store.{suffix(value.dtype, width)}.p0"
            self.intrinsic(intrinsic, "void", f"{value.type}, ptr, i32, <{width} x i1>")
            place, lanes = self.at(pointer, byte), mask(width, active)
            self.out.append(
                f"  call void @{intrinsic}({value.type} {value.name}, ptr {place}, "
                f"i32 {size}, {lanes})"
            )
        else:
            element = llvm_type(value.dtype, 1)
            for lane in range(active):
                one = self.emit(f"extractelement {value.type} {value.name}, i64 {lane}")
                place = self.at(pointer, byte + lane * step * size)
                self.out.append(f"  store {element} {one}, ptr {place}, align {size}")
        self.shared = {k: v for k, v in self.shared.items() if k[-1] != name}


def mask(width: int, active: int) -> str:
    bits = ", ".join(f"i1 {'true' if i < active else 'false'}" for i in range(width))
    return f"<{width} x i1> <{bits}>"
