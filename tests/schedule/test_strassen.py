"""Strassen's algorithm: exact in exact arithmetic, for any size; refused elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.errors import ScheduleError
from tilewright.expr.interpret import evaluate
from tilewright.loops.interpret import interpret
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.matmul import Matmul
from tilewright.schedule.schedule import Schedule
from tilewright.schedule.strassen import LEFT, RESULT, RIGHT


def test_seven_products_are_eight() -> None:
    """Every product of a quarter of A and one of B adds to the quarter that it belongs to."""
    left, right, result = (np.array(m, dtype=float) for m in (LEFT, RIGHT, RESULT))
    made = np.einsum("cp,pa,pb->cab", result, left, right).reshape(2, 2, 2, 2, 2, 2)
    np.testing.assert_array_equal(made, _products())


def _products() -> np.ndarray:
    wanted = np.zeros((2,) * 6)
    for row in range(2):
        for column in range(2):
            for depth in range(2):
                wanted[row, column, row, depth, depth, column] = 1.0
    return wanted


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 9)] * 3),
    extras=st.tuples(*[st.booleans()] * 3),
)
def test_the_nest_means_the_product(
    sizes: tuple[int, int, int], extras: tuple[bool, bool, bool]
) -> None:
    """In float64 nothing is lost; in float32 no more than is stated."""
    op = Dense(*sizes, bias=extras[0], residual=extras[1], relu=extras[2])
    rng, name = np.random.default_rng(0), op.expression().name
    data = {t.name: rng.standard_normal(t.shape).astype("f4") for t in op.expression().inputs}
    s = Schedule(op.expression()).strassen("product")
    wanted = evaluate(op.expression(), data)[name]
    # Weights are added up in float64 and rounded once.
    np.testing.assert_allclose(interpret(s.loops, data)[name], wanted, rtol=1e-5, atol=1e-5)
    kernel = tw.build(s, threads=1)
    got = kernel(*(data[b.name] for b in kernel.inputs))
    largest = max(float(np.abs(wanted).max()), 1.0)
    assert np.abs(got - wanted).max() <= (s.error + 2e-6) * largest


def test_steps_are_kept_in_records() -> None:
    s = Schedule(Dense(6, 8, 10).expression()).strassen("product")
    again = Schedule.from_json(s.output, s.to_json())
    assert str(again.loops) == str(s.loops)
    assert again.error == s.error > 0


REFUSED: dict[str, tuple[Any, str]] = {
    "weights given at run time": (Matmul(4, 4, 4), "constant weights"),
    "a convolution": (Conv2d(1, 4, 4, 4, 4, (3, 3)), "one sum's loop and a column's"),
    "short floats": (Dense(4, 4, 4, dtype="float64"), "float32 only"),
    "no product": (tw.ops.Relu(8), "no sum of products"),
    "weights of each batch": (
        Matmul(4, 4, 4, batch=(3,), constant="B"), "one sum's loop and a column's",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refused(case: tuple[Any, str]) -> None:
    op, said = case
    schedule = Schedule(op.expression())
    stage = next(t.name for t in op.expression().stages)
    with pytest.raises(ScheduleError, match=said):
        schedule.strassen(stage)


def test_a_scheduled_stage_is_refused() -> None:
    s = Schedule(Dense(8, 8, 8).expression())
    with pytest.raises(ScheduleError, match="already scheduled"):
        s.vectorize("x_").strassen("product")
    with pytest.raises(ScheduleError, match="there is none"):
        s.strassen("nothing")
