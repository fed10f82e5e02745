"""NaN, infinities, zeros and the ends of integer types: each operation means what NumPy's does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import Schedule, Target, host
from tilewright.codegen.llvm.compile import assembly
from tilewright.expr.interpret import evaluate
from tilewright.loops.interpret import interpret
from tilewright.ops.pool2d import Pool2d
from tilewright.runtime.artifact import compile_nest

Array = np.ndarray[Any, Any]
REALS = (math.nan, -math.inf, math.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 50.0, -50.0)
PAIRS = len(REALS) ** 2


def schedules(output: tw.Tensor, loop: str = "i") -> list[Schedule]:
    return [Schedule(output), Schedule(output).vectorize(loop)]


def same(got: Array, wanted: Array) -> None:
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-30)


UNARY: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x, "abs": abs, "exp": tw.exp, "log": tw.log, "sqrt": tw.sqrt,
    "tanh": tw.tanh, "sigmoid": tw.sigmoid, "erf": tw.erf, "floor": tw.floor,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "max": tw.maximum, "min": tw.minimum,
    "lt": lambda a, b: tw.select(a < b, 1.0, 0.0), "le": lambda a, b: tw.select(a <= b, 1.0, 0.0),
    "eq": lambda a, b: tw.select(tw.equal(a, b), 1.0, 0.0),
    "ne": lambda a, b: tw.select(tw.not_equal(a, b), 1.0, 0.0),
    "not lt": lambda a, b: tw.select(~(a < b), 1.0, 0.0),
    "max of a number": lambda a, b: tw.maximum(1.0, a) + tw.maximum(b, 1.0),
    "min of a number": lambda a, b: tw.minimum(1.0, a) + tw.minimum(b, 1.0),
}  # fmt: skip
REDUCE = {"sum": tw.sum, "max": tw.max, "min": tw.min, "prod": tw.prod}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", UNARY)
def test_unary(op: str, dtype: str) -> None:
    a = tw.tensor("A", (len(REALS),), dtype)
    output = tw.compute("B", a.shape, lambda i: UNARY[op](a[i]))
    given = np.array(REALS, dtype)
    wanted = evaluate(output, {"A": given})["B"]
    for schedule in schedules(output):
        same(tw.build(schedule, threads=1)(given), wanted)
        if op not in ("tanh", "sigmoid", "erf", "floor"):
            same(interpret(schedule.loops, {"A": given})["B"], wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", BINARY)
def test_binary(op: str, dtype: str) -> None:
    a, b = tw.tensor("A", (PAIRS,), dtype), tw.tensor("B", (PAIRS,), dtype)
    output = tw.compute("C", a.shape, lambda i: BINARY[op](a[i], b[i]))
    left, right = (x.ravel() for x in np.meshgrid(np.array(REALS, dtype), np.array(REALS, dtype)))
    wanted = evaluate(output, {"A": left, "B": right})["C"]
    for schedule in schedules(output):
        same(tw.build(schedule, threads=1)(left, right), wanted)
        same(interpret(schedule.loops, {"A": left, "B": right})["C"], wanted)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", REDUCE)
def test_reduction(kind: str, dtype: str) -> None:
    """Rows with NaN first, last, between, or nowhere."""
    rows = np.array(
        [np.roll([math.nan, 1.0, -3.0, 2.0, 0.5], n) for n in range(5)]
        + [[1.0, math.inf, 2.0, -1.0, 3.0], [1.0, -math.inf, 2.0, -1.0, 3.0], [-1.0] * 5], dtype,
    )  # fmt: skip
    a, k = tw.tensor("A", rows.shape, dtype), tw.reduce_axis("k", 5)
    output = tw.compute("B", (len(rows),), lambda y: REDUCE[kind](a[y, k], over=k))
    wanted = evaluate(output, {"A": rows})["B"]
    for schedule in (
        Schedule(output),
        Schedule(output).unroll("k"),
        Schedule(output).reorder("k", "y").vectorize("y"),
    ):
        same(tw.build(schedule, threads=1)(rows), wanted)
        same(interpret(schedule.loops, {"A": rows})["B"], wanted)


def test_a_pool_keeps_nan() -> None:
    pool = Pool2d("max", 1, 6, 6, 16, kernel=(3, 3), pads=(1, 1, 1, 1))
    task = tw.Task(pool, host())
    image = np.arange(6 * 6 * 16, dtype=np.float32).reshape(1, 6, 6, 16)
    image[0, 2, 3, 5] = math.nan
    wanted = evaluate(task.expression, {task.expression.inputs[0].name: image})
    got = tw.build(task.fallback(), threads=1)(image)
    assert np.isnan(got).sum() == 9
    np.testing.assert_array_equal(got, wanted[task.expression.name])


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="x86 code")
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_the_greater_of_a_number_is_one_instruction(level: str, first: bool) -> None:
    a, target = tw.tensor("A", (16,)), Target(level)
    relu = tw.compute(
        "B", (16,), lambda i: tw.maximum(0.0, a[i]) if first else tw.maximum(a[i], 0.0)
    )
    artifact = compile_nest(Schedule(relu).vectorize("i").loops, target)
    code = assembly(artifact.llvm, target).split("kernel.repeat")[0]
    assert len(re.findall(r"vmaxps", code)) == 64 // target.vector_bytes
    assert not re.findall(r"vcmp|vblend|vmovaps.*{%k", code)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "int64"])
def test_a_truth_is_what_is_not_zero(dtype: str) -> None:
    numbers: list[float] = [0, 1, 2, 3, 4, 100, 127]
    numbers += [-1, -2] if dtype != "uint8" else [255, 128]
    numbers += [0.5, -0.25, math.nan, math.inf, -0.0, 1e-45] if dtype.startswith("float") else []
    given = np.array(numbers).astype(dtype)
    a = tw.tensor("A", given.shape, dtype)
    output = tw.compute("B", given.shape, lambda i: tw.cast("bool", a[i]))
    for schedule in schedules(output):
        np.testing.assert_array_equal(tw.build(schedule, threads=1)(given), given != 0)
        np.testing.assert_array_equal(interpret(schedule.loops, {"A": given})["B"], given != 0)


def _quotient(a: int, b: int, dtype: str) -> int:
    """Divide exactly, rounding to zero; by zero is 0, and the least by -1 wraps."""
    if b == 0:
        return 0
    exact = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    info = np.iinfo(dtype)
    return (exact - int(info.min)) % (1 << info.bits) + int(info.min)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers_divide_by_anything(dtype: str) -> None:
    info = np.iinfo(dtype)
    ends = {int(info.min), int(info.min) + 1, int(info.max), int(info.max) - 1}
    numbers = sorted(ends | {n for n in range(-4, 8) if info.min <= n} | {int(info.max) // 3})
    pairs = np.array([(x, y) for x in numbers for y in numbers], dtype)
    left, right = np.ascontiguousarray(pairs.T)
    wanted = [_quotient(int(x), int(y), dtype) for x, y in pairs]
    a, b = tw.tensor("A", left.shape, dtype), tw.tensor("B", left.shape, dtype)
    output = tw.compute("C", left.shape, lambda i: a[i] / b[i])
    assert evaluate(output, {"A": left, "B": right})["C"].tolist() == wanted
    for schedule in schedules(output):
        assert tw.build(schedule, threads=1)(left, right).tolist() == wanted
        assert interpret(schedule.loops, {"A": left, "B": right})["C"].tolist() == wanted
    for by in (0, 1, 3, 7, *((-1, -3) if info.min else ())):
        _check_by(by, left, dtype)


def _check_by(by: int, left: Array, dtype: str) -> None:
    a = tw.tensor("A", left.shape, dtype)
    output = tw.compute("C", left.shape, lambda i: a[i] / by)
    wanted = [_quotient(int(x), by, dtype) for x in left]
    assert evaluate(output, {"A": left})["C"].tolist() == wanted
    for schedule in schedules(output):
        assert tw.build(schedule, threads=1)(left).tolist() == wanted
        assert interpret(schedule.loops, {"A": left})["C"].tolist() == wanted
