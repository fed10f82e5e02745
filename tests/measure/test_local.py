"""Real candidates on this machine: what is right is timed, what is not never gets a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.expr.scalar import Load, Scalar, Unary, rebuild
from tilewright.expr.tensor import Tensor
from tilewright.loops.nodes import Block, Nest, Node, rewrite
from tilewright.measure.build import Request
from tilewright.measure.local import Local
from tilewright.measure.run import Problem
from tilewright.ops.dense import Dense
from tilewright.records import Failed, Measured
from tilewright.target import host
from tilewright.tuning.task import Task


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with Local(timeout=5.0, repeats=3, sample=1e-4) as measurer:
        yield measurer


def scaled(n: int, factor: float = 2.0) -> Tensor:
    x = tw.tensor("X", (n,))
    return tw.compute("Y", (n,), lambda i: x[i] * factor)


def request(expression: Tensor, nest: Nest | None = None, best: float | None = None) -> Request:
    return Request(expression, nest or tw.Schedule(expression).loops, host(), 1, best)


def changed(nest: Nest, change: Callable[[Block], Block]) -> Nest:
    def visit(node: Node) -> Node:
        return change(node) if isinstance(node, Block) else node

    return replace(nest, body=rewrite(nest.body, visit))


def test_a_good_candidate_is_timed(local: Local):
    task = Task(Dense(4, 32, 24, bias=True, relu=True))
    rows = task.space.sample(np.random.default_rng(0), 6)
    requests = [
        request(task.expression, task.schedule(task.space.config(row)).loops) for row in rows
    ]
    for outcome in local.measure(requests):
        assert isinstance(outcome, Measured), outcome
        assert len(outcome.seconds) == 3
        assert outcome.error < 1e-4


def test_a_wrong_result_is_found(local: Local):
    right, wrong = scaled(100), scaled(100, 3.0)
    (outcome,) = local.measure([request(right, tw.Schedule(wrong).loops)])
    assert isinstance(outcome, Failed)
    assert (outcome.stage, outcome.reason) == ("verify", "wrong")
    assert "differs from the reference by" in outcome.message


def test_an_element_that_is_not_written_is_found(local: Local):
    expression = scaled(64)
    nest = tw.Schedule(expression).loops
    (loop,) = nest.body
    short = replace(nest, body=(replace(loop, extent=63),))
    (outcome,) = local.measure([request(expression, short)])
    assert isinstance(outcome, Failed)
    assert outcome.reason == "wrong"


@pytest.mark.parametrize("by", [1, 64, 5000, -1, -64, -5000])
def test_stores_out_of_bounds_never_pass(local: Local, by: int):
    expression = scaled(1024)
    nest = changed(tw.Schedule(expression).loops, lambda b: replace(b, index=(b.index[0] + by,)))
    (outcome,) = local.measure([request(expression, nest)])
    assert isinstance(outcome, Failed)
    assert outcome.reason in ("crash", "wrong")


@pytest.mark.parametrize("by", [1, 1000])
def test_loads_beyond_the_end_crash(local: Local, by: int):
    def later(part: Scalar) -> Scalar:
        return replace(part, index=(part.index[0] + by,)) if isinstance(part, Load) else part

    expression = scaled(1024)
    nest = changed(
        tw.Schedule(expression).loops, lambda b: replace(b, value=rebuild(b.value, later))
    )
    (outcome,) = local.measure([request(expression, nest)])
    assert isinstance(outcome, Failed)
    assert (outcome.stage, outcome.reason) == ("run", "crash")
    assert "SIGSEGV" in outcome.message or "SIGBUS" in outcome.message


def test_a_candidate_that_spoils_its_input_spoils_only_itself(local: Local):
    expression = scaled(256)
    good = request(expression)
    nest = tw.Schedule(expression).loops
    spoils = changed(nest, lambda b: replace(b, buffer="X"))
    both = replace(nest, body=(*nest.body, *spoils.body))
    first, *spoilt, last = local.measure(
        [good, request(expression, spoils), good, request(expression, both), good]
    )
    assert isinstance(first, Measured)
    assert [type(outcome) for outcome in spoilt] == [Failed, Measured, Failed]
    assert isinstance(last, Measured)


def test_a_slow_candidate_is_timed_once(local: Local):
    expression = scaled(4096)
    slow, fast = local.measure([request(expression, best=1e-12), request(expression, best=1.0)])
    assert isinstance(slow, Measured)
    assert isinstance(fast, Measured)
    assert (len(slow.seconds), len(fast.seconds)) == (1, 3)


def test_what_has_no_value_is_no_difference(local: Local):
    x = tw.tensor("X", (64,))
    root = tw.compute("Y", (64,), lambda i: Unary("sqrt", x[i], "float32"))
    (outcome,) = local.measure([request(root)])
    assert isinstance(outcome, Measured), outcome


def test_a_nest_without_code_fails_in_the_build(local: Local):
    x = tw.tensor("X", (8,))
    erf = tw.compute("Y", (8,), lambda i: Unary("erf", x[i], "float32"))
    (outcome,) = local.measure([request(erf)])
    if isinstance(outcome, Failed):  # the day it has code, this has nothing to say
        assert (outcome.stage, outcome.reason) == ("build", "error")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "int64"])
def test_every_dtype_is_verified(local: Local, dtype: str):
    x, y = tw.tensor("X", (37,), dtype), tw.tensor("Y", (37,), dtype)
    (outcome,) = local.measure([request(tw.compute("Z", (37,), lambda i: x[i] + y[i]))])
    assert isinstance(outcome, Measured), outcome


def test_stray_values_are_infinitely_wrong():
    x = tw.tensor("X", (4,))
    problem = Problem.make(tw.compute("Y", (4,), lambda i: x[i] * 1.0), "", 0)
    result = problem.reference.astype(np.float32)
    assert problem.error(result) <= problem.tolerance
    for stray in (np.nan, np.inf, -np.inf):
        assert problem.error(np.array([stray, *result[1:]], np.float32)) == np.inf
