"""Functions of libm, and others of one element: called for each lane of a vector."""

from __future__ import annotations

from tilewright.codegen.llvm.builder import Builder, Value, llvm_type


def libm(builder: Builder, name: str, *given: Value) -> Value:
    """Call a function of C's mathematics on float32 or float64 values."""
    dtype = given[0].dtype
    kind = llvm_type(dtype, 1)
    called = f"{name}f" if dtype == "float32" else name
    builder.intrinsic(called, kind, ", ".join([kind] * len(given)))
    return each_lane(builder, called, *given)


def each_lane(builder: Builder, name: str, *given: Value) -> Value:
    """Call a function from elements of one type to such an element, for each lane of values."""
    dtype, width = given[0].dtype, given[0].width
    kind, whole = llvm_type(dtype, 1), "poison"
    if width == 1:
        passed = ", ".join(f"{kind} {value.name}" for value in given)
        return Value(builder.emit(f"call {kind} @{name}({passed})"), dtype, 1)
    for lane in range(width):
        ones = [builder.emit(f"extractelement {v.type} {v.name}, i64 {lane}") for v in given]
        one = builder.emit(f"call {kind} @{name}({', '.join(f'{kind} {x}' for x in ones)})")
        whole = builder.emit(
            f"insertelement {llvm_type(dtype, width)} {whole}, {kind} {one}, i64 {lane}"
        )
    return Value(whole, dtype, width)
