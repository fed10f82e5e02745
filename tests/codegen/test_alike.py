"""Values that look alike in LLVM's text, names that mean something only inside: each its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import Schedule, Target
from tilewright.errors import ExpressionError, ScheduleError
from tilewright.expr.interpret import evaluate
from tilewright.ops.pool2d import GlobalAveragePool
from tilewright.ops.reduce import Reduction

RNG = np.random.default_rng(0)
U = np.array([200, 10, 250, 128], np.uint8)
V = RNG.integers(0, 255, (4, 32)).astype(np.uint8)
S = RNG.integers(-128, 127, (4, 32)).astype(np.int8)


def agrees(output: tw.Tensor, data: dict[str, Any], steps: Any = ()) -> None:
    schedule = Schedule(output)
    for name, *arguments in steps:
        schedule = getattr(schedule, name)(*arguments)
    wanted = evaluate(output, data)[output.name]
    np.testing.assert_array_equal(tw.build(schedule)(**data), wanted)


@pytest.mark.parametrize("signed_first", [True, False])
@pytest.mark.parametrize("steps", [(), (("vectorize", "j"),)])
def test_bytes_with_and_without_a_sign(signed_first: bool, steps: Any) -> None:
    u, v, s = tw.tensor("U", (4,), "uint8"), tw.tensor("V", (4, 32), "uint8"), None
    s = tw.tensor("S", (4, 32), "int8")

    def value(n: tw.Axis, j: tw.Axis) -> Any:
        plain = tw.cast("int32", tw.maximum(u[n], v[n, j]))
        signed = tw.cast("int32", tw.maximum(tw.cast("int8", u[n]), s[n, j]))
        return signed * 1000 + plain if signed_first else plain * 1000 + signed

    agrees(tw.compute("o", (4, 32), value), {"U": U, "V": V, "S": S}, steps)


@pytest.mark.parametrize("signed_first", [True, False])
@pytest.mark.parametrize("steps", [(), (("vectorize", "i"),)])
def test_indices_with_and_without_a_sign(signed_first: bool, steps: Any) -> None:
    u, x = tw.tensor("U", (4,), "uint8"), tw.tensor("X", (300,))

    def value(i: tw.Axis) -> Any:
        plain, signed = x[u[i]], x[tw.cast("int8", u[i])]
        return signed * 1000.0 + plain if signed_first else plain * 1000.0 + signed

    data = {"U": U, "X": np.arange(300, dtype=np.float32)}
    agrees(tw.compute("o", (4,), value), data, steps)


@pytest.mark.parametrize("steps", [(), (("vectorize", "j"),)])
def test_tables_of_one_name(steps: Any) -> None:
    a, b = tw.table("T", [[1, 2, 3], [4, 5, 6]]), tw.table("T", [[1, 2], [3, 4], [5, 6]])
    x = tw.tensor("X", (2, 3))
    value = lambda i, j: a[i, j] * 100.0 + b[j, i] * x[i, j]  # noqa: E731
    agrees(tw.compute("o", (2, 3), value), {"X": np.ones((2, 3), np.float32)}, steps)
    a, b = tw.table("T", [100, 120], "uint8"), tw.table("T", [100, 120], "int8")
    y, z = tw.tensor("Y", (2,), "uint8"), tw.tensor("Z", (2,), "int8")
    data = {"Y": np.array([100, 90], np.uint8), "Z": np.array([20, 100], np.int8)}

    def both(j: tw.Axis) -> Any:
        return tw.cast("float32", a[j] + y[j]) * 1000.0 + tw.cast("float32", b[j] + z[j])

    agrees(tw.compute("o", (2,), both), data, steps)


def test_a_table_of_any_name() -> None:
    t = tw.table('a"b\0', [1.0, 2.0])
    x = tw.tensor("X", (2,))
    data = {"X": np.ones(2, np.float32)}
    agrees(tw.compute("o", (2,), lambda i: t[i] * x[i]), data, (("vectorize", "i"),))


FUSED = (
    (("fuse", "a", "b"), ("split", "a+b", (2, 12)), ("unroll", "a+b.0")),
    (("fuse", "a", "b"), ("split", "a+b", (2, 12)), ("unroll", "a+b.0"), ("vectorize", "j")),
    (("split", "a", (2, 4)), ("fuse", "a.1", "b"), ("unroll", "a.0")),
    (("fuse", "a", "b"), ("split", "a+b", (4, 10)), ("unroll", "a+b.0"), ("vectorize", "j")),
)


@pytest.mark.parametrize("steps", FUSED)
def test_what_a_fused_loop_binds_ends_with_it(steps: Any) -> None:
    x, ids = tw.tensor("X", (50, 16)), tw.tensor("I", (8,), "int32")
    output = tw.compute("o", (8, 3, 16), lambda a, b, j: x[ids[a], j])  # noqa: ARG005
    data = {
        "X": RNG.standard_normal((50, 16)).astype(np.float32),
        "I": RNG.integers(-50, 50, 8).astype(np.int32),
    }
    agrees(output, data, steps)


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", None])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64"])
@pytest.mark.parametrize("given", [5e6, 2e9, 3e19, -7e9, float("nan"), float("inf")])
def test_an_index_made_of_a_float_stays_inside(given: float, dtype: str, level: str | None) -> None:
    x, f = tw.tensor("X", (100,)), tw.tensor("F", (16,))
    output = tw.compute("o", (16,), lambda i: x[tw.cast(dtype, f[i])])
    table, floats = np.arange(100, dtype=np.float32), np.full(16, given, np.float32)
    target = Target(level) if level else None
    found = {
        tuple(tw.build(schedule, target)(table, floats))
        for schedule in (Schedule(output), Schedule(output).vectorize("i"))
    }
    assert len(found) == 1
    assert set(found.pop()) <= set(table.tolist())


def test_a_round_that_guards_leave_out_may_be_beyond_a_table() -> None:
    t, y, k = tw.table("T", [0.0, 1.0, 0.0]), tw.tensor("Y", (3, 8)), tw.reduce_axis("k", 3)
    output = tw.compute("o", (8,), lambda i: tw.sum(t[k] * y[k, i], over=k))
    data = {"Y": RNG.standard_normal((3, 8)).astype(np.float32)}
    inside = (("reorder", "k", "i"), ("split", "k", (2, 2)), ("unroll", "k.0"), ("unroll", "k.1"))
    for steps in (inside, (("pad", "k", 4), ("unroll", "k"))):
        agrees(output, data, steps)


def test_a_vector_in_which_a_fused_loop_is_made_of_it_is_refused() -> None:
    a = tw.tensor("A", (4, 6))
    r, q = tw.reduce_axis("r", 4), tw.reduce_axis("q", 6)
    s = Schedule(tw.compute("o", (1,), lambda _: tw.max(a[r, q], over=(r, q))))
    s = s.fuse("r", "q").split("r+q", (3, 8, 1)).rfactor("o", "r+q.1")
    with pytest.raises(ScheduleError, match=r"'r\+q.2' in it is fused and made of it"):
        s.vectorize("r+q.1")


def test_means_whose_sums_might_wrap_are_refused() -> None:
    with pytest.raises(ExpressionError, match="their sum might not fit int32"):
        Reduction("mean", (8_600_000,), (0,), "uint8")
    with pytest.raises(ExpressionError, match="their sum might not fit int32"):
        GlobalAveragePool(1, 2933, 2933, 1, "int8")
    Reduction("mean", (8_600_000,), (0,), "float16")
