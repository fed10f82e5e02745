"""Expressions without a meaning are refused when they are written down."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tilewright as tw
from tilewright.errors import ExpressionError

A = tw.tensor("A", (4, 8))
N = tw.tensor("N", (4,), "int32")
K = tw.reduce_axis("k", 8)

CASES: dict[str, Callable[[], object]] = {
    "unknown dtype": lambda: tw.tensor("X", (4,), "float16"),
    "cast to an unknown dtype": lambda: tw.compute("X", (4,), lambda i: tw.cast("half", N[i])),
    "empty tensor": lambda: tw.tensor("X", (4, 0)),
    "huge tensor": lambda: tw.tensor("X", (1 << 30, 1 << 30)),
    "axis of no extent": lambda: tw.reduce_axis("k", 0),
    "too few indices": lambda: tw.compute("X", (4,), lambda y: A[y]),
    "index that is not affine": lambda: tw.compute("X", (4,), lambda y: A[y, 0.5]),
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
    "select by a number": lambda: tw.compute("X", (4,), lambda i: tw.select(N[i], N[i], 1)),
    "select of two types": lambda: tw.compute("X", (4,), lambda i: tw.select(i < 2, N[i], A[i, 0])),
    "load beyond the end": lambda: tw.compute("X", (4,), lambda i: N[i + 1]),
    "load before the start": lambda: tw.compute("X", (4,), lambda i: N[i - 1]),
    "load that its select lets out": lambda: tw.compute(
        "X", (6,), lambda i: tw.select(i >= 1, N[i - 1], 0)),
    "load on the wrong side": lambda: tw.compute("X", (6,), lambda i: tw.select(i < 4, 0, N[i])),
    "no scalar": lambda: tw.compute("X", (4,), lambda _: "one"),
    "two tensors of one name": lambda: tw.compute(
        "X", (4,), lambda i: N[i] + tw.tensor("N", (4,), "int32")[i]).inputs,
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
