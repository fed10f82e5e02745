"""Expressions without a meaning are refused when they are written down."""

# pyright: reportArgumentType=false, reportOperatorIssue=false, reportCallIssue=false
# pyright: reportUnnecessaryComparison=false
# (what is wrong on purpose, and what NumPy's annotations know nothing of)

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ExpressionError

A = tw.tensor("A", (4, 8))
N = tw.tensor("N", (4,), "int32")
U = tw.tensor("U", (4,), "uint8")
K = tw.reduce_axis("k", 8)

CASES: dict[str, Callable[[], object]] = {
    "unknown dtype": lambda: tw.tensor("X", (4,), "float8"),
    "cast to an unknown dtype": lambda: tw.compute("X", (4,), lambda i: tw.cast("half", N[i])),
    "empty tensor": lambda: tw.tensor("X", (4, 0)),
    "huge tensor": lambda: tw.tensor("X", (1 << 30, 1 << 30)),
    "axis of no extent": lambda: tw.reduce_axis("k", 0),
    "too few indices": lambda: tw.compute("X", (4,), lambda y: A[y]),
    "index that is not affine": lambda: tw.compute("X", (4,), lambda y: A[y, 0.5]),
    "index of floats": lambda: tw.compute("X", (4,), lambda y: N[A[y, 0]]),
    "index of conditions": lambda: tw.compute("X", (4,), lambda y: N[N[y] < 2]),
    "index that is a reduction": lambda: tw.compute("X", (4,), lambda y: A[y, tw.sum(N[K], K)]),
    "index of an index beyond the end": lambda: tw.compute("X", (4,), lambda y: A[N[y + 1], 0]),
    "as many arguments as dimensions": lambda: tw.compute("X", (4, 8), lambda y: A[y, 0]),
    "nested reduction": lambda: tw.compute("X", (4,), lambda y: tw.sum(A[y, K], over=K) + 1.0),
    "axis of nobody": lambda: tw.compute("X", (4,), lambda y: A[y, K]),
    "reduction over an ordinary axis": lambda: tw.compute(
        "X", (4, 8), lambda y, x: tw.sum(A[y, x], over=x)),
    "axes that share a name": lambda: tw.compute("X", (4,), lambda k: tw.sum(A[k, K], over=K)),
    "types that differ": lambda: tw.compute("X", (4,), lambda i: A[i, 0] + N[i]),
    "half an integer": lambda: tw.compute("X", (4,), lambda i: N[i] * 0.5),
    "arithmetic on conditions": lambda: tw.compute("X", (4,), lambda i: (N[i] < 1) + (N[i] < 2)),
    "and of numbers": lambda: tw.compute("X", (4,), lambda i: N[i] & N[i]),
    "sum of conditions": lambda: tw.compute("X", (4,), lambda y: tw.sum(A[y, K] < 1.0, over=K)),
    "exponential of an integer": lambda: tw.compute("X", (4,), lambda i: tw.exp(N[i])),
    "logarithm of an axis": lambda: tw.compute("X", (4,), lambda i: tw.log(i)),
    "floor of an integer": lambda: tw.compute("X", (4,), lambda i: tw.floor(N[i])),
    "absolute condition": lambda: tw.compute("X", (4,), lambda i: abs(N[i] < 1)),
    "product of conditions": lambda: tw.compute("X", (4,), lambda y: tw.prod(A[y, K] < 1, over=K)),
    "select by a number": lambda: tw.compute("X", (4,), lambda i: tw.select(N[i], N[i], 1)),
    "select of two types": lambda: tw.compute("X", (4,), lambda i: tw.select(i < 2, N[i], A[i, 0])),
    "load beyond the end": lambda: tw.compute("X", (4,), lambda i: N[i + 1]),
    "load before the start": lambda: tw.compute("X", (4,), lambda i: N[i - 1]),
    "element beyond a table": lambda: tw.compute(
        "X", (4,), lambda i: A[i, 0] * tw.table("T", [1.0, 2.0])[i]),
    "load that its select lets out": lambda: tw.compute(
        "X", (6,), lambda i: tw.select(i >= 1, N[i - 1], 0)),
    "load on the wrong side": lambda: tw.compute("X", (6,), lambda i: tw.select(i < 4, 0, N[i])),
    "chained comparison": lambda: tw.compute(
        "X", (60,), lambda i: tw.select(30 <= i < 50, 1.0, 0.0)),
    "and of conditions in words": lambda: tw.compute(
        "X", (4,), lambda i: tw.select((i >= 1) and (i < 5), 1.0, 0.0)),
    "not of a condition in words": lambda: tw.compute(
        "X", (4,), lambda i: tw.select(not (N[i] < 5), 1.0, 0.0)),
    "if of a condition": lambda: tw.compute(
        "X", (4,), lambda i: A[i, 0] if A[i, 0] < 10.0 else 0.0),
    "greatest of two by Python": lambda: tw.compute("X", (4,), lambda i: max(0.0, A[i, 0])),
    "if of an axis": lambda: tw.compute("X", (4,), lambda i: A[i, 0] if i else 0.0),
    "if of an index": lambda: tw.compute("X", (4,), lambda i: A[i, 0] if i - 1 else 0.0),
    "if of a value": lambda: tw.compute("X", (4,), lambda i: 1.0 if A[i, 0] else 0.0),
    "float of a value": lambda: tw.compute("X", (4,), lambda i: math.exp(A[i, 0])),
    "index times a half": lambda: tw.compute("X", (4,), lambda i: N[i * 0.5]),
    "index times a whole float": lambda: tw.compute("X", (4,), lambda i: N[i * 1.0]),
    "index times an index": lambda: tw.compute("X", (2,), lambda i: N[i * i]),
    "index of a truth": lambda: tw.compute("X", (4,), lambda _: N[True]),
    "index times a truth": lambda: tw.compute("X", (4,), lambda i: N[i * True]),
    "index divided": lambda: tw.compute("X", (4,), lambda i: N[i // 2]),
    "index modulo": lambda: tw.compute("X", (4,), lambda i: N[(i + 1) % 2]),
    "index to a power": lambda: tw.compute("X", (4,), lambda i: N[i**2]),
    "index plus a half": lambda: tw.compute("X", (4,), lambda i: N[i + 0.5]),
    "index that is a value": lambda: tw.compute("X", (4,), lambda i: N[i + N[i]]),
    "index times an array": lambda: tw.compute("X", (2,), lambda i: N[i * np.array([1, 2])]),
    "half an extent": lambda: tw.tensor("Z", (5.5,)),
    "a truth as extent": lambda: tw.tensor("Z", (True,)),
    "a text as shape": lambda: tw.tensor("Z", "12"),
    "half a computed extent": lambda: tw.compute("Z", (2.0,), lambda i: N[i]),
    "literal beyond int32": lambda: tw.compute("X", (4,), lambda i: N[i] + 2**40),
    "negative literal of uint8": lambda: tw.compute("X", (4,), lambda i: U[i] + (-1)),
    "infinite integer": lambda: tw.compute("X", (4,), lambda i: N[i] + math.inf),
    "integer that is no number": lambda: tw.compute("X", (4,), lambda i: N[i] + math.nan),
    "literal beyond float32": lambda: tw.compute("X", (4,), lambda i: A[i, 0] * 1e300),
    "literal beyond bool": lambda: tw.compute("X", (4,), lambda i: tw.equal(N[i] < 1, 2)),
    "select by Python's equality": lambda: tw.compute(
        "X", (4,), lambda i: tw.select(A[i, 0] == 0.0, 1.0, 0.0)),
    "select by an axis's equality": lambda: tw.compute(
        "X", (4,), lambda i: tw.select(i == 3, 1.0, 0.0)),
    "opposite of a number": lambda: tw.compute("X", (4,), lambda i: ~N[i]),
    "half a power of an integer": lambda: tw.compute("X", (4,), lambda i: N[i] ** 0.5),
    "negative power of uint8": lambda: tw.compute("X", (4,), lambda i: U[i] ** -1),
    "power of two types": lambda: tw.compute("X", (4,), lambda i: A[i, 0] ** N[i]),
    "square of a condition": lambda: tw.compute("X", (4,), lambda i: (N[i] < 1) ** 2),
    "power of a condition": lambda: tw.compute("X", (4,), lambda i: (N[i] < 1) ** (N[i] < 2)),
    "floor division": lambda: tw.compute("X", (4,), lambda i: A[i, 0] // 2.0),
    "remainder of a condition": lambda: tw.compute("X", (4,), lambda i: (N[i] < 1) % True),
    "bits of floats": lambda: tw.compute("X", (4,), lambda i: tw.bitwise_and(A[i, 0], A[i, 1])),
    "bits of a condition": lambda: tw.compute("X", (4,), lambda i: tw.bitwise_not(N[i] < 1)),
    "shift by a float": lambda: tw.compute("X", (4,), lambda i: tw.left_shift(N[i], 0.5)),
    "sine of an integer": lambda: tw.compute("X", (4,), lambda i: tw.sin(N[i])),
    "whether an integer is NaN": lambda: tw.compute("X", (4,), lambda i: tw.isnan(N[i])),
    "sign of a condition": lambda: tw.compute("X", (4,), lambda i: tw.sign(N[i] < 1)),
    "NumPy's exponential": lambda: tw.compute("X", (4,), lambda i: np.exp(A[i, 0])),
    "NumPy's maximum": lambda: tw.compute("X", (4,), lambda i: np.maximum(A[i, 0], 0.0)),
    "NumPy's sum": lambda: tw.compute("X", (4,), lambda i: np.add.reduce(A[i, 0])),
    "NumPy's sine of an axis": lambda: tw.compute("X", (4,), lambda i: np.sin(i)),
    "an array in arithmetic": lambda: tw.compute("X", (4,), lambda i: A[i, 0] * np.ones(4)),
    "a tensor without an index": lambda: tw.compute("X", (4,), lambda _: A),
    "sum over a name": lambda: tw.compute(
        "X", (4,), lambda i: tw.sum(A[i, K], over="k")),
    "Python's sum of a tensor": lambda: tw.compute("X", (4,), lambda _: sum(N)),
    "sum over nothing": lambda: tw.compute("X", (4,), lambda i: tw.sum(A[i, 0], over=())),
    "cast with its arguments swapped": lambda: tw.compute(
        "X", (4,), lambda i: tw.cast(N[i], "float32")),
    "tensor without a name": lambda: tw.tensor("", (4,)),
    "result without a name": lambda: tw.compute("", (4,), lambda i: N[i]),
    "axis without a name": lambda: tw.reduce_axis("", 4),
    "name that is a number": lambda: tw.tensor(3, (4,)),
    "no dtype": lambda: tw.tensor("X", (4,), None),
    "dtype of objects": lambda: tw.tensor("X", (4,), object),
    "no scalar": lambda: tw.compute("X", (4,), lambda _: "one"),
    "two tensors of one name": lambda: tw.compute(
        "X", (4,), lambda i: N[i] + tw.tensor("N", (4,), "int32")[i]),
    "a result called like its input": lambda: tw.compute("N", (4,), lambda i: N[i] + 1),
    "tensors of one name far apart": lambda: tw.compute("Z", (4,), lambda i: tw.compute(
        "Y", (4,), lambda i: N[i] + 1)[i] + tw.tensor("N", (4,), "int32")[i]).inputs,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_is_refused(name: str) -> None:
    with pytest.raises(ExpressionError):
        CASES[name]()


def test_messages(golden: Callable[[str, str], None]) -> None:
    said: list[str] = []
    for name, case in CASES.items():
        with pytest.raises(ExpressionError) as caught:
            case()
        said.append(f"# {name}\n{caught.value}\n")
    golden("expression_errors", "\n".join(said))


@pytest.mark.parametrize(
    "value",
    [
        lambda i: tw.select((i >= 1) & (i < 5), N[i - 1], 0),
        lambda i: tw.select((i < 1) | (i >= 5), 0, N[i - 1]),
        lambda i: tw.select(i * 2 < 7, N[i], 0),
        lambda i: tw.select((i < 4) & (N[i] < 3), N[i], 0),
    ],
)
def test_guarded_loads_are_accepted(value: Callable[[tw.Axis], tw.Tensor]) -> None:
    assert tw.compute("X", (6,), value).shape == (6,)
