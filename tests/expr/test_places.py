"""Stages whose axes are finer than their tensor: each point is placed, each element has one."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.differential import check_compiled, check_interpreted
from tests.expr.renamed import backwards

import tilewright as tw
import tilewright.expr.tensor as te
from tilewright import Schedule
from tilewright.errors import ExpressionError
from tilewright.expr.interpret import evaluate
from tilewright.expr.rounding import rough
from tilewright.loops.interpret import interpret
from tilewright.runtime.build import build
from tilewright.testing import programs
from tilewright.tuning.task import Task


def interleaved(n: int, phases: int, shift: int, reduce: bool = True) -> te.Tensor:
    """Element q * phases + r - shift is made of A[q] and B[r]; the ends are cut off."""
    a, b = tw.tensor("A", (-(-(n + shift) // phases), 3)), tw.tensor("B", (phases, 3, 5))
    q, r, x = te.Axis("q", a.shape[0]), te.Axis("r", phases), te.Axis("x", 5)
    k = tw.reduce_axis("k", 3)
    value = tw.sum(a[q, k] * b[r, k, x], over=k) if reduce else a[q, 1] - b[r, 2, x]
    return te.stage("C", (q, r, x), value, (n, 5), (q * phases + r - shift, x))


def wanted(c: te.Tensor, given: dict[str, np.ndarray], shift: int, reduce: bool) -> np.ndarray:
    a, b = given["A"].astype(np.float64), given["B"].astype(np.float64)
    every = np.einsum("qk,rkx->qrx", a, b) if reduce else a[:, 1, None, None] - b[None, :, 2]
    return every.reshape(-1, 5)[shift : shift + c.shape[0]]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 23), st.integers(1, 5), st.integers(0, 4), st.booleans(), st.integers(0, 9))
def test_all_meanings_agree(n: int, phases: int, shift: int, reduce: bool, seed: int):
    shift = min(shift, phases - 1)
    c, rng = interleaved(n, phases, shift, reduce), np.random.default_rng(seed)
    arrays = {t.name: rng.standard_normal(t.shape).astype("float32") for t in c.inputs}
    right = wanted(c, arrays, shift, reduce)
    np.testing.assert_allclose(evaluate(c, arrays)["C"], right)
    np.testing.assert_allclose(interpret(Schedule(c).loops, arrays)["C"], right)
    value, error = rough(c, arrays)
    np.testing.assert_allclose(value, right)
    assert error.shape == c.shape
    assert np.all(error > 0)
    task = Task(c)
    for row in task.space.sample(rng, 2):
        kernel = build(task.schedule(task.space.config(row)))
        out = np.full(c.shape, np.nan, np.float32)
        kernel(*(arrays[b.name] for b in kernel.inputs), out=out, threads=2)
        np.testing.assert_allclose(out, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_random_schedules(seed: int):
    rng = random.Random(seed)
    c = interleaved(rng.choice((1, 5, 7, 12)), rng.choice((2, 3)), 1, rng.random() < 0.7)
    d = tw.compute("D", c.shape, lambda i, j: tw.maximum(c[i, j], 0.0))
    schedule = programs.schedule(rng.choice, rng.choice((c, d)), steps=rng.choice((3, 6, 10)))
    check_interpreted(schedule, seed)
    check_compiled(schedule, seed)


def test_a_reader_finds_each_element():
    """The stage is neither inlined nor computed in parts, and what reads it may join its tiles."""
    c = interleaved(7, 2, 1)
    d = tw.compute("D", (7, 5), lambda i, j: tw.maximum(c[i, j], 0.0))
    e = interleaved(7, 2, 1, reduce=False)
    f = tw.compute("F", (7, 4), lambda i, j: e[i, j] + e[i, j + 1])
    rng = np.random.default_rng(0)
    for output, source in (d, c), (f, e):
        arrays = {t.name: rng.standard_normal(t.shape).astype("float32") for t in output.inputs}
        values = wanted(source, arrays, 1, source is c)
        right = np.maximum(values, 0) if output is d else values[:, :-1] + values[:, 1:]
        task = Task(output)
        for row in task.space.sample(rng, 4):
            kernel = build(task.schedule(task.space.config(row)))
            got = kernel(*(arrays[b.name] for b in kernel.inputs))
            np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-4)
        for stage, loop in (source.name, "i"), (source.name, "j"):
            with pytest.raises(tw.errors.ScheduleError, match="already"):
                Schedule(output).compute_at(stage, loop)


def test_an_elementwise_reader_that_is_placed_itself_is_not_fused():
    a, k = tw.tensor("A", (6, 3)), tw.reduce_axis("k", 3)
    c = tw.compute("B", (6,), lambda i: tw.sum(a[i, k], over=k))
    p = te.Axis("p", 7)
    e = te.stage("E", (p,), tw.select(p >= 1, c[p - 1], 0.0) + 1.0, (6,), (p - 1,))
    with pytest.raises(tw.errors.ScheduleError):
        Schedule(e).fuse_at("E", "i")


def test_the_places_are_part_of_the_work_and_names_are_not():
    c = interleaved(7, 2, 1)
    assert c.digest == backwards(c).digest == pickle.loads(pickle.dumps(c)).digest
    assert c.digest != interleaved(7, 2, 0).digest
    plain = te.Axis("i", 4)
    a = tw.tensor("A", (4,))
    again = te.stage("C", (plain,), a[plain] * 2.0, (4,), (plain,))
    assert again.digest == tw.compute("C", (4,), lambda i: a[i] * 2.0).digest


Q, R = te.Axis("q", 3), te.Axis("r", 2)


@pytest.mark.parametrize(
    ("shape", "at"),
    [
        ((6,), (Q * 2 + R * 2,)),  # some twice, some never
        ((7,), (Q * 2 + R,)),  # the last is missing
        ((6,), (Q * 2 - R + 1,)),  # runs backwards
        ((3, 2), (Q, Q)),
        ((6,), (Q * 2,)),
        ((3,), (Q, R)),
    ],
)
def test_each_element_needs_one_point(shape: tuple[int, ...], at: tuple[te.IndexLike, ...]):
    a = tw.tensor("A", (3,))
    with pytest.raises(ExpressionError, match=r"needs one|give an index"):
        te.stage("C", (Q, R), a[Q] * 1.0, shape, at)


def test_loads_are_checked_where_something_is_stored():
    a, p = tw.tensor("A", (6,)), te.Axis("p", 8)
    te.stage("C", (p,), a[p - 1] * 1.0, (6,), (p - 1,))
    with pytest.raises(ExpressionError, match="leaves A"):
        te.stage("C", (p,), a[p - 2] * 1.0, (6,), (p - 1,))
