"""Arithmetic on integers that an instruction alone does not do: each has a result for all operands.

A processor stops where it divides by zero, or the least integer by -1, and shifts by a count beyond
the bits as it likes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import dtypes
from tilewright.codegen.llvm.builder import Builder, Value, llvm_type, suffix
from tilewright.codegen.llvm.libm import each_lane

if TYPE_CHECKING:
    from tilewright.codegen.llvm.values import Values


def quotient(writer: Values, a: Value, b: Value) -> Value:
    """Divide, rounding to zero: by zero is zero, and the least by -1 stays itself.

    The processor would stop at both, so it is given another divisor there.
    """
    unsigned = a.dtype in dtypes.UNSIGNED
    word = "udiv" if unsigned else "sdiv"

    def divided(by: Value) -> Value:
        name = writer.emit(f"{word} {a.type} {a.name}, {by.name}")
        return Value(name, a.dtype, a.width)

    zero, one, minus = (_number(writer, n, a) for n in (0, 1, -1))
    known = None if "%" in b.name else b.name
    if known == zero.name:
        return zero
    if known == minus.name:
        return writer.apply("sub", zero, a)
    if known is not None:
        return divided(b)
    is_zero = writer.apply("eq", b, zero)
    if unsigned:
        return writer.choose(is_zero, zero, divided(writer.choose(is_zero, one, b)))
    is_minus = writer.apply("eq", b, minus)
    safe = writer.choose(writer.apply("or", is_zero, is_minus), one, b)
    negated = writer.choose(is_minus, writer.apply("sub", zero, a), divided(safe))
    return writer.choose(is_zero, zero, negated)


def remainder(writer: Values, op: str, a: Value, b: Value) -> Value:
    """Return what division leaves, with the sign of b (`mod`) or of a (`fmod`); by zero 0."""
    unsigned = a.dtype in dtypes.UNSIGNED
    zero, one = _number(writer, 0, a), _number(writer, 1, a)
    unit = writer.apply("eq", b, zero)
    if not unsigned:
        unit = writer.apply("or", unit, writer.apply("eq", b, _number(writer, -1, a)))
    safe = writer.choose(unit, one, b)  # nothing is left by 1
    word = "urem" if unsigned else "srem"
    left = Value(writer.emit(f"{word} {a.type} {a.name}, {safe.name}"), a.dtype, a.width)
    return left if unsigned or op == "fmod" else of_sign(writer, left, b, zero)


def of_sign(writer: Values, left: Value, divisor: Value, zero: Value) -> Value:
    """Return what division left, with the sign of the divisor."""
    apart = writer.apply("ne", writer.apply("lt", left, zero), writer.apply("lt", divisor, zero))
    wrong = writer.apply("and", apart, writer.apply("ne", left, zero))
    return writer.choose(wrong, writer.apply("add", left, divisor), left)


def shifted(writer: Values, op: str, a: Value, count: Value) -> Value:
    """Shift by any count: as many as there are bits, and more, shift all of them out."""
    bits = _number(writer, 8 * dtypes.nbytes(a.dtype), a)
    test = writer.emit(f"icmp ult {count.type} {count.name}, {bits.name}")
    inside, zero = Value(test, "bool", a.width), _number(writer, 0, a)
    if op == "shr" and a.dtype not in dtypes.UNSIGNED:
        last = _number(writer, 8 * dtypes.nbytes(a.dtype) - 1, a)
        by = writer.choose(inside, count, last)
        return Value(writer.emit(f"ashr {a.type} {a.name}, {by.name}"), a.dtype, a.width)
    word = "shl" if op == "shl" else "lshr"
    by = writer.choose(inside, count, zero)
    made = Value(writer.emit(f"{word} {a.type} {a.name}, {by.name}"), a.dtype, a.width)
    return writer.choose(inside, made, zero)


def power(writer: Builder, base: Value, exponent: Value) -> Value:
    """Raise each lane to a power by squaring; see `power` of expressions."""
    kind, unsigned = llvm_type(base.dtype, 1), base.dtype in dtypes.UNSIGNED
    name = f"tilewright.{'u' if unsigned else ''}pow.{suffix(base.dtype, 1)}"
    writer.declared.add(_power_function(name, kind, unsigned))
    return each_lane(writer, name, base, exponent)


def _power_function(name: str, kind: str, unsigned: bool) -> str:
    below = "false" if unsigned else "%negative"
    return f"""define internal {kind} @{name}({kind} %base, {kind} %exponent) {{
entry:
  %negative = icmp slt {kind} %exponent, 0
  br i1 {below}, label %inverse, label %square
inverse:
  %last = and {kind} %exponent, 1
  %odd = icmp ne {kind} %last, 0
  %one = icmp eq {kind} %base, 1
  %minus = icmp eq {kind} %base, -1
  %unit = or i1 %one, %minus
  %sign = select i1 %odd, {kind} %base, {kind} 1
  %inverted = select i1 %unit, {kind} %sign, {kind} 0
  ret {kind} %inverted
square:
  %b = phi {kind} [ %base, %entry ], [ %squared, %square ]
  %e = phi {kind} [ %exponent, %entry ], [ %rest, %square ]
  %r = phi {kind} [ 1, %entry ], [ %result, %square ]
  %bit = and {kind} %e, 1
  %set = icmp ne {kind} %bit, 0
  %product = mul {kind} %r, %b
  %result = select i1 %set, {kind} %product, {kind} %r
  %squared = mul {kind} %b, %b
  %rest = lshr {kind} %e, 1
  %more = icmp ne {kind} %rest, 0
  br i1 %more, label %square, label %done
done:
  ret {kind} %result
}}"""


def _number(writer: Values, number: int, like: Value) -> Value:
    return writer.spread(Value(str(number), like.dtype, 1), like.width)
