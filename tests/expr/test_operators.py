"""Python's and NumPy's operators and numbers in expressions: they mean what they say."""

# pyright: reportArgumentType=false, reportOperatorIssue=false
# (what is wrong on purpose, and what NumPy's annotations know nothing of)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.expr.affine import Affine
from tilewright.expr.interpret import evaluate
from tilewright.expr.scalar import Scalar, Within

A = tw.tensor("A", (8,))
N = tw.tensor("N", (8,), "int32")
B = tw.tensor("B", (8,), "bool")

GIVEN: dict[str, Any] = {
    "A": np.array([0, 1, -1, 2.5, np.nan, 0.5, 3, -0.0], np.float32),
    "N": np.array([0, 1, -1, 2, 3, 3, 4, -5], np.int32),
    "B": np.array([0, 1, 1, 0, 0, 1, 0, 1], np.bool_),
}
a, n, b = GIVEN["A"], GIVEN["N"], GIVEN["B"]
at = np.arange(8)
Value = Callable[[tw.Axis], Scalar]


def check(value: Value, wanted: Any) -> None:
    """Compare what is interpreted and what is compiled with NumPy."""
    out = tw.compute("out", (8,), value)
    given = {t.name: GIVEN[t.name] for t in out.inputs}
    wanted = np.broadcast_to(wanted, 8).astype(out.dtype)
    np.testing.assert_allclose(evaluate(out, given)["out"], wanted, rtol=1e-6)
    for schedule in tw.Schedule(out), tw.Schedule(out).vectorize("i"):
        np.testing.assert_allclose(tw.build(schedule)(*given.values()), wanted, rtol=1e-6)


CONDITIONS: dict[str, tuple[Value, Any]] = {
    "equal floats": (lambda i: tw.equal(A[i], 0.0), a == 0),
    "unequal floats": (lambda i: tw.not_equal(A[i], A[i]), a != a),
    "equal integers": (lambda i: tw.equal(3, N[i]), n == 3),
    "equal indices": (lambda i: tw.equal(i, 3), at == 3),
    "unequal indices": (lambda i: tw.not_equal(2 * i, 6), at != 3),
    "equal to NumPy's integer": (lambda i: tw.equal(i, np.int64(3)), at == 3),
    "equal index and value": (lambda i: tw.equal(tw.cast("int32", i), N[i]), at == n),
    "equal conditions": (lambda i: tw.equal(B[i], A[i] < 1.0), b == (a < 1)),
    "equal to a truth": (lambda i: tw.equal(B[i], True), b),
    "not less": (lambda i: ~(A[i] < 1.0), ~(a < 1)),
    "not at most": (lambda i: ~(A[i] <= 1.0), ~(a <= 1)),
    "not equal": (lambda i: ~tw.equal(A[i], 0.0), a != 0),
    "not a bool": (lambda i: ~B[i], ~b),
    "not not": (lambda i: ~~B[i], b),
    "not below": (lambda i: ~(i < 3), at >= 3),
    "not from": (lambda i: ~(i >= 3), at < 3),
    "not the one": (lambda i: ~tw.equal(i, 3), at != 3),
    "not other than the one": (lambda i: ~~tw.equal(i, 3), at == 3),
    "not both": (lambda i: ~((i >= 2) & (i < 5)), ~((at >= 2) & (at < 5))),
    "neither": (lambda i: ~((i < 2) | B[i]), ~((at < 2) | b)),
    "a truth and a condition": (lambda i: np.bool_(True) & B[i], b),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name: str) -> None:
    value, wanted = CONDITIONS[name]
    check(lambda i: tw.select(value(i), 1.0, 2.0), np.where(wanted, 1, 2))


def test_conditions_on_indices_stay_such() -> None:
    i = tw.Axis("i", 8)
    for condition in tw.equal(i, 3), ~(i < 3), tw.equal(i, i - 1):
        assert isinstance(condition, Within)
    assert str(tw.equal(i - 1, 3)) == "i == 4"
    assert str(~(i < 3)) == "3 <= i"
    assert str((i - 1 >= 0) & (i - 1 < 6)) == "(1 <= i and i < 7)"
    assert str(~(A[i] < 1.0)) == "not ((A[i] < 1.0))"


POWERS = [0, 1, 2, 3, 7, 8, 2.0, np.int64(2)]


@pytest.mark.parametrize("exponent", POWERS)
def test_powers(exponent: Any) -> None:
    check(lambda i: A[i] ** exponent, a ** int(exponent))
    check(lambda i: N[i] ** exponent, n ** int(exponent))


NUMBERS: dict[str, tuple[Value, Any]] = {
    "value times NumPy's float": (lambda i: A[i] * np.float32(2.5), a * 2.5),
    "NumPy's float times value": (lambda i: np.float32(2.5) * A[i], a * 2.5),
    "NumPy's double plus value": (lambda i: np.float64(2.5) + A[i], a + 2.5),
    "NumPy's float less value": (lambda i: np.float32(2.5) - A[i], 2.5 - a),
    "value and an array of no dimension": (lambda i: A[i] * np.array(2.5), a * 2.5),
    "NumPy's integer": (lambda i: N[i] + np.int8(2), n + 2),
    "maximum with NumPy's integer": (lambda i: tw.maximum(np.int32(1), N[i]), np.maximum(1, n)),
    "select of NumPy's numbers": (
        lambda i: tw.select(np.int64(3) > i, A[i], np.float64(1)), np.where(at < 3, a, 1)),
    "select of an index": (lambda i: tw.select(i < 3, i, 7), np.where(at < 3, at, 7)),
    "NumPy's factor of an index": (lambda i: A[np.int64(1) * i + np.int32(0)], a),
    "index times a value": (lambda i: i * tw.cast("int64", N[i]), at * n),
    "index below a value": (
        lambda i: tw.select((i + 1) < tw.cast("int64", N[i]), 1, 0), np.where(at + 1 < n, 1, 0)),
    "an index as a float": (lambda i: tw.cast("float32", i) * 0.5, at * 0.5),
    "minus an index": (lambda i: A[-i + 7], a[::-1]),
    "cast of a literal": (lambda i: tw.cast("int32", 2.75) + N[i], n + 2),
    "infinity": (lambda i: tw.maximum(A[i], -np.inf), np.maximum(a, -np.inf)),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    check(*NUMBERS[name])


@pytest.mark.parametrize(
    "dtype", [np.float32, np.dtype("float32"), "float32", np.dtype(np.float32)]
)
def test_dtypes_of_numpy(dtype: Any) -> None:
    assert tw.tensor("X", (4,), dtype).dtype == "float32"
    assert tw.cast(dtype, N[0]).dtype == "float32"
    assert tw.table("T", [1.0], dtype).dtype == "float32"


@pytest.mark.parametrize("shape", [(12,), [12], 12, np.int64(12), (np.int32(12),), np.array([12])])
def test_shapes_of_numpy(shape: Any) -> None:
    made = tw.tensor("X", shape)
    assert made.shape == (12,)
    assert type(made.shape[0]) is int
    assert tw.compute("Y", shape, lambda i: made[i]).shape == (12,)
    assert tw.reduce_axis("k", np.int64(12)).extent == 12


def test_populations_scale_indices() -> None:
    i = Affine(1, (("i", 1),))
    factors = np.array([2, 3])
    assert i * factors == Affine(factors, (("i", factors),))
    assert i * np.int64(2) == Affine(2, (("i", 2),))
