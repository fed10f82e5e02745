"""Instructions that run a whole reduction in each lane, and the loads of their operands.

Operands come in groups of 32 bits: what one lane takes in all rounds of the reduction. A group that
is the same for all lanes is loaded once and repeated. Rounds that a guard leaves out count as zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Dynamic, Value, llvm_type
from tilewright.codegen.llvm.memory import mask
from tilewright.codegen.llvm.values import Values
from tilewright.errors import CompileError
from tilewright.expr.scalar import Load, Within
from tilewright.loops.nodes import Buffer, Loop
from tilewright.schedule.intrinsics import INTRINSICS, Intrinsic, Match, match
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.codegen.llvm.control import Control

LEAST = 4  # lanes of a register of 128 bits


def check(intrinsic: Intrinsic, target: Target) -> None:
    """Raise CompileError if the target does not have an instruction."""
    if intrinsic.on(target):
        return
    needs = " or ".join(" with ".join(features) for features in intrinsic.needs)
    raise CompileError(
        f"cannot generate {intrinsic.name} for {target.name!r}: it needs {needs}, which the target "
        "is not known to have. Leave tensorize out, or add features such as "
        f"('+{intrinsic.needs[0][0]}',) to the target if the machine has them."
    )


class Intrinsics(Values):
    """Emits the updates of tensorized loops."""

    def matched(self, loop: Loop) -> Match | None:
        """Return what an intrinsic computes here, or None if it has to be done round by round."""
        intrinsic = INTRINSICS[loop.intrinsic]
        check(intrinsic, self.target)
        vector = self.vector
        if vector is None or vector.width > EMITTERS[loop.intrinsic].most:
            return None
        found = match(intrinsic, vector.loop, loop, self.buffers)
        if isinstance(found, str) or any(self.varies(c) for c in found.block.when):
            return None
        return found

    def reaches(self, loop: Loop, found: Match, rounds: Sequence[int]) -> bool:
        """Whether all groups can be loaded: whole, or if there is only one, piece by piece."""
        vector = self.vector
        assert vector
        return all(
            self._whole(load, loop, rounds)
            or not self.offset(self.buffers[load.buffer], load.index).coefficient(vector.loop)
            for load in found.operands.values()
        )

    def update_all(self, loop: Loop, found: Match, rounds: Sequence[int]) -> None:
        """Add up the given rounds of a loop at once."""
        vector, self.stage = self.vector, found.block.stage
        assert vector
        width = max(vector.width, LEAST)
        groups = [self._group(found.operands[name], loop, rounds) for name in ("a", "b")]
        a, b = (self._filled(group, width) for group in groups)
        before = self._filled(self.load(found.block.buffer, found.block.index), width)
        made = EMITTERS[loop.intrinsic].emit(self, before, a, b)
        self.store(found.block.buffer, found.block.index, self._cut(made, vector.width))

    def _whole(self, load: Load, loop: Loop, rounds: Sequence[int]) -> bool:
        """Whether rounds that are left out cannot leave an operand; the others never do."""
        if len(rounds) == loop.extent:
            return True
        self.env[loop.name] = Dynamic("", 0, 0, loop.extent)
        pairs = zip(load.index, self.buffers[load.buffer].shape, strict=True)
        bounds = [(i.bounds(self._range), n) for i, n in pairs if loop.name in i.variables]
        del self.env[loop.name]
        return all(low >= 0 and high < extent for (low, high), extent in bounds)

    def _group(self, load: Load, loop: Loop, rounds: Sequence[int]) -> Value:
        """Load the groups of an operand as int32, one if it is the same for all lanes."""
        buffer, vector = self.buffers[load.buffer], self.vector
        assert vector
        self.env[loop.name] = 0
        at, step, extra = self.flat(buffer, load.index)
        pointer, byte = self.address(buffer, at, extra)
        del self.env[loop.name]
        size = dtypes.nbytes(buffer.dtype)
        kept = sum(((1 << 8 * size) - 1) << 8 * size * i for i in rounds)
        width, active = (vector.width, vector.active) if step else (1, 1)
        key = (pointer, byte, "group", width, active, kept, load.buffer)
        if key not in self.shared:
            if not self._whole(load, loop, rounds):
                group = self._single(pointer, byte, size, rounds)
            else:
                group = self._load_groups(buffer, pointer, byte, width, active)
                if len(rounds) < loop.extent:
                    group = self._bits("and", group, str(kept - (kept >> 31 << 32)))
            self.shared[key] = group
        return self.shared[key]

    def _load_groups(
        self, buffer: Buffer, pointer: str, byte: int, width: int, active: int
    ) -> Value:
        kind, size = llvm_type("int32", width), dtypes.nbytes(buffer.dtype)
        if width > 1:
            self.prefetch(buffer, pointer, byte)
        place = self.at(pointer, byte)
        if active == width:
            return Value(self.emit(f"load {kind}, ptr {place}, align {size}"), "int32", width)
        name = f"llvm.masked.load.v{width}i32.p0"
        self.intrinsic(name, kind, f"ptr, i32, <{width} x i1>, {kind}")
        arguments = f"ptr {place}, i32 {size}, {mask(width, active)}, {kind} zeroinitializer"
        return Value(self.emit(f"call {kind} @{name}({arguments})"), "int32", width)

    def _single(self, pointer: str, byte: int, size: int, rounds: Sequence[int]) -> Value:
        """Load the elements of one group that count, one by one."""
        total = "0"
        for i in rounds:
            place = self.at(pointer, byte + i * size)
            one = self.emit(f"load i{8 * size}, ptr {place}, align {size}")
            one = self.emit(f"zext i{8 * size} {one} to i32")
            one = self.emit(f"shl i32 {one}, {8 * size * i}") if i else one
            total = one if total == "0" else self.emit(f"or i32 {total}, {one}")
        return Value(total, "int32", 1)

    def _bits(self, op: str, value: Value, bits: str) -> Value:
        other = self.spread(Value(bits, "int32", 1), value.width)
        name = self.emit(f"{op} {value.type} {value.name}, {other.name}")
        return Value(name, "int32", value.width)

    def flipped(self, value: Value) -> Value:
        """Return bytes with their sign bits flipped: signed ones plus 128, as unsigned ones.

        And the reverse: unsigned ones minus 128, as signed ones.
        """
        key = (value.name, value.width, "flipped", "")
        if key not in self.shared:
            self.shared[key] = self._bits("xor", value, str(0x80808080 - (1 << 32)))
        return self.shared[key]

    def _filled(self, value: Value, width: int) -> Value:
        """Return a value in at least `width` lanes: repeated if it is one, else with any others."""
        if value.width == 1 or value.width >= width:
            return self.spread(value, width)
        lanes = ", ".join(f"i32 {i if i < value.width else 'poison'}" for i in range(width))
        pair = f"{value.type} {value.name}, {value.type} poison"
        name = self.emit(f"shufflevector {pair}, <{width} x i32> <{lanes}>")
        return Value(name, value.dtype, width)

    def _cut(self, value: Value, width: int) -> Value:
        if value.width == width:
            return value
        lanes = ", ".join(f"i32 {i}" for i in range(width))
        pair = f"{value.type} {value.name}, {value.type} poison"
        name = self.emit(f"shufflevector {pair}, <{width} x i32> <{lanes}>")
        return Value(name, value.dtype, width)


def _vpdpbusd(e: Intrinsics, total: Value, a: Value, b: Value) -> Value:
    """Add to each lane the dot product of four unsigned bytes of `a` and signed ones of `b`."""
    kind = total.type
    name = f"llvm.x86.avx512.vpdpbusd.{32 * total.width}"
    e.intrinsic(name, kind, f"{kind}, {kind}, {kind}")
    text = f"call {kind} @{name}({kind} {total.name}, {kind} {a.name}, {kind} {b.name})"
    return Value(e.emit(text), "int32", total.width)


def _sdot(e: Intrinsics, total: Value, a: Value, b: Value) -> Value:
    """Add to each lane the dot product of four signed bytes of both."""
    return _of_parts(e, "llvm.aarch64.neon.sdot.v4i32.v16i8", "<16 x i8>", total, a, b)


def _bf16(e: Intrinsics, total: Value, a: Value, b: Value) -> Value:
    name, pairs = (
        f"llvm.x86.avx512bf16.dpbf16ps.{32 * total.width}",
        f"<{2 * total.width} x bfloat>",
    )
    return _of_parts(e, name, pairs, total, a, b)


def _of_parts(e: Intrinsics, name: str, parts: str, total: Value, a: Value, b: Value) -> Value:
    """Call an instruction that takes its operands as vectors of their elements."""
    one, other = (e.emit(f"bitcast {v.type} {v.name} to {parts}") for v in (a, b))
    e.intrinsic(name, total.type, f"{total.type}, {parts}, {parts}")
    text = f"call {total.type} @{name}({total.type} {total.name}, {parts} {one}, {parts} {other})"
    return Value(e.emit(text), total.dtype, total.width)


Dot = Callable[[Intrinsics, Value, Value, Value], Value]


def _flipped(dot: Dot) -> Dot:
    """Return `dot` for bytes of `a` that are signed where it takes unsigned ones, or the reverse.

    With the sign bits flipped a is a + 128, or a - 128. What that adds, (a flipped zero) times b,
    is taken away; all rows share it.
    """

    def emit(e: Intrinsics, total: Value, a: Value, b: Value) -> Value:
        key = (b.name, b.width, "offset", "")
        if key not in e.shared:
            zero, offset = (e.spread(Value(n, "int32", 1), b.width) for n in ("0", "-2139062144"))
            e.shared[key] = dot(e, zero, offset, b)
        return e.apply("sub", dot(e, total, e.flipped(a), b), e.shared[key])

    return emit


class Emitter(NamedTuple):
    """Writes an instruction for at most so many lanes."""

    emit: Dot
    most: int


EMITTERS: Mapping[str, Emitter] = {
    "vnni_u8s8": Emitter(_vpdpbusd, 16),
    "vnni_s8s8": Emitter(_flipped(_vpdpbusd), 16),
    "sdot_u8s8": Emitter(_flipped(_sdot), 4),
    "sdot_s8s8": Emitter(_sdot, 4),
    "bf16": Emitter(_bf16, 16),
}


def tensorized(writer: Control, loop: Loop) -> None:
    """Run a reduction by its intrinsic, or round by round where lanes are guarded alone."""
    found = writer.matched(loop)
    if found is None:
        writer.unrolled(loop)
        return
    rounds = list(range(loop.extent))
    open_conditions: list[Within] = []
    for condition in (*found.block.guards, *found.block.when):
        known = _decided(writer, condition, loop)
        rounds = [i for i in rounds if known[i] is not False]
        if any(known[i] is None for i in rounds):
            open_conditions.append(condition)
    alike = all(
        loop.name not in c.index.variables and not writer.varies(c) for c in open_conditions
    )
    if not rounds:
        return
    if not alike or not writer.reaches(loop, found, rounds):
        writer.unrolled(loop)
    elif open_conditions:
        writer.guarded(open_conditions, lambda: writer.update_all(loop, found, rounds))
    else:
        writer.update_all(loop, found, rounds)


def _decided(writer: Control, condition: Within, loop: Loop) -> list[bool | None]:
    """Decide a condition in each round of a loop."""
    known: list[bool | None] = []
    for i in range(loop.extent):
        writer.env[loop.name] = i
        known.append(writer.decide(condition))
    del writer.env[loop.name]
    return known
