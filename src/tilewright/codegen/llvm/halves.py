"""float16 and bfloat16 to float32 and back, for as many lanes as a value has.

Instructions do it where the target has them (F16C, NEON, AVX512-BF16), integer arithmetic does
elsewhere. Both round to nearest, halves to even. AVX512-BF16 takes what is below the least normal
number as zero.
"""

from __future__ import annotations

from tilewright.codegen.llvm.builder import Builder, Value, llvm_type
from tilewright.codegen.llvm.math import Lanes
from tilewright.target import Target

_NATIVE = {"float16": ("f16c", "neon"), "bfloat16": ("avx512bf16",)}  # features that round to it
_INFINITY = 0x7F800000
_SIGN = -0x80000000


def widened(builder: Builder, value: Value, target: Target) -> Value:
    """Return a value of a short float as float32, which is exact."""
    o = Lanes(builder, value.width)
    if value.dtype == "bfloat16":
        return _float32(o, o.float_of(o.do("shl", _int32(o, value), o.whole(16))))
    if any(map(target.has, _NATIVE["float16"])):
        half = _as(builder, value, "half")
        kind = llvm_type("float32", value.width)
        return _float32(o, builder.emit(f"fpext {_type('half', value.width)} {half} to {kind}"))
    bits = _int32(o, value)
    shifted = o.do("shl", o.do("and", bits, o.whole(0x7FFF)), o.whole(13))
    number = o.bits(o.do("fmul", o.float_of(shifted), o.real(2.0**112)))
    endless = o.do("or", shifted, o.whole(_INFINITY))
    large = _test(o, "sge", shifted, 0x7C00 << 13)
    size = _either(o, large, endless, number)
    sign = o.do("shl", o.do("and", bits, o.whole(0x8000)), o.whole(16))
    return _float32(o, o.float_of(o.do("or", size, sign)))


def narrowed(builder: Builder, value: Value, dtype: str, target: Target) -> Value:
    """Return a float32 value rounded to a short float."""
    if any(map(target.has, _NATIVE[dtype])):
        short = _type("half" if dtype == "float16" else "bfloat", value.width)
        name = builder.emit(f"fptrunc {value.type} {value.name} to {short}")
        bits = builder.emit(f"bitcast {short} {name} to {llvm_type(dtype, value.width)}")
        return Value(bits, dtype, value.width)
    o = Lanes(builder, value.width)
    wide = (_to_half if dtype == "float16" else _to_bfloat)(o, o.bits(value.name))
    name = builder.emit(f"trunc {o.type('int32')} {wide} to {llvm_type(dtype, value.width)}")
    return Value(name, dtype, value.width)


def _to_bfloat(o: Lanes, bits: str) -> str:
    """Return the upper half of float32's bits, rounded to even by what the lower half adds."""
    high = o.do("lshr", bits, o.whole(16))
    up = o.do("add", o.do("and", high, o.whole(1)), o.whole(0x7FFF))
    rounded = o.do("lshr", o.do("add", bits, up), o.whole(16))
    nan = _test(o, "sgt", o.do("and", bits, o.whole(0x7FFFFFFF)), _INFINITY)
    return _either(o, nan, o.do("or", high, o.whole(0x40)), rounded)


def _to_half(o: Lanes, bits: str) -> str:
    sign = o.do("and", bits, o.whole(_SIGN))
    size = o.do("xor", bits, sign)
    odd = o.do("and", o.do("lshr", size, o.whole(13)), o.whole(1))
    # The exponent is biased by 15 instead of 127, and half of what is cut off added, less one.
    based = o.do("add", size, o.whole(((15 - 127) << 23) + 0xFFF))
    normal = o.do("lshr", o.do("add", based, odd), o.whole(13))
    # Adding 1/2 shifts the mantissa of what is below 2^-14 to where it belongs, and rounds it.
    small = o.bits(o.do("fadd", o.float_of(size), o.real(0.5)))
    small = o.do("sub", small, o.whole(0x3F000000))
    half = _either(o, _test(o, "slt", size, 113 << 23), small, normal)
    endless = _either(o, _test(o, "sgt", size, _INFINITY), o.whole(0x7E00), o.whole(0x7C00))
    half = _either(o, _test(o, "sge", size, (127 + 16) << 23), endless, half)
    return o.do("or", half, o.do("lshr", sign, o.whole(16)))


def _float32(o: Lanes, name: str) -> Value:
    return Value(name, "float32", o.width)


def _int32(o: Lanes, value: Value) -> str:
    return o.builder.emit(f"zext {value.type} {value.name} to {o.type('int32')}")


def _as(builder: Builder, value: Value, kind: str) -> str:
    return builder.emit(f"bitcast {value.type} {value.name} to {_type(kind, value.width)}")


def _type(kind: str, width: int) -> str:
    return kind if width == 1 else f"<{width} x {kind}>"


def _test(o: Lanes, order: str, a: str, b: int) -> str:
    return o.builder.emit(f"icmp {order} {o.type('int32')} {a}, {o.whole(b)}")


def _either(o: Lanes, test: str, yes: str, no: str) -> str:
    kind = o.type("int32")
    return o.builder.emit(f"select {o.type('bool')} {test}, {kind} {yes}, {kind} {no}")
