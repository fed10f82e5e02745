"""A space for any expression: never empty, and every candidate means the expression."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.expr.interpret import evaluate
from tilewright.expr.scalar import Unary
from tilewright.expr.tensor import Tensor
from tilewright.features import FEATURES
from tilewright.runtime.build import build
from tilewright.tuning.task import Task

Make = Callable[[int, int, int], Tensor]


def softmax(m: int, n: int, _: int) -> Tensor:
    """Four stages: two reductions of what was computed before, two elementwise."""
    x = tw.tensor("X", (m, n))
    j, k = tw.reduce_axis("j", n), tw.reduce_axis("k", n)
    top = tw.compute("top", (m,), lambda y: tw.max(x[y, j], over=j))
    raised = tw.compute("raised", (m, n), lambda y, z: Unary("exp", x[y, z] - top[y], "float32"))
    total = tw.compute("total", (m,), lambda y: tw.sum(raised[y, k], over=k))
    return tw.compute("out", (m, n), lambda y, z: raised[y, z] / total[y])


def figure_1(m: int, n: int, k: int) -> Tensor:
    a, b, r = tw.tensor("A", (k, m)), tw.tensor("B", (k, n)), tw.reduce_axis("k", k)
    return tw.compute("C", (m, n), lambda y, x: tw.sum(a[r, y] * b[r, x], over=r))


def two_layers(m: int, n: int, k: int) -> Tensor:
    """A product, an elementwise stage, another product."""
    x, w, v = tw.tensor("X", (m, k)), tw.tensor("W", (k, n)), tw.tensor("V", (n, m))
    q, r = tw.reduce_axis("q", k), tw.reduce_axis("r", n)
    first = tw.compute("first", (m, n), lambda y, z: tw.sum(x[y, q] * w[q, z], over=q))
    hidden = tw.compute("hidden", (m, n), lambda y, z: tw.maximum(first[y, z], 0.0))
    return tw.compute("last", (m, m), lambda y, z: tw.sum(hidden[y, r] * v[r, z], over=r))


def total(n: int, _: int, __: int) -> Tensor:
    x, r = tw.tensor("X", (n,), "int32"), tw.reduce_axis("r", n)
    return tw.compute("total", (1,), lambda _: tw.sum(x[r], over=r))


def blur(h: int, w: int, _: int) -> Tensor:
    """An elementwise stage that is read several times."""
    x = tw.tensor("X", (h + 2, w + 2), "float64")
    across = tw.compute("across", (h + 2, w), lambda y, z: x[y, z] + x[y, z + 1] + x[y, z + 2])
    return tw.compute(
        "blur", (h, w), lambda y, z: across[y, z] + across[y + 1, z] + across[y + 2, z]
    )


def add_transposed(m: int, n: int, _: int) -> Tensor:
    """Contiguous along either axis."""
    x, y = tw.tensor("X", (m, n)), tw.tensor("Y", (n, m))
    return tw.compute("sum", (m, n), lambda i, j: x[i, j] + y[j, i])


MAKERS: tuple[Make, ...] = (softmax, figure_1, two_layers, total, blur, add_transposed)
SIZES = st.sampled_from((1, 2, 3, 5, 8, 13, 16, 17, 31, 33, 64))


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
@settings(max_examples=8, deadline=None)
@given(sizes=st.tuples(SIZES, SIZES, SIZES), seed=st.integers(0, 9))
def test_derived_candidates(make: Make, sizes: tuple[int, int, int], seed: int):
    task, rng = Task(make(*sizes)), np.random.default_rng(seed)
    expression = task.expression
    arrays = {
        t.name: rng.integers(-4, 5, t.shape).astype(t.dtype)
        + (rng.random(t.shape).astype(t.dtype) if t.dtype != "int32" else 0)
        for t in expression.inputs
    }
    wanted = evaluate(expression, arrays)[expression.name]
    rows = task.space.sample(rng, 2)
    assert len(rows)
    assert np.isfinite(FEATURES.extract(task.space, rows)).all()
    for schedule in (*(task.schedule(task.space.config(row)) for row in rows), task.fallback()):
        kernel = build(schedule)
        out = np.full(wanted.shape, 99, expression.dtype)
        kernel(*(arrays[b.name] for b in kernel.inputs), out=out, threads=2)
        text = str(schedule.loops)
        np.testing.assert_allclose(out, wanted, rtol=1e-3, atol=1e-3, err_msg=text)
