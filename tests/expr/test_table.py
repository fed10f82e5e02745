"""Tables: small constant arrays in expressions, numbers where unrolling makes their index known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ExpressionError
from tilewright.expr.interpret import evaluate
from tilewright.loops.interpret import interpret

MATRIX = [[1.0, 0.0, -1.0, 0.5], [0.0, 2.0, 0.0, 0.0], [-1.0, 1.0, 1.0, 0.0]]


def _transform() -> tw.Tensor:
    x, m, k = tw.tensor("X", (4, 20)), tw.table("M", MATRIX), tw.reduce_axis("k", 4)
    return tw.compute("Y", (3, 20), lambda i, j: tw.sum(m[i, k] * x[k, j], over=k))


@pytest.mark.parametrize("unrolled", [(), ("k",), ("i", "k")])
@pytest.mark.parametrize("vector", [False, True])
def test_however_it_is_scheduled(unrolled: tuple[str, ...], vector: bool) -> None:
    e = _transform()
    x = np.random.default_rng(0).standard_normal((4, 20)).astype(np.float32)
    wanted = np.asarray(MATRIX) @ x
    s = tw.Schedule(e).reorder("i", "k", "j")
    for loop in unrolled:
        s = s.unroll(loop)
    s = s.vectorize("j") if vector else s
    s = s.cache_write("Y", "i") if unrolled == ("k",) else s
    np.testing.assert_allclose(evaluate(e, {"X": x})["Y"], wanted, rtol=1e-12)
    np.testing.assert_allclose(interpret(s.loops, {"X": x})["Y"], wanted, rtol=1e-12)
    np.testing.assert_allclose(tw.build(s)(x), wanted, rtol=1e-6, atol=1e-6)


def test_products_with_zero_and_one_cost_nothing() -> None:
    s = tw.Schedule(_transform()).reorder("i", "k", "j").unroll("i").unroll("k").vectorize("j")
    text = tw.build(s.cache_write("Y", "i")).llvm
    assert text.count("llvm.fma") - text.count("declare") <= 3, (
        "only 0.5 in row 0 multiplies and adds"
    )


def test_a_vector_may_run_along_a_table() -> None:
    t = tw.table("T", [3.0, 1.0, 4.0, 1.0, 5.0])
    x = tw.tensor("X", (5,))
    s = tw.Schedule(tw.compute("Y", (5,), lambda i: x[i] + t[4 - i])).vectorize("i")
    np.testing.assert_array_equal(tw.build(s)(np.zeros(5, np.float32)), [5, 1, 4, 1, 3])


def test_an_index_beyond_the_table_is_refused() -> None:
    t, x = tw.table("T", [1.0, 2.0]), tw.tensor("X", (3,))
    with pytest.raises(ExpressionError, match=r"T\[i\]"):
        tw.compute("Y", (3,), lambda i: x[i] * t[i])
    with pytest.raises(ExpressionError, match="1 dimensions"):
        t[0, 0]


@pytest.mark.parametrize(
    ("name", "array", "dtype"),
    [
        ("T", [[1, 2], [3]], "float32"), ("T", "x", "float32"), ("T", [1, "a"], "float32"),
        ("T", [], "float32"), ("T", [1j], "float32"), ("T", [1.5], "int32"), ("T", [300], "int8"),
        ("", [1], "float32"), (3, [1], "float32"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused(name: Any, array: Any, dtype: str) -> None:
    with pytest.raises(ExpressionError, match="cannot make table"):
        tw.table(name, array, dtype)
