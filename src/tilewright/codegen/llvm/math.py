"""exp, log, log1p, tanh, sigmoid and erf as arithmetic on whole vectors, without calls.

In float32 each is a reduction of its argument and a polynomial, for as many lanes as the value has.
Infinities, NaN and signed zeros go where IEEE 754 sends them, results that are too small become
subnormal and then zero. `fmuladd` rounds once where the machine has it and twice elsewhere; the
reductions are exact either way. float64 calls libm, lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.codegen.llvm.builder import Builder, Value, constant, llvm_type, suffix
from tilewright.codegen.llvm.libm import libm

# The greatest errors over all 2^32 float32 values, in units in the last place, against float64: the
# largest of what AVX-512 (`math512`), fused multiplication and addition (AVX2) and two roundings
# (SSE) give. That of erf(c x), of 600 numbers c, is against erf of the exact product. That of GELU,
# x (erf(x sqrt(1/2)) + 1) / 2, is in units of x / 2: below 0 it is a difference of such numbers.
# Those of sin, cos and tan are libm's, which answers beyond 2^20; they and pow are in `math64`.
ERROR_ULP = {
    "exp": 1.04, "log": 0.82, "tanh": 2.61, "sigmoid": 3.1, "erf": 2.15, "scaled erf": 3.4,
    "gelu": 3.2, "log1p": 1.44, "sin": 0.6, "cos": 0.6, "tan": 0.9, "pow": 0.51,
}  # fmt: skip

# Each polynomial has the least greatest error, weighed so that it counts relative to the function
# (Remez's exchange in 40 digits). Its coefficients, lowest first, were rounded to float32 in that
# order, and after each the higher ones fitted anew, which takes up most of what rounding does.
_EXP = (0.4999999701976776, 0.16666539013385773, 0.04166774824261665,
        0.008367087692022324, 0.00138378597330302)  # fmt: skip
"""(exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2; of expm1(r) it errs by 2^-26.1."""
_LOG = (0.3333331346511841, -0.2500016689300537, 0.20002222061157227, -0.1665937304496765,
        0.1420963853597641, -0.12549565732479095, 0.12107860296964645, -0.10919354110956192,
        0.053482383489608765)  # fmt: skip
"""(log(1 + f) - f + f^2 / 2) / f^3 for sqrt(1/2) <= 1 + f <= sqrt(2); of log it errs by 2^-29."""
_ERF = (0.12837916612625122, -0.6366195678710938, 0.10277630388736725, 0.019147824496030807,
        -0.00016949468408711255, -0.0016756594413891435, -0.0006373503128997982,
        -0.00011885691492352635, -9.387461432197597e-06)  # fmt: skip
"""log(erfc(-x)) / x - 1 for -4 <= x <= 0; of erf it errs by 2^-27.8."""

LN2_HIGH = 355 / 512  # ten bits: its product with an exponent is exact
LN2_LOW = -2.1219444005469057e-4
LOG2_E = 1.4426950408889634
EXP_BELOW, EXP_ABOVE = -104.0, 89.0  # beyond them exp is 0 and infinity
_ROUND = 1.5 * 2.0**23  # adding it rounds to an integer, which is then the low bits
_ROOT_HALF = 0x3F3504F3  # sqrt(1/2) as bits


@dataclass(frozen=True, slots=True)
class Lanes:
    """Writes arithmetic on `width` floats and the integers that are their bits.

    Values are names or constants in LLVM's text.
    """

    builder: Builder
    width: int
    dtype: str = "float32"

    @property
    def _bits(self) -> str:
        return "int32" if self.dtype == "float32" else "int64"

    def real(self, number: float) -> str:
        return self._splat(constant(number, self.dtype), self.dtype)

    def whole(self, number: int) -> str:
        return self._splat(str(number), self._bits)

    def _splat(self, text: str, dtype: str) -> str:
        return text if self.width == 1 else f"splat ({llvm_type(dtype, 1)} {text})"

    def type(self, dtype: str | None = None) -> str:
        return llvm_type(dtype or self.dtype, self.width)

    def do(self, op: str, a: str, b: str) -> str:
        """Apply a binary instruction; the names of those on integers do not start with f."""
        kind = self.type(self.dtype if op[0] == "f" else self._bits)
        return self.builder.emit(f"{op} {kind} {a}, {b}")

    def both(self, op: str, a: str, b: str) -> str:
        """Apply `and`, `or` or `xor` to two conditions."""
        return self.builder.emit(f"{op} {self.type('bool')} {a}, {b}")

    def call(self, name: str, *arguments: str) -> str:
        kind = self.type()
        intrinsic = f"llvm.{name}.{suffix(self.dtype, self.width)}"
        self.builder.intrinsic(intrinsic, kind, ", ".join([kind] * len(arguments)))
        passed = ", ".join(f"{kind} {a}" for a in arguments)
        return self.builder.emit(f"call {kind} @{intrinsic}({passed})")

    def muladd(self, a: str, b: str, c: str) -> str:
        return self.call("fmuladd", a, b, c)

    def negative(self, x: str) -> str:
        """Return -|x|."""
        return self.builder.emit(f"fneg {self.type()} {self.call('fabs', x)}")

    def choose(self, a: str, order: str, b: str, yes: str, no: str) -> str:
        """Return `yes` where `a order b`, else `no`; an ordered comparison with NaN is false."""
        return self.pick(self.test(a, order, b), yes, no)

    def test(self, a: str, order: str, b: str) -> str:
        """Compare floats, or integers if the order is named as those of integers are."""
        whole = order in ("eq", "ne")
        kind = self.type(self._bits if whole else self.dtype)
        return self.builder.emit(f"{'icmp' if whole else 'fcmp'} {order} {kind} {a}, {b}")

    def pick(self, test: str, yes: str, no: str) -> str:
        kind = self.type()
        return self.builder.emit(f"select {self.type('bool')} {test}, {kind} {yes}, {kind} {no}")

    def at_least(self, x: str, low: float) -> str:
        return self.choose(x, "olt", self.real(low), self.real(low), x)

    def at_most(self, x: str, high: float) -> str:
        return self.choose(x, "ogt", self.real(high), self.real(high), x)

    def bits(self, x: str) -> str:
        return self.builder.emit(f"bitcast {self.type()} {x} to {self.type(self._bits)}")

    def float_of(self, bits: str) -> str:
        return self.builder.emit(f"bitcast {self.type(self._bits)} {bits} to {self.type()}")

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        return self.horner(x, [self.real(coefficient) for coefficient in coefficients])

    def horner(self, x: str, coefficients: Sequence[str]) -> str:
        """Return a polynomial of x, lowest coefficient first; they may differ between lanes."""
        *rest, total = coefficients
        for coefficient in reversed(rest):
            total = self.muladd(total, x, coefficient)
        return total


def _reduced(o: Lanes, x: str, bias: int) -> tuple[str, str]:
    """Split exp(x) into 2^n and 1 + p; return n + bias in the low bits of an integer, and p.

    p is accurate relative to itself, and equals x where that is tiny.
    """
    rounded = o.muladd(x, o.real(LOG2_E), o.real(_ROUND + bias))
    n = o.do("fsub", rounded, o.real(_ROUND + bias))
    r = o.muladd(n, o.real(-LN2_HIGH), x)
    r = o.muladd(n, o.real(-LN2_LOW), r)
    return o.bits(rounded), o.muladd(o.do("fmul", r, r), o.polynomial(r, _EXP), r)


def _scaled(o: Lanes, x: str) -> str:
    """Return exp(x) for -104 <= x <= 89, in two steps of scale: 2^n alone may be no float."""
    exponent, p = _reduced(o, x, 254)
    half = o.do("lshr", exponent, o.whole(1))
    rest = o.do("sub", exponent, half)
    first, second = (o.float_of(o.do("shl", e, o.whole(23))) for e in (half, rest))
    return o.do("fmul", o.muladd(first, p, first), second)


def _expm1(o: Lanes, x: str) -> str:
    """Return exp(x) - 1 for |x| <= 80, accurate relative to itself."""
    exponent, p = _reduced(o, x, 127)
    scale = o.float_of(o.do("shl", exponent, o.whole(23)))
    return o.muladd(scale, p, o.do("fadd", scale, o.real(-1.0)))


def exp(o: Lanes, x: str, bounded: Callable[[Lanes, str], str] = _scaled) -> str:
    return bounded(o, o.at_most(o.at_least(x, EXP_BELOW), EXP_ABOVE))


def _log(o: Lanes, x: str) -> str:
    """Return e ln(2) + log(1 + f), where x = 2^e (1 + f)."""
    subnormal = (x, "olt", o.real(2.0**-126))
    normal = o.choose(*subnormal, o.do("fmul", x, o.real(2.0**23)), x)
    above = o.do("sub", o.bits(normal), o.whole(_ROOT_HALF))
    mantissa = o.do("and", above, o.whole(0x7FFFFF))
    f = o.do("fsub", o.float_of(o.do("add", mantissa, o.whole(_ROOT_HALF))), o.real(1.0))
    e = o.do("ashr", above, o.whole(23))
    e = o.builder.emit(f"sitofp {o.type('int32')} {e} to {o.type()}")
    e = o.do("fsub", e, o.choose(*subnormal, o.real(23.0), o.real(0.0)))
    square = o.do("fmul", f, f)
    y = o.do("fmul", o.do("fmul", square, f), o.polynomial(f, _LOG))
    y = o.muladd(e, o.real(LN2_LOW), y)
    y = o.muladd(square, o.real(-0.5), y)
    y = o.muladd(e, o.real(LN2_HIGH), o.do("fadd", f, y))
    infinity, nan = float("inf"), float("nan")
    y = o.choose(x, "olt", o.real(infinity), y, x)
    edge = o.choose(x, "oeq", o.real(0.0), o.real(-infinity), o.real(nan))
    return o.choose(x, "ole", o.real(0.0), edge, y)


def _log1p(o: Lanes, x: str) -> str:
    """Return log(1 + x), and what rounding 1 + x lost as a share of it."""
    u = o.do("fadd", x, o.real(1.0))
    y = _log(o, u)
    lost = o.do("fsub", x, o.do("fsub", u, o.real(1.0)))
    corrected = o.do("fadd", y, o.do("fdiv", lost, u))
    finite = o.choose(u, "olt", o.real(float("inf")), corrected, y)
    finite = o.choose(u, "ogt", o.real(0.0), finite, y)
    return o.choose(u, "oeq", o.real(1.0), x, finite)


def _tanh(o: Lanes, x: str) -> str:
    """Return expm1(2x) / (expm1(2x) + 2), which is 1 from 9.02 on."""
    a = o.at_most(o.call("fabs", x), 10.0)
    grown = _expm1(o, o.do("fadd", a, a))
    return o.call("copysign", o.do("fdiv", grown, o.do("fadd", grown, o.real(2.0))), x)


def sigmoid(o: Lanes, x: str, bounded: Callable[[Lanes, str], str] = _scaled) -> str:
    """Return 1 / (1 + z) or z / (1 + z), where z = exp(-|x|) cannot overflow."""
    z = bounded(o, o.at_least(o.negative(x), EXP_BELOW))
    above = o.choose(x, "olt", o.real(0.0), z, o.real(1.0))
    return o.do("fdiv", above, o.do("fadd", z, o.real(1.0)))


def _erf(o: Lanes, x: str) -> str:
    """Return 1 - exp(log(erfc(x))), which is 1 from 3.92 on."""
    a = o.at_least(o.negative(x), -4.0)
    return o.call("copysign", _expm1(o, o.muladd(a, o.polynomial(a, _ERF), a)), x)


_FLOAT32: dict[str, Callable[[Lanes, str], str]] = {
    "exp": exp, "log": _log, "tanh": _tanh, "sigmoid": sigmoid, "erf": _erf, "log1p": _log1p,
}  # fmt: skip
_LIBM = (
    "erf", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
    "atanh",
)  # fmt: skip


def transcendental(builder: Builder, op: str, value: Value) -> Value | None:
    """Write a function of every lane; return None where LLVM has an intrinsic that will do."""
    if value.dtype == "float32" and op in _FLOAT32:
        name = _FLOAT32[op](Lanes(builder, value.width), value.name)
        return Value(name, value.dtype, value.width)
    return libm(builder, op, value) if op in _LIBM else None
