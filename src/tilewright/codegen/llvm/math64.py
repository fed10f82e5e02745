"""sin, cos, tan and pow of float32 lanes, computed in float64 and rounded once.

The argument is reduced, and the function a short polynomial: float64 has 29 bits to spare, so that
nothing is split in parts. NaN, infinities and signed zeros go where IEEE 754 sends them.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.codegen.llvm.builder import Builder, Value, llvm_type
from tilewright.codegen.llvm.libm import libm
from tilewright.codegen.llvm.math import Lanes

_ROUND = 1.5 * 2.0**52  # adding it rounds to an integer, which is then the low bits
_ROUND_BITS = 0x4338 << 48
_SIGN = -(1 << 63)
_MANTISSA = (1 << 52) - 1

# Each polynomial has the least greatest error, of the function relative to itself (Remez's
# exchange in 40 digits), lowest coefficient first.
_SIN = (-0.16666666641607006, 0.008333329383583117, -0.00019839334083234235,
        2.718304230466535e-06)  # fmt: skip
"""(sin(r) / r - 1) / r^2 in r^2, for |r| <= pi / 4; of sin it errs by 2^-37.5."""
_COS = (-0.49999999694225344, 0.0416666203287839, -0.0013886680751207627,
        2.438348281535429e-05)  # fmt: skip
"""(cos(r) - 1) / r^2 in r^2, for |r| <= pi / 4; of cos it errs by 2^-33.8."""
_LOG2 = (2.88539008177785, 0.9617966941134019, 0.5770779423465753, 0.41220925434010663,
         0.31990561156459735, 0.2829014482811266)  # fmt: skip
"""log2((1 + s) / (1 - s)) / s in s^2, for |s| <= 0.1716; of log2 it errs by 2^-45."""
_EXP2 = (0.6931471806087761, 0.24022650914039395, 0.055504105287878, 0.009618057988230603,
         0.0013333882996012954, 0.00015461029630952337, 1.5195555879169595e-05)  # fmt: skip
"""(2^r - 1) / r for |r| <= 1 / 2; of exp2 it errs by 2^-33.5."""

_TURNS = 0.6366197723675814  # quarters of a circle: 2 / pi
_QUARTER_HIGH = 1.5707963267341256  # 33 bits of pi / 2: exact times a whole number up to 2^20
_QUARTER_LOW = 6.077100506506192e-11
_FAR = 2.0**20  # beyond it, infinities too, each element is libm's
_ROOT_HALF = 0x3FE6A09E667F3BCD  # sqrt(1/2) as bits
_ONE = 1023 << 52
_BIAS = 1023
_BEYOND = 160.0  # 2 to this power is no float32, to its negative is 0
_EVEN = 2.0**25  # all float32 values from 2^24 on are even


def angular(builder: Builder, op: str, x: Value) -> Value:
    """Write sin, cos or tan of every lane; what is far from zero is left to libm."""
    narrow, near = Lanes(builder, x.width), ANGULAR[op](Lanes(builder, x.width, "float64"), x)
    test = narrow.test(narrow.call("fabs", x.name), "ogt", narrow.real(_FAR))
    # A lane that nothing was loaded into may be anything, but must be one thing.
    test = builder.emit(f"freeze {narrow.type('bool')} {test}")
    here, far, join = builder.label, builder.fresh_label("far"), builder.fresh_label("near")
    some = test if x.width == 1 else _any(builder, test, x.width)
    builder.out.append(f"  br i1 {some}, label %{far}, label %{join}")
    builder.start(far)
    chosen = narrow.pick(test, _called(builder, op, x), near)
    builder.out.append(f"  br label %{join}")
    builder.start(join)
    name = builder.emit(f"phi {x.type} [ {near}, %{here} ], [ {chosen}, %{far} ]")
    return Value(name, x.dtype, x.width)


def _any(builder: Builder, test: str, width: int) -> str:
    name, kind = f"llvm.vector.reduce.or.v{width}i1", llvm_type("bool", width)
    builder.intrinsic(name, "i1", kind)
    return builder.emit(f"call i1 @{name}({kind} {test})")


def _called(builder: Builder, op: str, x: Value) -> str:
    """Call a function of libm for all lanes, in one that is known to be called seldom."""
    name = f"tilewright.{op}.{x.width}"
    inner = Builder()
    made = libm(inner, op, Value("%x", x.dtype, x.width))
    builder.declared |= inner.declared
    builder.declared.add(
        f"define internal {x.type} @{name}({x.type} %x) cold noinline {{\n"
        f"{inner.text()}\n  ret {x.type} {made.name}\n}}"
    )
    return builder.emit(f"call {x.type} @{name}({x.type} {x.name}) cold")


def _quarters(o: Lanes, x: Value) -> tuple[str, str, str]:
    """Return sin(r), cos(r) and the bits of n, where x = n pi / 2 + r."""
    wide = _widened(o, x)
    rounded = o.muladd(wide, o.real(_TURNS), o.real(_ROUND))
    n = o.do("fsub", rounded, o.real(_ROUND))
    r = o.muladd(n, o.real(-_QUARTER_HIGH), wide)
    r = o.muladd(n, o.real(-_QUARTER_LOW), r)
    square, one = o.do("fmul", r, r), o.real(1.0)
    sine = o.do("fmul", r, o.muladd(square, o.polynomial(square, _SIN), one))
    return sine, o.muladd(square, o.polynomial(square, _COS), one), o.bits(rounded)


def _is_odd(o: Lanes, count: str) -> str:
    return o.test(o.do("and", count, o.whole(1)), "ne", o.whole(0))


def _wave(o: Lanes, x: Value, ahead: int) -> str:
    """Return the sine of x and so many quarters of a circle."""
    sine, cosine, count = _quarters(o, x)
    count = o.do("add", count, o.whole(ahead))
    value = o.pick(_is_odd(o, count), cosine, sine)
    sign = o.do("and", o.do("shl", count, o.whole(62)), o.whole(_SIGN))
    return _narrowed(o, o.float_of(o.do("xor", o.bits(value), sign)))


def _tan(o: Lanes, x: Value) -> str:
    sine, cosine, count = _quarters(o, x)
    odd = _is_odd(o, count)
    minus = o.builder.emit(f"fneg {o.type()} {cosine}")
    return _narrowed(o, o.do("fdiv", o.pick(odd, minus, sine), o.pick(odd, sine, cosine)))


ANGULAR: dict[str, Callable[[Lanes, Value], str]] = {
    "sin": lambda o, x: _wave(o, x, 0), "cos": lambda o, x: _wave(o, x, 1), "tan": _tan,
}  # fmt: skip


def real_power(builder: Builder, base: Value, exponent: Value) -> Value:
    """Write |base|^exponent as 2^(exponent log2 |base|) for every lane, and then its sign."""
    o = Lanes(builder, base.width, "float64")
    x, y = _widened(o, base), _widened(o, exponent)
    zero, lowest = o.real(0.0), o.real(-float("inf"))
    log = _log2(o, o.call("fabs", x))
    # 1 to any power is 1, and so is anything to the power of 0, even where NaN is the other.
    one = o.both("or", o.test(log, "oeq", zero), o.test(y, "oeq", zero))
    size = _exp2(o, o.pick(one, zero, o.do("fmul", y, log)))
    fraction, odd = _parts(o, y)
    below = o.both("and", o.test(x, "olt", zero), o.test(x, "ogt", lowest))
    size = o.pick(o.both("and", below, fraction), o.real(float("nan")), size)
    sign = o.do("and", o.bits(x), o.whole(_SIGN))
    signed = o.float_of(o.do("or", o.bits(size), sign))
    return Value(_narrowed(o, o.pick(odd, signed, size)), base.dtype, base.width)


def _parts(o: Lanes, y: str) -> tuple[str, str]:
    """Return whether a number is not whole, and whether it is odd."""
    near = o.at_most(o.at_least(y, -_EVEN), _EVEN)
    half = o.do("fmul", near, o.real(0.5))
    whole, pairs = (o.do("fsub", o.do("fadd", v, o.real(_ROUND)), o.real(_ROUND))
                    for v in (near, half))  # fmt: skip
    odd = o.both("and", o.test(whole, "oeq", near), o.test(pairs, "une", half))
    return o.test(whole, "une", near), odd


def _log2(o: Lanes, x: str) -> str:
    """Return e + log2(m) of x = 2^e m of at least 0, m between sqrt(1/2) and sqrt(2)."""
    above = o.do("add", o.bits(x), o.whole(_ONE - _ROOT_HALF))
    biased = o.do("or", o.do("lshr", above, o.whole(52)), o.whole(_ROUND_BITS))
    e = o.do("fsub", o.float_of(biased), o.real(_ROUND + _BIAS))
    mantissa = o.do("and", above, o.whole(_MANTISSA))
    m = o.float_of(o.do("add", mantissa, o.whole(_ROOT_HALF)))
    s = o.do("fdiv", o.do("fsub", m, o.real(1.0)), o.do("fadd", m, o.real(1.0)))
    y = o.muladd(s, o.polynomial(o.do("fmul", s, s), _LOG2), e)
    y = o.choose(x, "olt", o.real(float("inf")), y, x)
    return o.choose(x, "oeq", o.real(0.0), o.real(-float("inf")), y)


def _exp2(o: Lanes, x: str) -> str:
    """Return 2^x, beyond float32's range something that rounds to infinity or 0."""
    x = o.at_most(o.at_least(x, -_BEYOND), _BEYOND)
    rounded = o.do("fadd", x, o.real(_ROUND))
    r = o.do("fsub", x, o.do("fsub", rounded, o.real(_ROUND)))
    power = o.do("shl", o.do("add", o.bits(rounded), o.whole(_BIAS)), o.whole(52))
    return o.do("fmul", o.muladd(r, o.polynomial(r, _EXP2), o.real(1.0)), o.float_of(power))


def _widened(o: Lanes, x: Value) -> str:
    return o.builder.emit(f"fpext {x.type} {x.name} to {o.type()}")


def _narrowed(o: Lanes, x: str) -> str:
    return o.builder.emit(f"fptrunc {o.type()} {x} to {o.type('float32')}")
