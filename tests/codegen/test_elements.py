"""Operators on single elements: NumPy, the interpreted nest and compiled code say the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import Schedule, Target, dtypes, host
from tilewright.expr.interpret import evaluate
from tilewright.loops.interpret import interpret

Array = np.ndarray[Any, Any]
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
UNSIGNED = tuple(dtype for dtype in INTEGERS if dtype[0] == "u")
FLOATS = ("float32", "float64")
EVERY = (*INTEGERS, *FLOATS, "float16", "bfloat16", "bool")
X86 = host().triple.startswith("x86_64")
LEVELS = [None, *(["x86-64", "x86-64-v3"] if X86 and host().vector_bytes >= 32 else [])]
INF, NAN = math.inf, math.nan
REALS = (
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1e-3, 1e-40, -1e-40, 1e-45, 3.0, -7.25,
    20.0, -50.0, 88.0, 100.5, 1e4, 123456.789, 1e10, -1e30, 3e38, INF, -INF, NAN, 0.999, -0.999,
    math.pi, math.pi / 2, -math.pi, 8388609.0, 0.1, 1 - 2**-24,
)  # fmt: skip
FEW = (0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.0, -2.5, 3.0, -7.0, 1e-3, 1e-40, 20.0, 100.5, -1e3)

UNARY: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "ceil": (tw.ceil, np.ceil), "trunc": (tw.trunc, np.trunc), "sign": (tw.sign, np.sign),
    "rint": (tw.rint, np.rint), "log1p": (tw.log1p, np.log1p),
    "sin": (tw.sin, np.sin), "cos": (tw.cos, np.cos), "tan": (tw.tan, np.tan),
    "asin": (tw.asin, np.arcsin), "acos": (tw.acos, np.arccos), "atan": (tw.atan, np.arctan),
    "sinh": (tw.sinh, np.sinh), "cosh": (tw.cosh, np.cosh),
    "asinh": (tw.asinh, np.arcsinh), "acosh": (tw.acosh, np.arccosh),
    "atanh": (tw.atanh, np.arctanh), "reciprocal": (lambda x: 1 / x, np.reciprocal),
}  # fmt: skip
TESTS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "isnan": (tw.isnan, np.isnan), "isinf": (tw.isinf, np.isinf),
    "finite": (lambda x: ~(tw.isnan(x) | tw.isinf(x)), np.isfinite),
}  # fmt: skip


def computed(value: Callable[..., Any], *arrays: Array, interpreted: bool = True) -> list[Array]:
    """Return what an expression of elements is, by the three ways there are, in vectors and not."""
    inputs = [
        tw.tensor(name, a.shape, a.dtype.name) for name, a in zip("ABC", arrays, strict=False)
    ]
    output = tw.compute("out", arrays[0].shape, lambda i: value(*(x[i] for x in inputs)))
    given = {x.name: a for x, a in zip(inputs, arrays, strict=True)}
    arrays = tuple(given[x.name] for x in output.inputs)
    plain, vector = Schedule(output), Schedule(output).vectorize("i")
    with np.errstate(all="ignore"):
        made = [evaluate(output, given)["out"]]
    made += [interpret(plain.loops, given)["out"]] if interpreted else []
    made += [tw.build(plain, threads=1)(*arrays)]
    levels = [Target(level) if level else host() for level in LEVELS]
    return made + [tw.build(vector, level, threads=1)(*arrays) for level in levels]


def near(got: Array, wanted: Array, dtype: str, ulps: float) -> None:
    """Compare with what float64 gives, rounded; signs of zeros too."""
    eps, limit, tiny = dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        rounded = wanted.astype(dtypes.numpy(dtype)).astype(np.float64)
    got = got.astype(np.float64)
    got = np.where(np.abs(got) > limit, np.copysign(INF, got), got)
    least = tiny if dtype == "bfloat16" else tiny * eps  # AVX512-BF16 makes zeros of subnormals
    unit = np.maximum(np.abs(rounded) * eps, least)
    with np.errstate(invalid="ignore"):
        close = np.abs(got - rounded) <= ulps * unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded)) | close
    assert np.all(same), np.column_stack([got, rounded])[~same]


@pytest.mark.parametrize("dtype", [*FLOATS, "float16", "bfloat16"])
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_floats(op: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array(REALS).astype(dtypes.numpy(dtype))
        ours, numpys = UNARY[op]
        wanted = numpys(x.astype(np.float64))
    for got in computed(ours, x):
        near(got, wanted, dtype, 4 if op not in ("ceil", "trunc", "sign", "rint") else 0)


@pytest.mark.parametrize("dtype", [*FLOATS, "float16", "bfloat16"])
@pytest.mark.parametrize("op", TESTS)
def test_tests_of_floats(op: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array(REALS).astype(dtypes.numpy(dtype))
    ours, numpys = TESTS[op]
    for got in computed(ours, x):
        assert np.array_equal(got, numpys(x))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("op", ["sin", "cos", "tan", "asinh", "log1p", "atan", "sinh"])
def test_functions_of_many_floats(op: str, level: str | None) -> None:
    size = 1 << 14
    with np.errstate(all="ignore"):
        bits = np.arange(size, dtype=np.uint64) * 262147 % (1 << 32)
        x = bits.astype(np.uint32).view(np.float32)
        ours, numpys = UNARY[op]
        wanted = numpys(x.astype(np.float64))
    a = tw.tensor("A", (size,))
    output = tw.compute("out", (size,), lambda i: ours(a[i]))
    s = Schedule(output).split("i", (size // 16, 16)).vectorize("i.1")
    near(tw.build(s, Target(level) if level else None, threads=1)(x), wanted, "float32", 3)


def pairs(values: Any, dtype: str) -> tuple[Array, Array]:
    with np.errstate(all="ignore"):
        each = np.asarray(values).astype(dtypes.numpy(dtype))
    left, right = np.meshgrid(each, each)
    return left.ravel(), right.ravel()


@pytest.mark.parametrize("dtype", [*FLOATS, "float16"])
@pytest.mark.parametrize("op", ["pow", "mod", "fmod"])
def test_two_floats(op: str, dtype: str) -> None:
    ours = {"pow": tw.power, "mod": tw.mod, "fmod": tw.fmod}[op]
    numpys: Any = {"pow": np.power, "mod": np.mod, "fmod": np.fmod}[op]
    a, b = pairs((*FEW, INF, -INF, NAN), dtype)
    with np.errstate(all="ignore"):
        wanted = numpys(a.astype(np.float64), b.astype(np.float64))
    for got in computed(ours, a, b, interpreted=dtype == "float64"):
        near(got, wanted, dtype, 3)


def ends(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    numbers = {low, low + 1, high, high - 1, high // 3, 100, *range(-4 if low else 0, 9)}
    return sorted(numbers | ({-100, -7} if low else set()))


def wrapped(number: int, dtype: str) -> int:
    info = np.iinfo(dtype)
    return (number - int(info.min)) % (1 << info.bits) + int(info.min)


def _power(a: int, n: int) -> int:
    if n >= 0:
        return pow(a, n, 1 << 64)
    return a ** (n % 2) if abs(a) == 1 else 0


def _shifted(a: int, n: int, bits: int) -> int:
    return a << n if 0 <= n < bits else 0


def _down(a: int, n: int, bits: int) -> int:
    return a >> (n if 0 <= n < bits else bits - 1 if a < 0 else bits)


BITS = Callable[[int, int, int], int]
WHOLE: dict[str, tuple[Callable[[Any, Any], Any], BITS]] = {
    "add": (lambda a, b: a + b, lambda a, b, _: a + b),
    "sub": (lambda a, b: a - b, lambda a, b, _: a - b),
    "mul": (lambda a, b: a * b, lambda a, b, _: a * b),
    "div": (lambda a, b: a / b,
            lambda a, b, _: 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)),
    "mod": (tw.mod, lambda a, b, _: a % b if b else 0),
    "fmod": (tw.fmod, lambda a, b, _: 0 if b == 0 else abs(a) % abs(b) * (-1 if a < 0 else 1)),
    "pow": (tw.power, lambda a, b, _: _power(a, b)),
    "max": (tw.maximum, lambda a, b, _: max(a, b)),
    "min": (tw.minimum, lambda a, b, _: min(a, b)),
    "and": (tw.bitwise_and, lambda a, b, _: a & b),
    "or": (tw.bitwise_or, lambda a, b, _: a | b),
    "xor": (tw.bitwise_xor, lambda a, b, _: a ^ b),
    "shl": (tw.left_shift, _shifted),
    "shr": (tw.right_shift, _down),
    "not": (lambda a, _: tw.bitwise_not(a), lambda a, *_: ~a),
    "neg": (lambda a, _: -a, lambda a, *_: -a),
    "abs": (lambda a, _: abs(a), lambda a, *_: abs(a)),
    "sign": (lambda a, _: tw.sign(a), lambda a, *_: (a > 0) - (a < 0)),
    "lt": (lambda a, b: tw.select(a < b, 1, 0), lambda a, b, _: int(a < b)),
    "le": (lambda a, b: tw.select(a <= b, 1, 0), lambda a, b, _: int(a <= b)),
    "eq": (lambda a, b: tw.select(tw.equal(a, b), 1, 0), lambda a, b, _: int(a == b)),
    "ne": (lambda a, b: tw.select(tw.not_equal(a, b), a, b), lambda a, *_: a),
    "clip": (lambda a, b: tw.minimum(tw.maximum(a, 3), b), lambda a, b, _: min(max(a, 3), b)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", WHOLE)
def test_two_integers(op: str, dtype: str) -> None:
    ours, pythons = WHOLE[op]
    a, b = pairs(np.array(ends(dtype), object), dtype)
    bits = np.iinfo(dtype).bits
    each = zip(a.tolist(), b.tolist(), strict=True)
    wanted = np.array([wrapped(pythons(x, y, bits), dtype) for x, y in each], dtype)
    for got in computed(ours, a, b):
        assert np.array_equal(got, wanted), np.column_stack([a, b, got, wanted])[got != wanted]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("by", [0, 1, 3, 7, 200])
def test_by_a_number(by: int, dtype: str) -> None:
    if by > np.iinfo(dtype).max:
        by = -1
    a, bits = np.array(ends(dtype), dtype), np.iinfo(dtype).bits
    for op in ("div", "mod", "fmod", "shl", "shr", "pow"):
        ours, pythons = WHOLE[op]
        wanted = [wrapped(pythons(int(x), by, bits), dtype) for x in a]
        for got in computed(lambda x, ours=ours: ours(x, by), a):
            assert got.tolist() == wanted, op


@pytest.mark.parametrize("new", EVERY)
@pytest.mark.parametrize("old", EVERY)
def test_casts(old: str, new: str) -> None:
    """Integers wrap; floats are whole numbers, and ones that the other type holds."""
    into = dtypes.numpy(new)
    numbers: list[float] = [0, 1, 2, 3, 17, 99, 127]
    if old in INTEGERS:
        numbers = [n for n in ends(old) if new != "float16" or abs(n) < 1 << 15]
    elif dtypes.is_float(old):
        numbers += [0.5, 1.75] + ([-0.5, -3.0] if new not in (*UNSIGNED, "bool") else [])
        numbers += [float(min(np.iinfo(new).max, 2**63) // 2)] if new in INTEGERS else []
        numbers = [n for n in numbers if n < dtypes.finfo(old)[1]]
    given = np.array(numbers, object if old in INTEGERS else None).astype(dtypes.numpy(old))
    wanted = given.astype(into)
    for got in computed(lambda x: tw.cast(new, x), given):
        assert np.array_equal(got.astype(into), wanted), (given, got, wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("old", ["uint16", "uint32", "uint64", "int16", "int64"])
def test_integers_are_rounded_once(old: str, dtype: str) -> None:
    info, rng = np.iinfo(old), np.random.default_rng(0)
    given = rng.integers(info.min, info.max, 257, dtype=old, endpoint=True)
    given[:2] = info.min, info.max
    _, *compiled = computed(lambda x: tw.cast(dtype, x), given, interpreted=False)
    for got in compiled:
        assert np.array_equal(got, given.astype(dtype))


@pytest.mark.parametrize("dtype", EVERY)
def test_choices(dtype: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 2, 37).astype(dtypes.numpy(dtype)) for _ in range(2))
    c = rng.integers(0, 2, 37).astype(bool)
    for got in computed(lambda x, y, z: tw.select(z, x, y), a, b, c):
        assert np.array_equal(got, np.where(c, a, b))
    for got in computed(lambda x, y: tw.equal(x, y), a, b):
        assert np.array_equal(got, a == b)


def test_conditions_of_conditions() -> None:
    a, b = pairs([False, True, True], "bool")
    for got in computed(tw.not_equal, a, b):  # exclusive or
        assert np.array_equal(got, a ^ b)
    for got in computed(lambda x, y: (x & ~y) | tw.equal(x, y), a, b):
        assert np.array_equal(got, (a & ~b) | (a == b))


REDUCE: dict[str, tuple[Callable[..., Any], Any]] = {
    "sum": (tw.sum, np.sum), "max": (tw.max, np.max), "min": (tw.min, np.min),
    "prod": (tw.prod, np.prod),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
@pytest.mark.parametrize("kind", REDUCE)
def test_reductions(kind: str, dtype: str) -> None:
    ours, numpys = REDUCE[kind]
    a, k = tw.tensor("A", (9, 7), dtype), tw.reduce_axis("k", 7)
    output = tw.compute("out", (9,), lambda y: ours(a[y, k], over=k))
    rng = np.random.default_rng(0)
    given = rng.integers(1, 5, (9, 7)).astype(dtype)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        given = rng.integers(info.min, info.max, (9, 7), dtype=dtype, endpoint=True)
    wanted = (
        numpys(given, axis=1, dtype=dtype) if kind in ("sum", "prod") else numpys(given, axis=1)
    )
    schedules = [Schedule(output), Schedule(output).reorder("k", "y").vectorize("y")]
    schedules += [Schedule(output).vectorize("k")] if dtype != "float64" else []
    assert np.allclose(evaluate(output, {"A": given})["out"], wanted)
    for s in schedules:
        assert np.allclose(interpret(s.loops, {"A": given})["out"], wanted, rtol=1e-6)
        assert np.allclose(tw.build(s, threads=1)(given), wanted, rtol=1e-6)


@pytest.mark.parametrize("kind", ["any", "all"])
def test_any_and_all(kind: str) -> None:
    a, k = tw.tensor("A", (9, 3), "bool"), tw.reduce_axis("k", 3)
    ours = tw.max if kind == "any" else tw.min
    found = tw.compute("found", (9,), lambda y: ours(tw.cast("uint8", a[y, k]), over=k))
    output = tw.compute("out", (9,), lambda y: tw.cast("bool", found[y]))
    given = np.random.default_rng(0).integers(0, 2, (9, 3)).astype(bool)
    wanted = given.any(1) if kind == "any" else given.all(1)
    assert np.array_equal(evaluate(output, {"A": given})["out"], wanted)
    assert np.array_equal(tw.build(output, threads=1)(given), wanted)


@pytest.mark.parametrize("dtype", [*INTEGERS])
def test_indices_of_any_integer(dtype: str) -> None:
    x, at = tw.tensor("X", (11,)), tw.tensor("I", (37,), dtype)
    output = tw.compute("out", (37,), lambda i: x[at[i]])
    given = np.resize(np.array(ends(dtype), dtype), 37)
    numbers = np.arange(11, dtype=np.float32)
    wanted = evaluate(output, {"X": numbers, "I": given})["out"]
    for s in Schedule(output), Schedule(output).vectorize("i"):
        arrays = [given if t.name == "I" else numbers for t in output.inputs]
        assert np.array_equal(tw.build(s, threads=1)(*arrays), wanted)
        assert np.array_equal(interpret(s.loops, {"X": numbers, "I": given})["out"], wanted)


def test_functions_of_lanes_one_by_one() -> None:
    """A power of integers is a loop of its own; so is what a lane may not load."""
    a = tw.tensor("A", (21,), "int32")
    value = lambda i: tw.select((i >= 3) & (a[i - 3] < 5), tw.power(a[i - 3], a[i]), a[i] % 3)  # noqa: E731
    output = tw.compute("out", (21,), value)
    given = np.arange(21, dtype=np.int32)
    wanted = evaluate(output, {"A": given})["out"]
    assert np.array_equal(tw.build(Schedule(output).vectorize("i"), threads=1)(given), wanted)


def test_two_powers_in_one_kernel() -> None:
    a, b = tw.tensor("A", (9,), "uint8"), tw.tensor("B", (9,), "int64")
    powers = lambda i: tw.power(tw.cast("int64", tw.power(a[i], a[i])), b[i]) + tw.power(b[i], 11)  # noqa: E731
    output = tw.compute("out", (9,), powers)
    x, y = np.arange(9, dtype=np.uint8), np.arange(9, dtype=np.int64)
    wanted = np.power(np.power(x, x).astype(np.int64), y) + y**11
    assert np.array_equal(tw.build(Schedule(output).vectorize("i"), threads=1)(x, y), wanted)
