"""Conditions, loads and stores, one element or one vector register at a time."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Builder, Value, llvm_type, suffix
from tilewright.errors import CompileError
from tilewright.expr.affine import Affine
from tilewright.expr.parts import walk
from tilewright.expr.scalar import Load, Scalar, Table, Within
from tilewright.loops.nodes import Buffer, offset
from tilewright.target import Target


@dataclass(frozen=True, slots=True)
class Vector:
    """The vector loop being emitted: lanes `base` to `base + active` in registers of `width`."""

    loop: str
    base: int
    width: int
    active: int


class Memory(Builder):
    """Emits loads and stores; `vector` is the vector loop that is open, `registers` live tiles."""

    def __init__(self, buffers: dict[str, Buffer], promoted: set[str], target: Target) -> None:
        super().__init__()
        self.buffers = buffers
        self.promoted = promoted
        self.target = target
        self.registers: dict[tuple[str, int], Value] = {}
        self.vector: Vector | None = None
        self.lane: Vector | None = None  # the vector loop whose lanes are emitted one by one
        self.assumed: set[Within] = set()  # conditions that the bounds of open loops ensure
        self.stage = ""  # of the block being emitted
        self.last: dict[str, str] = {}  # the last stage that loads a buffer, for those prefetched
        # Flat offsets by buffer and identity of the index, which is kept alive with them; and those
        # without a vector loop, with its step.
        self._offsets: dict[tuple[str, int], tuple[Affine, tuple[Affine, ...]]] = {}
        self._split: dict[tuple[str, int, str], tuple[Affine, int]] = {}

    # conditions --------------------------------------------------------------------------------

    def decide(self, condition: Within) -> bool | None:
        """Return whether a condition always or never holds here, or None if that varies."""
        if self.assumed and condition in self.assumed:
            return True
        at = self.known(condition.index)
        if at is not None:
            return condition.low <= at < condition.high
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

    def offset(self, buffer: Buffer, index: tuple[Affine, ...]) -> Affine:
        key = (buffer.name, id(index))
        if key not in self._offsets:
            self._offsets[key] = (offset(buffer.shape, index), index)
        return self._offsets[key][0]

    def flat(self, buffer: Buffer, index: tuple[Affine, ...]) -> tuple[Affine, int, int]:
        """Return the offset without the vector loop, that loop's step, the first lane's part."""
        if self.vector is None:
            return self.offset(buffer, index), 0, 0
        rest, step = self._without(buffer, index, self.vector.loop)
        return rest, step, step * self.vector.base

    def _without(self, buffer: Buffer, index: tuple[Affine, ...], loop: str) -> tuple[Affine, int]:
        """Return an offset without the part of a loop, and the step of that loop."""
        key = (buffer.name, id(index), loop)
        if key not in self._split:
            whole = self.offset(buffer, index)
            rest = Affine(whole.constant, tuple(t for t in whole.terms if t[0] != loop))
            self._split[key] = rest, int(whole.coefficient(loop))
        return self._split[key]

    def slot(
        self, buffer: Buffer, index: tuple[Affine, ...]
    ) -> tuple[tuple[str, int], int | None, int]:
        """Return the register that holds an element, the lane if one is open, the vector's step."""
        vector = self.vector or self.lane
        at, lane, step = 0, None, 0
        if vector is None:
            rest = self.offset(buffer, index)
        else:
            rest, step = self._without(buffer, index, vector.loop)
            at = step * vector.base
            if step and self.lane:
                own = self.env.get(vector.loop)
                lane = own - vector.base if isinstance(own, int) else None
        fixed = self.known(rest)
        if fixed is None:
            raise CompileError(f"{buffer.name} in registers is indexed by a loop at run time")
        return (buffer.name, at + fixed), lane, step

    def inside(self, *values: Scalar) -> bool:
        """Whether no load in `values` can leave its buffer, wherever the open loops are."""
        for part in (x for value in values for x in walk(value)):
            match part:
                case Load(buffer=buffer, index=indices):
                    shape = self.buffers[buffer].shape
                case Table(index=indices, shape=shape):
                    pass
                case _:
                    continue
            for index, extent in zip(indices, shape, strict=True):
                low, high = index.bounds(self._range)
                if low < 0 or high >= extent:
                    return False
        return True

    def load(self, name: str, index: tuple[Affine, ...]) -> Value:
        buffer = self.buffers[name]
        if name in self.promoted:
            slot, lane, step = self.slot(buffer, index)
            held = self.registers.get(slot)
            if held is None:  # written nowhere on this path, so whatever reads it is not chosen
                vector = self.vector
                return Value("poison", buffer.dtype, vector.width if vector and step else 1)
            if lane is None:
                return held
            one = self.emit(f"extractelement {held.type} {held.name}, i64 {lane}")
            return Value(one, held.dtype, 1)
        at, step, extra = self.flat(buffer, index)
        return self.fetch(buffer, *self.address(buffer, at, extra), step)

    def fetch(self, buffer: Buffer, pointer: str, byte: int, step: int) -> Value:
        """Load from an address, for lanes that lie `step` elements apart; once in a basic block."""
        vector, name = self.vector, buffer.name
        width, active = (vector.width, vector.active) if vector and step else (1, 1)
        key = (pointer, byte, step, width, active, name)
        if key not in self.shared:
            if width > 1:
                self.prefetch(buffer, pointer, byte)
            self.shared[key] = self._load(buffer, pointer, byte, step, width, active)
        return self.shared[key]

    def prefetch(self, buffer: Buffer, pointer: str, byte: int) -> None:
        """Ask for what is loaded next from a buffer that is prefetched, once: in its last stage."""
        if not buffer.prefetch or self.last.get(buffer.name, self.stage) != self.stage:
            return
        self.intrinsic("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
        ahead = self.at(pointer, byte + buffer.prefetch)
        self.out.append(f"  call void @llvm.prefetch.p0(ptr {ahead}, i32 0, i32 3, i32 1)")

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
        if name in self.promoted:
            slot, lane, step = self.slot(buffer, index)
            if lane is not None and self.lane:
                width = self.lane.width
                held = self.registers.get(slot) or Value("poison", value.dtype, width)
                whole = f"insertelement {held.type} {held.name}, {value.type} {value.name}"
                self.registers[slot] = Value(self.emit(f"{whole}, i64 {lane}"), value.dtype, width)
            else:
                width = self.vector.width if self.vector and step else 1
                self.registers[slot] = self.spread(value, width)
            return
        at, step, extra = self.flat(buffer, index)
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

    def spread(self, value: Value, width: int) -> Value:
        """Return a value in `width` lanes; a scalar is repeated."""
        if value.width == width:
            return value
        assert value.width == 1, f"cannot narrow {value.width} lanes to {width}"
        if value.name[0] != "%":
            return Value(f"splat ({value.type} {value.name})", value.dtype, width)
        key = ("spread", value.name, value.dtype, width, "")
        if key not in self.shared:
            kind = llvm_type(value.dtype, width)
            one = self.emit(f"insertelement {kind} poison, {value.type} {value.name}, i64 0")
            name = self.emit(
                f"shufflevector {kind} {one}, {kind} poison, <{width} x i32> zeroinitializer"
            )
            self.shared[key] = Value(name, value.dtype, width)
        return self.shared[key]


def mask(width: int, active: int) -> str:
    bits = ", ".join(f"i1 {'true' if i < active else 'false'}" for i in range(width))
    return f"<{width} x i1> <{bits}>"
