"""Every operator's space holds candidates, and each of them computes what the operator says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.ops import by_numpy
from tests.ops.operators import EDGES, operators

from tilewright.expr.interpret import evaluate
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.runtime.build import build
from tilewright.target import Target
from tilewright.tuning.task import Operator, Task


def check(operator: Operator, candidates: int, seed: int = 0, threads: int = 1) -> None:
    """Compile candidates and compare what they make of poisoned memory with the meaning."""
    task, rng = Task(operator), np.random.default_rng(seed)
    expression = task.expression
    arrays = by_numpy.given(operator, rng)
    wanted = evaluate(expression, arrays)[expression.name]
    rows = task.space.sample(rng, candidates)
    assert len(rows)
    for row in rows:
        config = task.space.config(row)
        kernel = build(task.schedule(config))
        out = np.full(wanted.shape, np.nan, np.float32)
        kernel(*(arrays[b.name] for b in kernel.inputs), out=out, threads=threads)
        message = f"{operator} with {config}"
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4, err_msg=message)


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_candidates_at_the_edges(operator: Operator):
    check(operator, 6, threads=2)


@settings(max_examples=60, deadline=None)
@given(operators())
def test_candidates_of_random_operators(operator: Operator):
    check(operator, 2)


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_what_runs_untuned_is_right(operator: Operator):
    task = Task(operator)
    arrays = by_numpy.given(operator, np.random.default_rng(1))
    kernel = build(task.fallback())
    out = kernel(*(arrays[b.name] for b in kernel.inputs), threads=1)
    np.testing.assert_allclose(out, by_numpy.compute(operator, arrays), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_recorded_steps_rebuild_the_schedule(operator: Operator):
    task = Task(operator)
    for row in task.space.sample(np.random.default_rng(2), 5):
        schedule = task.schedule(task.space.config(row))
        again = type(schedule).from_json(task.expression, schedule.to_json())
        assert str(again.loops) == str(schedule.loops)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_no_space_is_empty_on_any_target(operator: Operator, target: str):
    task = Task(operator, Target(target))
    assert len(task.space.sample(np.random.default_rng(0), 4)) >= 1
    task.schedule(task.space.default())


def test_large_work_has_large_spaces():
    for operator in (Conv2d(1, 56, 56, 64, 64, (3, 3), pads=(1, 1, 1, 1)), Dense(512, 512, 512)):
        assert len(Task(operator).space.sample(np.random.default_rng(0), 2000)) == 2000
