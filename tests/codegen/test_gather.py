"""Code for indices that are data: right for any integer, and no more work than it needs."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.differential import run_compiled

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.expr.interpret import evaluate
from tilewright.ops.gather import Gather, GatherElements

WILD = (0, 1, -1, 6, 7, -7, -8, 100, -100, 127, -128)
TYPES = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool")


def table(rows: int, columns: int, dtype: str = "float32", index: str = "int64") -> Schedule:
    x, ids = tw.tensor("X", (rows, columns), dtype), tw.tensor("I", (11,), index)
    return Schedule(tw.compute("R", (11, columns), lambda i, j: x[ids[i], j]))


def check(s: Schedule, target: Target | None = None) -> None:
    """Run on arrays between guard pages, with indices that are far outside."""
    rng, info = np.random.default_rng(0), np.iinfo(s.output.inputs[1].dtype)
    x, ids = s.output.inputs
    ends = (info.min, info.max, *(n for n in WILD if info.min <= n <= info.max))
    arrays = {
        "X": (rng.standard_normal(x.shape) * 9).astype(np.float32).astype(tw.dtypes.numpy(x.dtype)),
        "I": rng.choice(ends, ids.shape).astype(ids.dtype),
    }
    wanted = evaluate(s.output, arrays)[s.output.name]
    run_compiled(s, arrays, target, lambda got: np.array_equal(got, wanted))


@pytest.mark.parametrize("index", ["int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize("dtype", TYPES)
def test_rows_and_lanes_of_any_type(dtype: str, index: str):
    s = table(7, 37, dtype, index)
    check(s.split("j", (3, 16)).vectorize("j.1"))
    check(s.split("i", (2, 8)).reorder("i.0", "j", "i.1").vectorize("i.1"))
    check(s.vectorize("i"))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from((1, 2, 3, 7, 13, 64)),
    st.sampled_from((1, 2, 3, 7, 16, 17, 33)),
    st.sampled_from(("x86-64", "x86-64-v2", "x86-64-v3", "")),
    st.sampled_from(("rows", "columns", "both", "neither")),
)
def test_shapes_that_do_not_divide(rows: int, columns: int, target: str, form: str):
    s = table(rows, columns)
    if form in ("rows", "both"):
        s = s.split("i", (3, 4)).unroll("i.1")
    if form in ("columns", "both"):
        s = s.split("j", (-(-columns // 8), 8)).vectorize("j.1")
    check(s, Target(target) if target else None)


def test_several_indices_of_one_load():
    x, ids = tw.tensor("X", (5, 3, 6)), tw.tensor("I", (17,), "int32")
    both = tw.compute("R", (17,), lambda i: x[ids[i], 1, ids[16 - i] + 2])
    check(Schedule(both).vectorize("i"))


def test_a_row_is_copied_in_whole_vectors():
    target = Target("x86-64-v3")
    kernel = tw.build(table(7, 64).split("j", (8, 8)).vectorize("j.1"), target)
    assert "load <8 x float>" in kernel.llvm
    assert "gather" not in kernel.llvm


def test_lanes_that_lie_apart_are_gathered():
    target = Target("x86-64-v3")
    s = Schedule(Gather((13,), (64,)).expression()).split("i", (8, 8)).vectorize("i.1")
    assert "llvm.masked.gather.v8f32" in tw.build(s, target).llvm


def test_an_index_is_loaded_in_front_of_the_loops_that_do_not_change_it():
    text = tw.build(table(7, 640).split("j", (80, 8)).vectorize("j.1")).llvm
    index, loops = re.search(r"load i64", text), list(re.finditer(r"^loop\d+:", text, re.M))
    assert index
    assert text.count("load i64") == 1
    assert loops[0].start() < index.start() < loops[1].start()


def test_an_index_that_the_loop_computes_is_not_loaded_before():
    x, ids = tw.tensor("X", (7, 4)), tw.tensor("I", (11,), "int32")
    later = tw.compute("later", (11,), lambda a: (ids[a] + 1) * 2)
    s = Schedule(tw.compute("R", (11, 4), lambda i, j: x[later[i], j]))
    check(s.split("i", (3, 4)).compute_at("later", "i.0"))
    check(s.compute_at("later", "i"))


def test_an_index_is_not_loaded_where_its_guard_forbids_it():
    x, ids = tw.tensor("X", (7, 40)), tw.tensor("I", (11,), "int64")

    def value(i: tw.Axis, j: tw.Axis) -> tw.Scalar:
        return tw.select((i >= 2) & (i < 13), x[ids[i - 2], j], 0.5)

    s = Schedule(tw.compute("R", (17, 40), value))
    check(s)
    check(s.split("j", (5, 8)).vectorize("j.1"))
    check(s.split("i", (5, 4)).reorder("i.0", "j", "i.1").vectorize("i.1").parallel("i.0"))


def test_elements_are_found_along_any_axis():
    for axis in (0, 1):
        out = GatherElements((9, 21), (9, 21), axis).expression()
        check(Schedule(out).vectorize("i1"))
        check(Schedule(out).reorder("i1", "i0").vectorize("i0"))
