"""Programs of elements: what they compute, how they are joined, and where they are applied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright.expr.tensor as te
from tilewright import ops
from tilewright.errors import ExpressionError
from tilewright.expr.interpret import evaluate
from tilewright.ops.fused import Fused, Operand, fused
from tilewright.ops.map import Map
from tilewright.ops.program import LARGE, Program, Step
from tilewright.ops.varying import Varying

RNG = np.random.default_rng(3)
SWISH = Program(1, (Step("sigmoid", (0,)), Step("mul", (0, 1))))


def computed(operator: Any, **arrays: np.ndarray) -> np.ndarray:
    made = operator.expression()
    shapes = {t.name: t.shape for t in made.inputs}
    read = {n: a.reshape(shapes[n]) for n, a in arrays.items() if n in shapes}
    return evaluate(made, read)[made.name]


def applied(program: Program, *values: float) -> float:
    dtypes = ("float32",) * len(values)
    arrays = {f"X{i}": np.full((1,), v, np.float32) for i, v in enumerate(values)}
    return float(computed(Map(program, ((1,),) * len(values), dtypes), **arrays)[0])


@st.composite
def programs(draw: st.DrawFn, least: int = 1) -> Program:
    """Programs of additions and differences: any order of their operands makes another number."""
    inputs = draw(st.integers(least, 3))
    steps: list[Step] = []
    for number in range(inputs, inputs + draw(st.integers(1, 3))):
        operands = draw(st.tuples(*[st.integers(0, number - 1)] * 2))
        steps.append(Step(draw(st.sampled_from(["add", "sub"])), operands))
    return Program(inputs, tuple(steps))


NUMBERS = (1.0, 10.0, 100.0, 1000.0, 10000.0, 100000.0)


@given(programs(), programs(), st.integers(0, 2))
def test_a_program_makes_an_operand_of_another(outer: Program, inner: Program, at: int) -> None:
    at %= outer.inputs
    both = outer.after(inner, at)
    mine, theirs = NUMBERS[: outer.inputs - 1], NUMBERS[3 : 3 + inner.inputs]
    given_outer = [*mine[:at], applied(inner, *theirs), *mine[at:]]
    assert applied(both, *mine, *theirs) == applied(outer, *given_outer)


@given(programs(), programs())
def test_programs_that_follow_each_other(first: Program, then: Program) -> None:
    x, mine, theirs = 7.0, NUMBERS[: first.inputs - 1], NUMBERS[3 : 3 + then.inputs - 1]
    middle = applied(first, x, *mine)
    assert applied(first.followed_by(then), x, *mine, *theirs) == applied(then, middle, *theirs)


@given(programs(2), st.permutations(range(4)))
def test_inputs_at_other_places(program: Program, order: list[int]) -> None:
    places = order[: program.inputs]
    values = [NUMBERS[place] for place in places]
    assert applied(program.with_inputs(places, 4), *NUMBERS[:4]) == applied(program, *values)
    assert applied(program.normal, *values) == applied(program, *values)
    assert program.normal.normal == program.normal


def test_what_a_program_says_of_itself() -> None:
    assert str(SWISH) == "%1 = sigmoid(%0); %2 = mul(%0, %1)"
    assert SWISH.uses == (2, 1, 1)
    assert SWISH.typed(["float16"]).dtype == "float16"
    doubled = Program(1, tuple(Step("add", (i, i)) for i in range(60)))
    assert doubled.size(["float32"]) > LARGE


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Program.of("sin o sin"), "no function of an element; there are constant"),
        (lambda: Program(1, (Step("add", (0, 1)),)), "not made before"),
        (lambda: Program(0, ()), "no result"),
        (lambda: Map(SWISH, ((2,), (2,)), ("float32",) * 2), "each input has a shape"),
        (lambda: Map(Program.of("add", 2), ((2,), (3,)), ("float32",) * 2), "do not fit"),
        (lambda: Fused(ops.Relu(4), Program.of("add", 2)), "given 0 operands"),
        (lambda: Fused(ops.Relu(4), Program.of("add", 2), (Operand((3,)),)), "does not fit"),
    ],
)
def test_what_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        make()


def test_maps_repeat_their_operands() -> None:
    shapes = ((2, 3, 4, 5), (4, 1), (2, 1, 1, 1), ())
    program = Program(4, (Step("mul", (0, 1)), Step("sub", (4, 2)), Step("max", (5, 3))))
    arrays = [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]
    made = computed(
        Map(program, shapes, ("float32",) * 4), **{f"X{i}": a for i, a in enumerate(arrays)}
    )
    a, b, c, d = arrays
    np.testing.assert_allclose(made.reshape(shapes[0]), np.maximum(a * b - c, d), rtol=1e-6)


WORKS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "sums": (ops.Conv2d(1, 5, 4, 3, 6, (3, 3), pads=(1, 1, 1, 1)), (1, 1, 1, 6)),
    "groups": (ops.Conv2d(1, 5, 4, 4, 6, (3, 3), groups=2), (1, 1, 1, 2, 3)),
    "a row": (ops.Dense(5, 7, 6), (5, 1)),
    "another stage": (ops.Dense(5, 7, 6, bias=True), (1, 6)),
    "phases": (ops.TransposedConv(1, (4, 3), 3, 4, (3, 3), (2, 2)), (1, 1, 1, 4)),
    "blocks": (ops.Resize((1, 5, 7, 3), (1, 13, 11, 3), "linear"), (1, 13, 1, 3)),
    "elements": (ops.Relu(12), (12,)),
    "means": (ops.GlobalAveragePool(2, 4, 4, 8), (1, 8)),
    "norms": (ops.LayerNorm((4, 9)), (4, 9)),
}


@pytest.mark.parametrize("name", WORKS)
def test_a_program_behind_any_work(name: str) -> None:
    """max(result * E1, E2), of an operand that is repeated, and of a whole one."""
    work, repeated = WORKS[name]
    inner = work.expression()
    whole = inner.shape
    program = Program(3, (Step("mul", (0, 1)), Step("max", (3, 2))))
    both = Fused(work, program, (Operand(repeated, constant=True), Operand(whole)))
    arrays = {t.name: RNG.standard_normal(t.shape).astype(np.float32) for t in inner.inputs}
    e1, e2 = (RNG.standard_normal(s).astype(np.float32) for s in (repeated, whole))
    made = computed(both, **arrays, E1=e1, E2=e2)
    wanted = np.maximum(computed(work, **arrays) * e1, e2)
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)
    assert both.space == getattr(work, "space", None)


def test_programs_behind_programs_are_one() -> None:
    one = fused(ops.Dense(3, 4, 5), Program.of("add", 2), (Operand((1, 5)),))
    two = fused(one, Program.of("mul", 2), (Operand((3, 5)),))
    assert isinstance(two.work, ops.Dense)
    assert [o.shape for o in two.operands] == [(1, 5), (3, 5)]
    x, w = (RNG.standard_normal(s).astype(np.float32) for s in ((3, 4), (4, 5)))
    e1, e2 = (RNG.standard_normal(s).astype(np.float32) for s in ((5,), (3, 5)))
    np.testing.assert_allclose(
        computed(two, X=x, W=w, E1=e1, E2=e2), (x @ w + e1) * e2, rtol=1e-5, atol=1e-6
    )


def test_weights_that_vary_are_inputs() -> None:
    work = ops.Conv2d(1, 5, 5, 3, 4, (3, 3), bias=True)
    varying = Varying(work, ("W",))
    constant: dict[str, bool] = {t.name: t.constant for t in varying.expression().inputs}
    assert constant == {"X": False, "W": False, "B": True}
    arrays = {
        t.name: RNG.standard_normal(t.shape).astype(np.float32) for t in te.reach(work.expression())
        if t.stage is None
    }  # fmt: skip
    np.testing.assert_array_equal(computed(varying, **arrays), computed(work, **arrays))
