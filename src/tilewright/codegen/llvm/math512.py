"""exp, sigmoid and erf where a vector register is a table of sixteen numbers: AVX-512.

A look-up among sixteen lanes is one instruction there, so that the argument is reduced sixteen
times further and the polynomial is short. Infinities, NaN, signed zeros and subnormal results are
as in `math`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from math import comb

import numpy as np

from tilewright.codegen.llvm.builder import Builder, Value, constant
from tilewright.codegen.llvm.math import LN2_HIGH, LN2_LOW, LOG2_E, Lanes, exp, sigmoid

WIDTH = 16

_POWERS = tuple(2.0 ** (j / WIDTH) for j in range(WIDTH))
_EXP = (0.5000162124633789, 0.16667000949382782)
"""(exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 32; of exp it errs by 2^-29."""
_STEP = 65 / 256  # between the points about which erf is a polynomial
_LAST = 3.93  # up to there the last point is the nearest
_ERF = (
    (0.0, 0.28046301007270813, 0.527338445186615, 0.7186238169670105, 0.8490860462188721,
     0.9274081587791443, 0.9687963724136353, 0.9880474805831909, 0.9959291815757751,
     0.9987694621086121, 0.9996703267097473, 0.9999217987060547, 0.9999836087226868,
     0.9999969601631165, 0.9999995231628418, 0.9999999403953552),
    (1.1283791065216064, 1.0579297542572021, 0.8718905448913574, 0.6316415667533875,
     0.40223777294158936, 0.2251637578010559, 0.11079434305429459, 0.04792257398366928,
     0.018220748752355576, 0.00608969759196043, 0.0017890757881104946, 0.00046202470548450947,
     0.00010488300904398784, 2.092900285788346e-05, 3.6710935091832653e-06, 5.66038295346516e-07),
    (9.471089470025618e-06, -0.2686109244823456, -0.4427344799041748, -0.48113366961479187,
     -0.40852904319763184, -0.28586089611053467, -0.16880032420158386, -0.08516594767570496,
     -0.037010516971349716, -0.013929416425526142, -0.004552444443106651, -0.001289005158469081,
     -0.0003259640361648053, -6.978055171202868e-05, -2.341906110814307e-05,
     -8.224805242207367e-06),
    (-0.37643447518348694, -0.307197630405426, -0.140706405043602, 0.033769164234399796,
     0.14252030849456787, 0.16687525808811188, 0.1344936341047287, 0.08495067805051804,
     0.04404560476541519, 0.0191701278090477, 0.0070927944034338, 0.0022486543748527765,
     0.0006141110206954181, 0.0001450217969249934, 2.9695213015656918e-05, 5.283507562126033e-06),
    (0.003531568916514516, 0.1276482790708542, 0.18113064765930176, 0.14713284373283386,
     0.06428800523281097, -0.009770382195711136, -0.04513878375291824, -0.04752734303474426,
     -0.03242338076233864, -0.016477495431900024, -0.006922104395925999, -0.0028215027414262295,
     -0.0004430348053574562, -0.0001764949265634641, 0.0005924918805249035, 0.00036610750248655677),
    (0.09926062077283859, 0.08004485070705414, 0.003168864408507943, -0.05425649136304855,
     -0.06816983968019485, -0.04446868598461151, -0.012255698442459106, 0.007817634381353855,
     0.013041611760854721, 0.010023749433457851, 0.005495679099112749, 0.0023675381671637297,
     0.000834545586258173, 0.0002455256471876055, 6.105531065259129e-05, 1.2938875443069264e-05),
)  # fmt: skip
"""Coefficients of erf about each point, lowest first; for |t| <= 65/512 they err by 2^-24."""


def _looked_up(o: Lanes, table: tuple[float, ...], bits: str) -> str:
    """Return the element of a table that the low four bits of each lane name."""
    name, kind, index = "llvm.x86.avx512.permvar.sf.512", o.type(), o.type("int32")
    o.builder.intrinsic(name, kind, f"{kind}, {index}")
    entries = ", ".join(f"float {constant(entry, 'float32')}" for entry in table)
    return o.builder.emit(f"call {kind} @{name}({kind} <{entries}>, {index} {bits})")


def _scaled(o: Lanes, x: str, power: str) -> str:
    """Return x * 2^floor(power), rounded once, also to a subnormal number."""
    name, kind = "llvm.x86.avx512.mask.scalef.ps.512", o.type()
    o.builder.intrinsic(name, kind, f"{kind}, {kind}, {kind}, i16, i32")
    given = f"{kind} {x}, {kind} {power}, {kind} zeroinitializer, i16 -1, i32 4"
    return o.builder.emit(f"call {kind} @{name}({given})")


def _rounded(o: Lanes, x: str, factor: float, step: float) -> tuple[str, str]:
    """Return factor * x rounded to a multiple of step, as bits that count them and as a float."""
    large = o.real(1.5 * 2.0**23 * step)
    sum_ = o.muladd(x, o.real(factor), large)
    return o.bits(sum_), o.do("fsub", sum_, large)


def _bounded_exp(o: Lanes, x: str) -> str:
    count, power = _rounded(o, x, LOG2_E, 1 / WIDTH)
    r = o.muladd(power, o.real(-LN2_HIGH), x)
    r = o.muladd(power, o.real(-LN2_LOW), r)
    grown = o.muladd(o.do("fmul", r, r), o.polynomial(r, _EXP), r)
    base = _looked_up(o, _POWERS, count)
    return _scaled(o, o.muladd(base, grown, base), power)


def _erf(o: Lanes, x: str, scale: float = 1.0) -> str:
    """Return erf(scale * x), with the sign of x."""
    return o.call("copysign", _erf_abs(o, x, scale), x)


def _erf_abs(o: Lanes, x: str, scale: float) -> str:
    """Return erf(|scale * x|) by the polynomial about the nearest point; from 3.92 on it is 1.

    The points and the coefficients are those of x, so that nothing is multiplied by the scale.
    """
    step, tables = _scaled_erf(scale)
    a = o.at_most(o.call("fabs", x), _LAST / scale)
    count, number = _rounded(o, a, 1 / step, 1)
    t = o.muladd(number, o.real(-step), a)
    return o.horner(t, [_looked_up(o, table, count) for table in tables])


@cache
def _scaled_erf(scale: float) -> tuple[float, tuple[tuple[float, ...], ...]]:
    """Return the step between points, as a float32, and the coefficients of erf(scale * x).

    The step is rounded, so each point is `off` by a little: its polynomial begins there instead.
    """
    step = float(np.float32(_STEP / scale))
    points: list[list[float]] = []
    for point, coefficients in enumerate(zip(*_ERF, strict=True)):
        off = point * (scale * step - _STEP)
        moved = [
            sum(comb(k, j) * off ** (k - j) * coefficients[k] for k in range(j, len(_ERF)))
            for j in range(len(_ERF))
        ]
        points.append([number * scale**j for j, number in enumerate(moved)])
    return step, tuple(zip(*points, strict=True))


_FUNCTIONS: dict[str, Callable[[Lanes, str], str]] = {
    "exp": partial(exp, bounded=_bounded_exp),
    "sigmoid": partial(sigmoid, bounded=_bounded_exp),
    "erf": _erf,
}


def transcendental512(builder: Builder, op: str, value: Value) -> Value | None:
    """Write a function of every lane of a float32 value, register by register."""
    return _by_registers(builder, _FUNCTIONS[op], value) if op in _FUNCTIONS else None


def erf_of_multiple(builder: Builder, value: Value, scale: float, *, signed: bool) -> Value:
    """Write erf(scale * x) of every lane x of a float32 value, or erf(|scale * x|)."""
    function = _erf if signed else _erf_abs
    return _by_registers(builder, partial(function, scale=scale), value)


def _by_registers(builder: Builder, function: Callable[[Lanes, str], str], value: Value) -> Value:
    o = Lanes(builder, WIDTH)
    padded = -(-value.width // WIDTH) * WIDTH
    given = _resized(builder, value, padded)
    if padded == WIDTH:
        made = function(o, given.name)
    else:
        register, whole, made = o.type(), given.type, "poison"
        extract = f"llvm.vector.extract.v{WIDTH}f32.v{padded}f32"
        insert = f"llvm.vector.insert.v{padded}f32.v{WIDTH}f32"
        builder.intrinsic(extract, register, f"{whole}, i64")
        builder.intrinsic(insert, whole, f"{whole}, {register}, i64")
        for at in range(0, padded, WIDTH):
            x = builder.emit(f"call {register} @{extract}({whole} {given.name}, i64 {at})")
            y = function(o, x)
            made = builder.emit(f"call {whole} @{insert}({whole} {made}, {register} {y}, i64 {at})")
    return _resized(builder, Value(made, value.dtype, padded), value.width)


def _resized(builder: Builder, value: Value, width: int) -> Value:
    """Return the first lanes of a value; those that it does not have are left open."""
    if value.width == width:
        return value
    if value.width == 1:
        whole = f"<{width} x float> poison"
        name = builder.emit(f"insertelement {whole}, {value.type} {value.name}, i64 0")
    elif width == 1:
        name = builder.emit(f"extractelement {value.type} {value.name}, i64 0")
    else:
        lanes = ", ".join(f"i32 {i if i < value.width else 'poison'}" for i in range(width))
        pair = f"{value.type} {value.name}, {value.type} poison"
        name = builder.emit(f"shufflevector {pair}, <{width} x i32> <{lanes}>")
    return Value(name, value.dtype, width)
