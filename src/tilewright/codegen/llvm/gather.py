"""Loads at an index that is data: one place for a whole vector, or one for each of its lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Dynamic, Value, llvm_type, suffix
from tilewright.codegen.llvm.memory import mask
from tilewright.expr.parts import loads, variables, walk
from tilewright.expr.scalar import Load, Scalar, Select
from tilewright.loops.nodes import Buffer, product, strides

if TYPE_CHECKING:
    from tilewright.codegen.llvm.values import Values

FEW = 1 << 30  # elements whose offsets, and sums of them, int32 holds


def gathered(writer: Values, load: Load) -> Value:
    """Load an element, a run of elements from a place that all lanes share, or each lane's own."""
    buffer = writer.buffers[load.buffer]
    start, step, extra = writer.flat(buffer, load.index)
    pointer, byte = writer.address(buffer, start, extra)
    steps = strides(buffer.shape)
    away: Value | None = None
    for d, index in load.gathered:
        part = _early(writer, index, buffer, d, steps[d])
        away = part if away is None else writer.apply("add", away, part)
    assert away is not None
    if away.width > 1:
        return _each_lane(writer, buffer, writer.at(pointer, byte), away, step)
    key = ("away", pointer, away.name, "")
    if key not in writer.shared:
        element = llvm_type(_stored(buffer), 1)
        name = writer.emit(f"getelementptr {element}, ptr {pointer}, {away.type} {away.name}")
        writer.shared[key] = Value(name, "int64", 1)
    return writer.fetch(buffer, writer.shared[key].name, byte, step)


def _early(writer: Values, index: Scalar, buffer: Buffer, d: int, stride: int) -> Value:
    """Return an offset, computed in front of the outermost open loop that does not change it.

    It needs no branch there, and reads nothing that the loop writes; and it is inside of what it
    reads for all rounds of the loops round that place, so that no guard is needed.
    """
    names, read = sorted(variables(index)), {load.buffer for load in loads(index)}
    branches = any(isinstance(part, Select) or part.dtype == "bool" for part in walk(index))
    here, inside = writer.env, (writer.out, writer.shared)
    for entry in [] if branches or read & writer.promoted else writer.entries:
        bound = [entry.env.get(name, here.get(name)) for name in names]
        late = any(b is None or (isinstance(b, Dynamic) and b not in entry.env.values())
                   for b in bound)  # fmt: skip
        if late or read & entry.written:
            continue
        writer.env = here | entry.env
        key = (index, tuple(bound), buffer.name, d)
        if key not in entry.values and writer.inside(index):
            writer.out, writer.shared = entry.lines, {}
            entry.values[key] = _offset(writer, index, buffer, d, stride)
            writer.out, writer.shared = inside
        writer.env = here
        if key in entry.values:
            return entry.values[key]
    return _offset(writer, index, buffer, d, stride)


def _offset(writer: Values, index: Scalar, buffer: Buffer, d: int, stride: int) -> Value:
    """Return how many elements an index in dimension `d` leads on; see `Load`."""
    given = writer.whole(index)
    key = ("offset", given.name, given.dtype, given.width, buffer.shape[d], stride, "")
    if key in writer.shared:
        return writer.shared[key]
    extent = int(buffer.shape[d])
    if given.dtype == "uint64":
        given = writer.apply("min", given, Value(str(extent - 1), "uint64", 1))
    large = given.dtype in ("int64", "uint64", "uint32") or extent > FEW
    at = writer.cast(given, "int64" if large else "int32")
    if given.dtype not in dtypes.UNSIGNED:
        none, whole = (writer.spread(Value(str(n), at.dtype, 1), at.width) for n in (0, extent))
        below, behind = writer.apply("lt", at, none), writer.apply("add", at, whole)
        parts = ", ".join(f"{v.type} {v.name}" for v in (below, behind, at))
        at = writer.apply("max", Value(writer.emit(f"select {parts}"), at.dtype, at.width), none)
    at = writer.apply("min", at, Value(str(extent - 1), at.dtype, 1))
    at = writer.cast(at, "int32" if int(product(buffer.shape)) <= FEW else "int64")
    if stride != 1:
        at = writer.apply("mul", at, Value(str(stride), at.dtype, 1))
    writer.shared[key] = at
    return at


def _each_lane(writer: Values, buffer: Buffer, start: str, away: Value, step: int) -> Value:
    """Load what each lane of the open vector finds at a place of its own."""
    vector = writer.vector
    assert vector
    if step:
        lanes = ", ".join(f"{llvm_type(away.dtype, 1)} {step * i}" for i in range(away.width))
        name = writer.emit(f"add {away.type} {away.name}, <{lanes}>")
        away = Value(name, away.dtype, away.width)
    stored, width = _stored(buffer), away.width
    kind, size = llvm_type(stored, width), dtypes.nbytes(buffer.dtype)
    places = writer.emit(
        f"getelementptr {llvm_type(stored, 1)}, ptr {start}, {away.type} {away.name}"
    )
    intrinsic = f"llvm.masked.gather.{suffix(stored, width)}.v{width}p0"
    writer.intrinsic(intrinsic, kind, f"<{width} x ptr>, i32, <{width} x i1>, {kind}")
    name = writer.emit(
        f"call {kind} @{intrinsic}(<{width} x ptr> {places}, i32 {size}, "
        f"{mask(width, vector.active)}, {kind} zeroinitializer)"
    )
    if buffer.dtype == "bool":
        name = writer.emit(f"trunc {kind} {name} to {llvm_type('bool', width)}")
    return Value(name, buffer.dtype, width)


def _stored(buffer: Buffer) -> str:
    return "int8" if buffer.dtype == "bool" else buffer.dtype
