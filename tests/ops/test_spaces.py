"""Every operator's space holds candidates, and each of them computes what the operator says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.ops import by_numpy
from tests.ops.operators import EDGES, operators

from tilewright import dtypes
from tilewright.measure.guard import poison
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.runtime.build import build
from tilewright.target import Target, host
from tilewright.tuning.task import Operator, Task


def check(
    operator: Operator, candidates: int, seed: int = 0, threads: int = 1, target: str = ""
) -> None:
    """Compile candidates and compare what they make of poisoned memory with the meaning."""
    task = Task(operator, Target(target) if target else host())
    rng = np.random.default_rng(seed)
    arrays = by_numpy.given(operator, rng)
    out = np.empty(task.expression.shape, dtypes.numpy(task.expression.dtype))
    rows = task.space.sample(rng, candidates)
    assert len(rows)
    for row in rows:
        config = task.space.config(row)
        schedule = task.schedule(config)
        kernel = build(schedule, task.target)
        poison(out)
        kernel(*(arrays[b.name] for b in kernel.inputs), out=out, threads=threads)
        try:
            by_numpy.check(operator, out, arrays, schedule.error)
        except AssertionError as error:
            raise AssertionError(f"{operator} with {config}\n{error}") from None


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_candidates_at_the_edges(operator: Operator):
    check(operator, 6, threads=2)


@pytest.mark.skipif(not host().triple.startswith("x86_64"), reason="targets of x86-64")
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_candidates_on_narrower_targets(operator: Operator, target: str):
    if host().vector_bytes < Target(target).vector_bytes:
        pytest.skip("this machine has no AVX2")
    check(operator, 1, target=target)


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
    by_numpy.check(operator, out, arrays)


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_recorded_steps_rebuild_the_schedule(operator: Operator):
    task = Task(operator)
    for row in task.space.sample(np.random.default_rng(2), 5):
        schedule = task.schedule(task.space.config(row))
        again = type(schedule).from_json(task.expression, schedule.to_json())
        assert str(again.loops) == str(schedule.loops)


@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64"])
@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_no_space_is_empty_on_any_target(operator: Operator, target: str):
    task = Task(operator, Target(target))
    assert len(task.space.sample(np.random.default_rng(0), 4)) >= 1
    task.schedule(task.space.default())


def test_large_work_has_large_spaces():
    for operator in (Conv2d(1, 56, 56, 64, 64, (3, 3), pads=(1, 1, 1, 1)), Dense(512, 512, 512)):
        assert len(Task(operator).space.sample(np.random.default_rng(0), 2000)) == 2000
