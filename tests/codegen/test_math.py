"""exp, log, sin and their like as vector code: errors, edges, widths and targets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright import Schedule, Target, host
from tilewright.codegen.llvm.compile import assembly
from tilewright.codegen.llvm.math import ERROR_ULP
from tilewright.expr.interpret import evaluate
from tilewright.runtime.artifact import compile_nest

Array = np.ndarray[Any, Any]
INF, NAN = math.inf, math.nan
LEAST = 2.0**-149  # the least float32 above zero

FUNCTIONS: dict[str, Callable[[tw.Tensor, tw.Axis], Any]] = {
    "exp": lambda x, i: tw.exp(x[i]),
    "log": lambda x, i: tw.log(x[i]),
    "tanh": lambda x, i: tw.tanh(x[i]),
    "sigmoid": lambda x, i: tw.sigmoid(x[i]),
    "erf": lambda x, i: tw.erf(x[i]),
    "log1p": lambda x, i: tw.log1p(x[i]),
    "sin": lambda x, i: tw.sin(x[i]),
    "cos": lambda x, i: tw.cos(x[i]),
    "tan": lambda x, i: tw.tan(x[i]),
}
ANGULAR = ("sin", "cos", "tan")
LEVELS = [
    pytest.param(
        level,
        marks=pytest.mark.skipif(
            not host().triple.startswith("x86_64") or Target(level).vector_bytes > lanes,
            reason=f"this machine does not run {level}",
        ),
    )
    for lanes in (host().vector_bytes,)
    for level in ("x86-64", "x86-64-v3", "x86-64-v4")
]


def _sigmoid(x: Array) -> Array:
    """The logistic function, accurate relative to itself where it is small."""
    z = np.exp(-np.abs(x))
    return np.where(x < 0, z, 1.0) / (1.0 + z)


EXACT: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
}


def vectorized(op: str, size: int, dtype: str = "float32") -> Schedule:
    x = tw.tensor("X", (size,), dtype)
    y = tw.compute("Y", (size,), lambda i: FUNCTIONS[op](x, i))
    if size <= 64:
        return Schedule(y).vectorize("i")
    return Schedule(y).split("i", (size // 64, 64)).vectorize("i.1")


@cache
def kernel(op: str, size: int, level: str | None, dtype: str = "float32") -> tw.Kernel:
    return tw.build(vectorized(op, size, dtype), Target(level) if level else None, threads=1)


def ulps(op: str, x: Array, got: Array) -> Array:
    """Return the error of each element in units in the last place; inf where only NaN or inf is."""
    with np.errstate(all="ignore"):  # signalling NaNs too
        return ulps_from(EXACT[op](x.astype(np.float64)), got.astype(np.float64))


def ulps_from(exact: Array, got: Array) -> Array:
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
    edge = ~np.isfinite(rounded) | ~np.isfinite(got)
    unit = np.ldexp(1.0, np.maximum(np.frexp(np.where(edge, 1.0, exact))[1] - 24, -149))
    error = np.abs(np.where(edge, 0.0, got) - np.where(edge, 0.0, exact)) / unit
    same = (rounded == got) | (np.isnan(rounded) & np.isnan(got))
    return np.where(edge, np.where(same, 0.0, INF), error)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_errors_over_all_floats_are_as_stated(op: str, level: str) -> None:
    size = 1 << 18
    bits = np.arange(size, dtype=np.uint64) * 16381 % (1 << 32)  # every exponent, and both signs
    dense = np.linspace(-20, 20, size, dtype=np.float32)
    for x in (bits.astype(np.uint32).view(np.float32), dense):
        check(op, level, x)


def check(op: str, level: str | None, x: Array) -> None:
    error = ulps(op, x, kernel(op, len(x), level)(x))
    worst = int(error.argmax())
    assert error[worst] <= ERROR_ULP[op], f"{op}({x[worst]!r}) is {error[worst]} ulp wrong"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", ANGULAR)
def test_angles_near_quarters_of_a_circle_and_far_from_zero(op: str, level: str) -> None:
    size = 1 << 16
    check(op, level, (np.arange(size) * (math.pi / 2)).astype(np.float32))
    check(op, level, np.linspace(-(2.0**20), 2.0**20, size).astype(np.float32))
    edge = np.full(size, np.float32(2.0**20))
    edge[1::2] = np.nextafter(edge[1::2], np.float32(INF))
    edge[3::64] = INF
    check(op, level, edge)
    with np.errstate(invalid="ignore"):  # no lane is another for one that libm is asked about
        alone = kernel(op, size, level)(np.where(edge > 2.0**20, np.float32(0), edge))
    near = edge <= 2.0**20
    assert np.array_equal(kernel(op, size, level)(edge)[near], alone[near])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("scale", [0.5**0.5, 1e-3, 0.3, 0.909, 1.05, math.pi, 1000.0, 2.0**24])
def test_errors_of_erf_of_a_multiple_are_as_stated(scale: float, level: str) -> None:
    size = 1 << 16
    x = tw.tensor("X", (size,))
    schedule = Schedule(tw.compute("Y", (size,), lambda i: tw.erf(x[i] * scale)))
    made = tw.build(schedule.split("i", (size // 64, 64)).vectorize("i.1"), Target(level))
    small = np.geomspace(1e-5, 0.2, size // 2)
    for sign in 1, -1:
        numbers = np.concatenate([small, np.linspace(0.1, 5, size // 2)]) * sign / scale
        given = numbers.astype(np.float32)
        exact = EXACT["erf"](given.astype(np.float64) * scale)
        got = made(given)
        error = np.abs(got - exact) / np.ldexp(1.0, np.frexp(exact)[1] - 24)
        assert error.max() <= ERROR_ULP["scaled erf"], given[error.argmax()]
        assert np.all(got[-1:] == sign)


GELU: dict[str, Callable[[Any], Any]] = {
    "half first": lambda x: x * 0.5 * (1.0 + tw.erf(x * 0.5**0.5)),
    "half last": lambda x: (x * (tw.erf(x / 2.0**0.5) + 1.0)) * 0.5,
    "half in the share": lambda x: x * ((tw.erf(x * 0.5**0.5) + 1.0) * 0.5),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("form", GELU)
def test_errors_of_gelu_are_as_stated(form: str, level: str) -> None:
    size = 1 << 16
    x = tw.tensor("X", (size,))
    schedule = Schedule(tw.compute("Y", (size,), lambda i: GELU[form](x[i])))
    made = tw.build(schedule.split("i", (size // 64, 64)).vectorize("i.1"), Target(level))
    given = np.concatenate([np.linspace(-9, 9, size - 8192), np.geomspace(1e-30, 1e30, 8192)])
    for sign in 1, -1:
        numbers = (given * sign).astype(np.float32)
        half = numbers.astype(np.float64) / 2
        exact = half * np.vectorize(math.erfc)(-half * 2.0**0.5)
        got = made(numbers)
        unit = np.ldexp(1.0, np.frexp(half)[1] - 24)
        assert np.all(np.abs(got - exact) <= ERROR_ULP["gelu"] * unit)
        assert not np.any(got[numbers < -6])


def products(a: Any, b: Any) -> dict[str, Any]:
    return {
        "odd": a * tw.erf(a),
        "odd of multiples": tw.erf(a * 3.0) * (2.0 * a),
        "one added": (tw.erf(a / 4.0) + 1.0) * a,
        "of the other sign": a * tw.erf(a * -0.5),
        "of the other sign, one added": (a * -2.0) * (tw.erf(a) + 1.0),
        "of two values": b * (tw.erf(a * 0.5) + 1.0),
        "two added": a * (tw.erf(b) + 2.0),
        "of a great multiple": a * (tw.erf(a * 1e30) + 1.0),
    }


@pytest.mark.parametrize("width", [1, 5, 16, 37])
@pytest.mark.parametrize("form", products(tw.cast("float32", 1.0), tw.cast("float32", 1.0)))
def test_products_with_erf(form: str, width: int) -> None:
    """Those of one sign have none to put back, those of two keep it; so do infinities and NaN."""
    x, y = tw.tensor("X", (width,)), tw.tensor("Y", (width,))
    made = tw.compute("Z", (width,), lambda i: products(x[i], y[i])[form])
    edges = [INF, -INF, NAN, 0.0, -0.0, 1e38, -1e38, LEAST, 1.0, -1.0]
    given = np.resize(np.array(edges, np.float32), width)
    other = np.random.default_rng(width).normal(0, 2, width).astype(np.float32)
    for first, second in (given, other), (other, given):
        arrays = [first if t.name == "X" else second for t in made.inputs]
        with np.errstate(all="ignore"):
            named = {t.name: array for t, array in zip(made.inputs, arrays, strict=True)}
            wanted = evaluate(made, named)["Z"].astype(np.float32)
            got = tw.build(Schedule(made).vectorize("i"))(*arrays)
            near = np.abs(got - wanted) <= 1e-6 * (1 + sum(map(np.abs, arrays)))
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        assert np.all(same | near), (arrays, got, wanted)


SIZE = 21
FLOATS = st.lists(st.floats(width=32), min_size=SIZE, max_size=SIZE)
SMALL = st.lists(st.floats(-12, 12, width=32), min_size=SIZE, max_size=SIZE)


@pytest.mark.parametrize("op", FUNCTIONS)
@settings(deadline=None)  # the first builds a kernel
@given(values=FLOATS | SMALL)
def test_any_float(op: str, values: list[float]) -> None:
    x = np.array(values, np.float32)
    got = kernel(op, SIZE, None)(x)
    assert np.all(ulps(op, x, got) <= ERROR_ULP[op]), (x, got)


SPECIAL: dict[str, list[tuple[float, float]]] = {  # -0.0 and 0.0 would be one key
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (88.72284, INF), (3e38, INF),
            (-104.0, 0.0), (-103.9, LEAST), (-3e38, 0.0), (LEAST, 1.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (INF, INF), (-INF, NAN), (-1.0, NAN), (-LEAST, NAN),
            (1.0, 0.0)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (9.1, 1.0), (-3e38, -1.0),
             (LEAST, LEAST), (-1e-30, -1e-30), (1e-5, 1e-5)],
    "sigmoid": [(0.0, 0.5), (-0.0, 0.5), (INF, 1.0), (-INF, 0.0), (3e38, 1.0), (-3e38, 0.0),
                (-103.9, LEAST)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (4.0, 1.0), (-3e38, -1.0),
            (LEAST, LEAST)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, NAN), (-1.0, -INF), (-1.5, NAN),
              (LEAST, LEAST), (-1e-30, -1e-30), (3e-8, 3e-8)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (LEAST, LEAST), (-1e-30, -1e-30)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (LEAST, 1.0)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (-LEAST, -LEAST), (1e-30, 1e-30)],
}  # fmt: skip


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_edges(op: str, level: str) -> None:
    x, wanted = np.array([*SPECIAL[op], (NAN, NAN)], np.float32).T
    got = kernel(op, len(x), level)(x)
    np.testing.assert_array_equal(got, wanted)
    zeros = wanted == 0
    assert np.array_equal(np.signbit(got)[zeros], np.signbit(wanted)[zeros])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", ["tanh", "sigmoid", "erf"])
def test_stays_within_its_bounds(op: str, level: str) -> None:
    x = np.linspace(-110, 110, 1 << 14, dtype=np.float32)
    got = kernel(op, 1 << 14, level)(x)
    assert got.min() >= -1
    assert got.max() == 1
    if op != "sigmoid":
        assert np.array_equal(got, -kernel(op, 1 << 14, level)(-x))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 11, 16, 29])
def test_every_width_computes_the_same(size: int, level: str) -> None:
    whole = np.random.default_rng(size).normal(0, 3, 64).astype(np.float32)
    for op in FUNCTIONS:
        got = kernel(op, size, level)(whole[:size])
        np.testing.assert_array_equal(got, kernel(op, 64, level)(whole)[:size])


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_calls_nothing(op: str, level: str) -> None:
    target = Target(level)
    text = compile_nest(vectorized(op, 37).loops, target).llvm
    called = re.findall(r"^\s+call\w*\s+(\w+)", assembly(text, target), re.MULTILINE)
    far = {"tilewright", f"{op}f"} if op in ANGULAR else set[str]()  # of what is far from zero
    assert set(called) == {"kernel"} | far  # its parts; nothing else of libm


def test_lanes_that_are_evaluated_one_by_one() -> None:
    x = tw.tensor("X", (21,))
    value = lambda i: tw.select((i >= 3) & (x[i - 3] < 0.5), tw.exp(x[i - 3]), tw.erf(x[i]))  # noqa: E731
    given = np.linspace(-2, 2, 21, dtype=np.float32)
    shifted = np.concatenate([np.full(3, np.inf, np.float32), given[:-3]])
    wanted = np.where(shifted < 0.5, np.exp(shifted), EXACT["erf"](given))
    got = tw.build(Schedule(tw.compute("Y", (21,), value)).vectorize("i"))(given)
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_functions_of_numbers_and_of_tiles_in_registers() -> None:
    x, k = tw.tensor("X", (4, 24, 3)), tw.reduce_axis("k", 3)
    total = tw.compute("T", (4, 24), lambda y, i: tw.sum(x[y, i, k], over=k))
    gelu = tw.compute("Y", (4, 24), lambda y, i: total[y, i] * tw.exp(-1.0) * tw.erf(total[y, i]))
    made = Schedule(gelu).split("i", (3, 8)).reorder("y", "i.0", "k", "i.1").vectorize("i.1")
    made = made.cache_write("T", "i.0").fuse_at("Y", "i.0")
    given = np.random.default_rng(0).normal(0, 1, (4, 24, 3)).astype(np.float32)
    summed = given.astype(np.float64).sum(2)
    wanted = summed * math.exp(-1) * EXACT["erf"](summed)
    np.testing.assert_allclose(tw.build(made)(given), wanted, rtol=2e-5, atol=1e-6)


def test_lanes_of_another_type() -> None:
    x = tw.tensor("X", (37,), "int8")
    y = tw.compute("Y", (37,), lambda i: tw.tanh(tw.cast("float32", x[i]) * 0.125))
    wide = tw.compute("Z", (37,), lambda i: tw.cast("float64", y[i]))
    given = np.arange(37, dtype=np.int8) - 18
    got = tw.build(Schedule(wide).inline("Y").vectorize("Z:i"))(given)
    np.testing.assert_allclose(got, np.tanh(given * 0.125), rtol=4e-7)


@pytest.mark.parametrize("size", [1, 7, 8, 19])
@pytest.mark.parametrize("op", FUNCTIONS)
def test_float64_is_as_good_as_libm(op: str, size: int) -> None:
    x = np.abs(np.random.default_rng(size).normal(0, 3, size)) * (1 if op[:3] == "log" else -1)
    np.testing.assert_allclose(kernel(op, size, None, "float64")(x), EXACT[op](x), rtol=4e-15)


def raised(size: int, level: str | None) -> tw.Kernel:
    x, y = tw.tensor("X", (size,)), tw.tensor("Y", (size,))
    made = Schedule(tw.compute("Z", (size,), lambda i: tw.power(x[i], y[i])))
    made = made.vectorize("i") if size <= 64 else made.split("i", (size // 64, 64))
    return tw.build(made if size <= 64 else made.vectorize("i.1"), Target(level) if level else None)


def check_power(made: tw.Kernel, x: Array, y: Array) -> None:
    with np.errstate(all="ignore"):
        exact, got = np.power(x.astype(np.float64), y.astype(np.float64)), made(x, y)
    error = ulps_from(exact, got)
    worst = int(error.argmax())
    assert error[worst] <= ERROR_ULP["pow"], (x[worst], y[worst], got[worst], exact[worst])
    zeros = exact == 0
    assert np.array_equal(np.signbit(got)[zeros], np.signbit(exact)[zeros])


@pytest.mark.parametrize("level", LEVELS)
def test_errors_of_powers_are_as_stated(level: str) -> None:
    size, rng = 1 << 16, np.random.default_rng(0)
    made = raised(size, level)
    bits = (np.arange(size, dtype=np.uint64) * 65521 % (1 << 32)).astype(np.uint32)
    any_, some = bits.view(np.float32), rng.normal(0, 8, size)
    base = np.exp(rng.normal(0, 3, size))
    for x, y in (
        (base, some),
        (any_, some),
        (any_, rng.permutation(any_)),
        (any_, np.rint(some)),
        (-base, np.rint(some)),
        (1 + rng.normal(0, 1e-4, size), rng.normal(0, 3e5, size)),
        (-base, rng.choice([2.0**24 - 1, 2.0**24, -(2.0**24) + 1, 2.0**25, 1e30, 0.5], size)),
        (-1 + rng.choice([0, 2.0**-24, -(2.0**-23)], size), rng.integers(-(2**24), 2**24, size)),
    ):
        check_power(made, np.asarray(x, np.float32), np.asarray(y, np.float32))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [1, 5, 16, 37])
def test_powers_of_edges(size: int, level: str) -> None:
    ends = [0.0, 1.0, 0.5, 2.0, 3.0, 1.5, INF, LEAST, 3e38, 2.0**24 - 1, 2.0**24, 2.0**24 + 2]
    each = np.array([NAN, *ends, *(-x for x in ends)], np.float32)
    x, y = (np.ravel(side) for side in np.meshgrid(each, each))
    made = raised(size, level)
    for first in range(0, len(x), size):
        at = np.arange(first, first + size) % len(x)
        check_power(made, x[at], y[at])


@settings(deadline=None)
@given(x=FLOATS | SMALL, y=FLOATS | SMALL)
def test_any_power(x: list[float], y: list[float]) -> None:
    check_power(raised_once(), np.array(x, np.float32), np.array(y, np.float32))


@cache
def raised_once() -> tw.Kernel:
    return raised(SIZE, None)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_powers_call_nothing(level: str) -> None:
    x, target = tw.tensor("X", (37,)), Target(level)
    made = Schedule(tw.compute("Y", (37,), lambda i: tw.power(x[i], 0.75))).vectorize("i")
    text = assembly(compile_nest(made.loops, target).llvm, target)
    assert set(re.findall(r"^\s+call\w*\s+(\w+)", text, re.MULTILINE)) == {"kernel"}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("size", [1, 2, 5, 16, 67])
def test_integer_abs(dtype: str, size: int) -> None:
    x = tw.tensor("X", (size,), dtype)
    made = tw.build(Schedule(tw.compute("Y", (size,), lambda i: abs(x[i]))).vectorize("i"))
    info = np.iinfo(dtype)
    given = np.resize(
        np.array([info.min, info.min + 1, info.max, 0, 1, -1 % info.max], dtype), size
    )
    np.testing.assert_array_equal(made(given), np.abs(given))  # the least stays as it is, there too
