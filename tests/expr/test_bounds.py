"""Loads that may leave their tensor are refused, however large it is and whatever data say."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.differential import check_compiled, check_interpreted

import tilewright as tw
from tilewright.errors import ExpressionError
from tilewright.expr import verify
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import FAR, Scalar, Within, invert

N = 1 << 21  # more points than are looked at one by one
X, T = tw.tensor("X", (N,)), tw.table("T", [1.0, 2.0, 3.0])
IMAGE = tw.tensor("I", (3000, 3000))
Value = Callable[..., Any]

REFUSED: dict[str, Value] = {
    "no condition": lambda i: X[i + 1],
    "no condition, far before": lambda i: X[i - N],
    "a condition on data": lambda i: tw.select(X[i] > 0.0, X[i + 100], 0.0),
    "a condition on data for what is always outside": lambda i: tw.select(
        X[i] > 0.0, X[i + N], 0.0),
    "a condition on indices or on data": lambda i: tw.select(
        (i < N - 1) | (X[i] > 0.0), X[i + 1], 0.0),
    "the other side of a condition on data": lambda i: tw.select(X[i] > 0.0, 0.0, X[i + 1]),
    "the opposite of a condition on data": lambda i: tw.select(~(X[i] > 0.0), X[i + 1], 0.0),
    "a condition that is one too wide": lambda i: tw.select(i <= N - 1, X[i + 1], 0.0),
    "the wrong side": lambda i: tw.select(i < N - 1, 0.0, X[i + 1]),
    "a condition on another index": lambda i: tw.select(2 * i < N, X[i * 3], 0.0),
    "a table": lambda i: X[i] * T[i],
    "a condition beside its use": lambda i: tw.select(i < 5, 1.0, 0.0) + X[i + 1],
}  # fmt: skip

ACCEPTED: dict[str, Value] = {
    "a guard": lambda i: tw.select(i < N - 1, X[i + 1], 0.0),
    "its opposite": lambda i: tw.select(i >= N - 1, 0.0, X[i + 1]),
    "two guards": lambda i: tw.select((i >= 1) & (i < N - 1), X[i - 1] + X[i + 1], 0.0),
    "guards in each other": lambda i: tw.select(
        i >= 1, tw.select(i < N - 1, X[i - 1] + X[i + 1], 0.0), 0.0),
    "the opposite of either": lambda i: tw.select((i < 1) | (i >= N - 1), 0.0, X[i + 1] + X[i - 1]),
    "a guard of a multiple": lambda i: tw.select(i * 2 < N - 1, X[i * 2 + 1], 0.0),
    "a guard and data": lambda i: tw.select((i < N - 1) & (X[i] > 0.0), X[i + 1], 0.0),
    "a guard before data that need it": lambda i: tw.select(
        (i < N - 1) & (X[i + 1] > 0.0), X[i + 1], 0.0),
    "data that need the guard to fail": lambda i: tw.select(
        (i >= N - 1) | (X[i + 1] > 0.0), 0.0, 1.0),
    "a place": lambda i: tw.select(tw.equal(i, 1), X[i * (N // 2)], 0.0),
    "all but a place": lambda i: tw.select(tw.not_equal(i, 0), X[i - 1], 0.0),
    "a table": lambda i: X[i] * tw.select(i < 3, T[i], 0.0),
    "nowhere": lambda i: tw.select((i > 5) & (i < 4), X[i + N], 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_may_leave_is_refused(name: str) -> None:
    with pytest.raises(ExpressionError, match=r"leaves [XT]: index 0 runs from"):
        tw.compute("B", (N,), REFUSED[name])


def test_a_condition_on_data_is_said_to_show_nothing() -> None:
    with pytest.raises(ExpressionError, match="a condition on data does not show"):
        tw.compute("B", (N,), REFUSED["a condition on data"])


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_stays_inside_is_accepted(name: str) -> None:
    assert tw.compute("B", (N,), ACCEPTED[name]).shape == (N,)


def test_padding_is_accepted_in_any_size() -> None:
    def padded(y: tw.Axis, x: tw.Axis) -> Any:
        inside = (y >= 1) & (y < 3001) & (x >= 1) & (x < 3001)
        return tw.select(inside, IMAGE[y - 1, x - 1], 0.0)

    def window(y: tw.Axis, x: tw.Axis) -> Any:
        row, column = y + R - 1, x + R - 1
        inside = (row >= 0) & (row < 3000) & (column >= 0) & (column < 3000)
        return tw.sum(tw.select(inside, IMAGE[row, column], 0.0), over=R)

    R = tw.reduce_axis("r", 3)
    assert tw.compute("B", (3002, 3002), padded).shape == (3002, 3002)
    assert tw.compute("C", (3000, 3000), window).shape == (3000, 3000)


EXTENTS = {"i": 5, "j": 4}


@st.composite
def indices(draw: st.DrawFn) -> Affine:
    steps = [(name, draw(st.integers(-3, 3))) for name in EXTENTS]
    return Affine.sum(draw(st.integers(-6, 6)), steps)


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Scalar:
    kind = draw(st.sampled_from(("within", "and", "or", "not", "data"))) if depth else "within"
    if kind == "within":
        low = draw(st.integers(-3, 3))
        bounds = ((-FAR, low), (low, FAR), (low, low + 1), (low, low + 4))
        return Within(draw(indices()), *draw(st.sampled_from(bounds)))
    if kind == "data":
        return tw.tensor("D", (9,))[0] > 0.0
    one = draw(conditions(depth - 1))
    if kind == "not":
        return invert(one)
    other = draw(conditions(depth - 1))
    return one & other if kind == "and" else one | other


def _holds(condition: Scalar, at: dict[str, Any]) -> bool:
    return bool(np.all(verify.may_hold(condition, at)))


@given(indices(), st.lists(conditions(), max_size=2), st.booleans())
def test_what_is_derived_holds_at_every_point(
    index: Affine, cases: list[Scalar], derived: bool
) -> None:
    """Accepted means that no point is outside; few points are decided exactly."""
    ranges = {name: (0, extent - 1) for name, extent in EXTENTS.items()}
    points = [dict(zip(EXTENTS, p, strict=True)) for p in product(*map(range, EXTENTS.values()))]
    reached = [int(index.evaluate(p)) for p in points if all(_holds(c, p) for c in cases)]
    bounds = (verify.derived if derived else verify.seen)(index, tuple(cases), ranges)
    if not derived:
        assert bounds == ((min(reached), max(reached)) if reached else None)
    elif reached:
        assert bounds
        assert bounds[0] <= min(reached)
        assert max(reached) <= bounds[1]


GUARDED: dict[str, Value] = {
    "data that need the guard": lambda i: tw.cast(
        "float32", (i < 20) & (SHORT[i + 1] > 0.0)),
    "data that need the guard to fail": lambda i: tw.cast(
        "float32", (i >= 20) | (SHORT[i + 1] > 0.0)),
    "both in one": lambda i: tw.select(
        ((i < 20) & (SHORT[i + 1] > 0.0)) | ((i >= 1) & (SHORT[i - 1] > 0.0)), 1.0, SHORT[i]),
    "a table": lambda i: SHORT[i] * tw.select((i < 3) & (SHORT[i] < 9.0), T[i], 5.0),
    "a table on the other side": lambda i: tw.select((i >= 3) | (SHORT[i] > 9.0), 5.0, T[i]),
}  # fmt: skip
SHORT = tw.tensor("S", (21,))


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("name", GUARDED)
def test_a_guarded_load_is_not_executed_outside(name: str, vector: bool) -> None:
    schedule = tw.Schedule(tw.compute("B", (21,), GUARDED[name]))
    schedule = schedule.vectorize("i") if vector else schedule
    check_interpreted(schedule)
    check_compiled(schedule)
