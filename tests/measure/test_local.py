"""Real candidates on this machine: what is right is timed, what is not never gets a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.expr.parts import rebuild
from tilewright.expr.scalar import Load, Scalar, Unary, Within
from tilewright.expr.tensor import Tensor
from tilewright.loops.nodes import Block, Nest, Node, rewrite
from tilewright.measure.build import Built, Request, build
from tilewright.measure.local import Local
from tilewright.measure.run import Clock, Problem, Runner
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.records import Failed, Measured
from tilewright.target import host
from tilewright.tuning.task import Task


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with Local(timeout=5.0, repeats=3, sample=1e-4) as measurer:
        yield measurer


def scaled(n: int, factor: float = 2.0, names: tuple[str, str] = ("X", "Y")) -> Tensor:
    x = tw.tensor(names[0], (n,))
    return tw.compute(names[1], (n,), lambda i: x[i] * factor)


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


@pytest.mark.parametrize("n", [1, 256, (1 << 20) + 1, 3 << 20], ids="{} elements".format)
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_a_spoilt_input_is_found_whatever_its_size(n: int, dtype: str):
    """Even if the result is right and only the last element is another, or not a number now."""
    x = tw.tensor("X", (n,), dtype)
    expression = tw.compute("Y", (n,), lambda i: x[i] + 1)
    nest = tw.Schedule(expression).loops
    spoils = changed(nest, lambda b: replace(b, buffer="X", guards=(Within(b.index[0], n - 1, n),)))
    built = compiled(request(expression, replace(nest, body=(*nest.body, *spoils.body))))
    run = Runner(Clock(repeats=1, sample=1e-6))
    outcome = run(built)
    assert isinstance(outcome, Failed)
    assert outcome.message == "it wrote to its inputs, or beside them."
    assert isinstance(run(compiled(request(expression))), Measured)


def test_a_spoilt_packed_constant_is_found():
    """It is packed once and used by every call, so the second result would be wrong."""
    w = tw.tensor("W", (8, 4), constant=True)
    x = tw.tensor("X", (4, 8))
    expression = tw.compute("Y", (4, 8), lambda i, j: x[i, j] + w[j, i])
    nest = tw.Schedule(expression).pack("W").loops
    spoils = changed(nest, lambda b: replace(b, buffer="W.packed"))
    run = Runner(Clock(repeats=1, sample=1e-6))
    outcome = run(compiled(request(expression, replace(nest, body=(*nest.body, *spoils.body)))))
    assert isinstance(outcome, Failed)
    assert outcome.message == "it wrote to its inputs, or beside them."
    assert isinstance(run(compiled(request(expression, nest))), Measured)


def test_equal_work_under_other_names_is_run_with_its_own():
    run = Runner(Clock(repeats=1, sample=1e-6))
    for names in ("X", "Y"), ("Y", "X"), ("in", "out"):
        assert isinstance(run(compiled(request(scaled(64, names=names)))), Measured)


def compiled(wanted: Request) -> Built:
    made = build(wanted)
    assert isinstance(made, Built)
    return made


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
    x = tw.tensor("X", (8,), "int32")
    whole = tw.compute("Y", (8,), lambda i: Unary("floor", x[i], "int32"))  # tw.floor refuses it
    (outcome,) = local.measure([request(whole)])
    assert isinstance(outcome, Failed)
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
    assert problem.compare(result) == (0.0, "")
    for stray in (np.nan, np.inf, -np.inf):
        error, wrong = problem.compare(np.array([stray, *result[1:]], np.float32))
        assert error == np.inf
        assert "differs from the reference by inf at [0]" in wrong


def test_large_integers_are_compared_exactly():
    x = tw.tensor("X", (4,), "int64")
    problem = Problem.make(tw.compute("Y", (4,), lambda i: x[i] + (1 << 60)), "", 0)
    assert problem.compare(problem.reference) == (0.0, "")
    assert problem.compare(problem.reference + 1)[1]


def test_a_small_result_is_compared_at_its_own_scale(local: Local):
    right, wrong = scaled(64, 1e-9), scaled(64, 1.00001e-9)
    good, bad = local.measure([request(right), request(right, tw.Schedule(wrong).loops)])
    assert isinstance(good, Measured), good
    assert isinstance(bad, Failed)
    assert bad.reason == "wrong"


def test_what_leaves_the_range_of_a_type_is_infinite(local: Local):
    x = tw.tensor("X", (64,))
    out = tw.compute("Y", (64,), lambda i: x[i] * 1e30 * 1e30)
    (outcome,) = local.measure([request(out)])
    assert isinstance(outcome, Measured), outcome
    problem = Problem.make(out, "", 0)
    result = problem.reference.astype(np.float32)
    assert not problem.compare(result)[1]
    assert problem.compare(-result)[1]


@pytest.mark.parametrize("missing", ["in all", "in one"])
def test_a_missing_term_of_a_large_convolution_is_found(missing: str):
    """Of 512 channels and 3x3 taps, 4608 terms: the sum of one element has one less."""
    op = Conv2d(1, 7, 7, 512, 8, (3, 3), pads=(1, 1, 1, 1))
    problem = Problem.make(op.expression(), "", 0)
    image, weights = problem.inputs["X"], problem.inputs["W"]
    term = image[:, :, :, 5, None] * weights[1, 1, 5]  # of the middle tap: no padding there
    result = problem.reference.astype(np.float32)
    assert not problem.compare(result)[1]
    if missing == "in all":
        assert problem.compare(result - term)[1]
        return
    found = 0
    for at in np.ndindex(result.shape):
        one = result.copy()
        one[at] -= term[at]
        found += bool(problem.compare(one)[1])
    assert found > 0.9 * result.size
