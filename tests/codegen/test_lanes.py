"""Vector loops that reduce: lanes end in one element, whatever is cut off, for every type."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.codegen.llvm.module import module
from tilewright.codegen.llvm.promote import promote
from tilewright.expr.interpret import evaluate
from tilewright.loops.interpret import interpret
from tilewright.loops.tidy import tidy

KINDS = {"sum": tw.sum, "max": tw.max, "min": tw.min, "prod": tw.prod}
SIZES = st.sampled_from((1, 2, 3, 15, 16, 17, 31, 33, 48, 50, 64, 77))


def rows(m: int, n: int, kind: str, dtype: str = "float32") -> tw.Tensor:
    a, k = tw.tensor("A", (m, n), dtype), tw.reduce_axis("k", n)
    return tw.compute("B", (m,), lambda y: KINDS[kind](a[y, k], over=k))


def in_lanes(output: tw.Tensor, lanes: int, tall: int) -> Schedule:
    m, n = output.shape[0], output.inputs[0].shape[1]
    s = Schedule(output).split("k", (-(-n // lanes), lanes)).split("y", (-(-m // tall), tall))
    s = s.reorder("y.0", "k.0", "y.1", "k.1").unroll("y.1").rfactor("B", "k.1")
    return s.vectorize("k.1").vectorize("B:k.1").cache_write("B", "y.0").parallel("y.0")


def check(s: Schedule, target: Target | None = None) -> None:
    shape, dtype = s.output.inputs[0].shape, s.output.dtype
    values = (-1, 0.5, 1, 2) if dtype.startswith("float") else (0, 1, 1, 1)  # that overflow nothing
    a = np.random.default_rng(0).choice(values, shape).astype(dtype)
    wanted = evaluate(s.output, {"A": a})["B"]
    np.testing.assert_array_equal(interpret(s.loops, {"A": a})["B"], wanted)
    got = tw.build(s, target)(a, out=np.full(s.output.shape, 99, dtype), threads=2)
    if dtype.startswith("float"):
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
    else:
        np.testing.assert_array_equal(got, wanted)


@settings(max_examples=60, deadline=None)
@given(
    n=SIZES,
    lanes=SIZES,
    m=st.integers(1, 5),
    tall=st.integers(1, 3),
    kind=st.sampled_from(sorted(KINDS)),
    dtype=st.sampled_from(("float32", "float64", "int32", "int64", "int8", "uint8")),
    target=st.sampled_from((None, "x86-64", "x86-64-v3")),
)
def test_lanes(
    n: int, lanes: int, m: int, tall: int, kind: str, dtype: str, target: str | None
) -> None:
    s = in_lanes(rows(m, n, kind, dtype), lanes, tall)
    check(s, Target(target) if target else None)


@settings(max_examples=30, deadline=None)
@given(n=SIZES, m=st.integers(1, 5), pad=st.integers(1, 9), kind=st.sampled_from(sorted(KINDS)))
def test_a_reduce_loop_in_vectors(n: int, m: int, pad: int, kind: str) -> None:
    """Without partial results: each round of the loops around reduces its lanes."""
    s = Schedule(rows(m, n, kind))
    check(s.pad("k", pad).vectorize("k"))
    check(s.pad("y", pad).split("k", (-(-n // 16), 16)).vectorize("k.1"))
    check(s.split("k", (-(-n // 16), 16)).vectorize("k.1").reorder("k.1", "k.0", "y"))


@pytest.mark.parametrize("n", [64, 1000, 1013])
def test_accumulators_stay_in_registers(n: int) -> None:
    s = in_lanes(rows(8, n, "sum"), 64, 2)
    assert {"B.part", "B.tile"} <= promote(tidy(s.loops))
    assert "x i8], align" not in module(s.loops, Target("x86-64-v4")).text  # no buffer on the stack


def test_not_a_number_comes_through() -> None:
    s = in_lanes(rows(2, 50, "max"), 32, 1)
    a = np.zeros((2, 50), np.float32)
    a[1, 49] = math.nan
    np.testing.assert_array_equal(tw.build(s)(a), [0, math.nan])
