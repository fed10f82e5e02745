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
from tilewright.schedule.strassen import ERRORS, algorithm


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_its_products_are_those_of_matrices(levels: int) -> None:
    """Every product of a part of A and one of B adds to the part that it belongs to."""
    left, right, result = (np.array(m, dtype=float) for m in algorithm(levels))
    assert len(left) == 7**levels
    made = np.einsum("cp,pa,pb->cab", result, left, right).reshape((2**levels,) * 6)
    one = np.eye(2**levels)
    np.testing.assert_array_equal(made, np.einsum("ri,kj,cl->rcikjl", one, one, one))


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(1, 9)] * 3),
    extras=st.tuples(*[st.booleans()] * 3),
    levels=st.sampled_from(sorted(ERRORS)),
)
def test_the_nest_means_the_product(
    sizes: tuple[int, int, int], extras: tuple[bool, bool, bool], levels: int
) -> None:
    """In float64 nothing is lost; in float32 no more than is stated."""
    op = Dense(*sizes, bias=extras[0], residual=extras[1], relu=extras[2])
    rng, name = np.random.default_rng(0), op.expression().name
    data = {t.name: rng.standard_normal(t.shape).astype("f4") for t in op.expression().inputs}
    s = Schedule(op.expression()).strassen("product", levels)
    wanted = evaluate(op.expression(), data)[name]
    # Weights are added up in float64 and rounded once.
    np.testing.assert_allclose(interpret(s.loops, data)[name], wanted, rtol=1e-5, atol=1e-5)
    kernel = tw.build(s, threads=1)
    got = kernel(*(data[b.name] for b in kernel.inputs))
    largest = max(float(np.abs(wanted).max()), 1.0)
    assert np.abs(got - wanted).max() <= (s.error + 2e-6) * largest


def test_steps_are_kept_in_records() -> None:
    for levels in ERRORS:
        s = Schedule(Dense(6, 8, 10).expression()).strassen("product", levels)
        again = Schedule.from_json(s.output, s.to_json())
        assert str(again.loops) == str(s.loops)
        assert again.error == s.error == ERRORS[levels]


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
    with pytest.raises(ScheduleError, match="known for 1 and 2"):
        s.strassen("product", levels=3)
