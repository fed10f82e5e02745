"""Large expressions: many stages are fine, a large value is refused where it is written down."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import Schedule
from tilewright.errors import ExpressionError, ScheduleError
from tilewright.expr.interpret import evaluate
from tilewright.expr.parts import MAX_DEPTH, loads, measure
from tilewright.expr.scalar import Load, Scalar
from tilewright.expr.tensor import Reduce
from tilewright.loops.nodes import Nest, walk
from tilewright.runtime.build import build

A = tw.tensor("A", (600,))


def terms(count: int) -> tw.Tensor:
    def value(i: tw.Axis) -> Any:
        total: Any = A[i]
        for n in range(1, count):
            total = total + A[n]
        return total

    return tw.compute("S", (8,), value)


def chain(stages: int, *, twice: bool = False) -> tw.Tensor:
    def following(name: str, t: tw.Tensor) -> tw.Tensor:
        factor = (lambda i: t[i] * 0.5) if twice else (lambda _: 0.5)
        return tw.compute(name, (16,), lambda i: t[i] * factor(i) + 0.25)

    made = tw.tensor("X", (16,))
    for n in range(stages):
        made = following(f"T{n}", made)
    return made


def test_the_deepest_value_is_built_shown_and_sent() -> None:
    output = terms(MAX_DEPTH)
    given = np.arange(600, dtype=np.float32)
    wanted = evaluate(output, {"A": given})["S"]
    np.testing.assert_allclose(build(output, threads=1)(given), wanted, rtol=1e-6)
    assert repr(output).count("+") == MAX_DEPTH - 1
    assert pickle.loads(pickle.dumps(Schedule(output).loops)) == Schedule(output).loops


@pytest.mark.parametrize("count", [MAX_DEPTH + 1, 500, 5000])
def test_a_value_that_is_too_deep_is_refused(count: int) -> None:
    with pytest.raises(ExpressionError, match=f"nested {count} deep.*Make stages"):
        terms(count)


def test_a_value_with_too_many_parts_is_refused() -> None:
    """Shared parts count each time: as code they are written each time."""

    def value(i: tw.Axis) -> Any:
        total: Any = A[i]
        for _ in range(100):
            total = total * total
        return total

    with pytest.raises(ExpressionError, match="parts"):
        tw.compute("S", (8,), value)


@pytest.mark.parametrize("twice", [False, True])
def test_many_stages_have_a_schedule_that_is_fast_to_find(twice: bool) -> None:
    output = chain(60, twice=twice)
    schedule = tw.Task(output).fallback()
    given = np.linspace(0, 1, 16, dtype=np.float32)
    wanted = evaluate(output, {"X": given})[output.name]
    np.testing.assert_allclose(build(schedule, threads=1)(given), wanted, rtol=1e-5)


def test_many_stages_are_pickled() -> None:
    output = chain(400)
    again = pickle.loads(pickle.dumps(output))
    assert again.digest == output.digest
    assert [t.name for t in again.stages] == [t.name for t in output.stages]


def test_a_pickled_tensor_is_what_it_was() -> None:
    k = tw.reduce_axis("k", 600)
    table = tw.table("W", [1.0, 2.0])
    square = tw.compute("Q", (600,), lambda i: A[i] * A[i])
    output = tw.compute("R", (2,), lambda y: tw.sum(square[k] * A[k] * table[y], over=k))
    again = pickle.loads(pickle.dumps(output))
    assert repr(again) == repr(output)
    assert again.inputs[0].name == "A"
    given = {"A": np.linspace(0, 1, 600, dtype=np.float32)}
    np.testing.assert_array_equal(evaluate(again, given)["R"], evaluate(output, given)["R"])
    assert again.stage
    assert isinstance(again.stage.value, Reduce)
    assert all(isinstance(load, Load) for load in loads(again.stage.value.value))


def test_an_inlined_value_may_not_be_too_deep_either() -> None:
    first = terms(100)
    second = tw.compute("U", (8,), lambda i: _times(first[i], 60))
    with pytest.raises(ScheduleError, match=r"cannot inline 'S'.*'U' reads it.*deep"):
        Schedule(second).inline("S")


def _times(value: Any, count: int) -> Any:
    for n in range(count):
        value = value * A[n]
    return value


def test_a_stage_that_is_read_twice_is_inlined_while_it_is_small() -> None:
    """So that work, and code, do not double with each stage."""
    for stages in (4, 8, 40):
        loops = tw.Task(chain(stages, twice=True)).fallback().loops
        assert max(measure(value)[1] for value in _values(loops)) <= 64


def _values(loops: Nest) -> list[Scalar]:
    return [block.value for _, block in walk(loops.body)]
