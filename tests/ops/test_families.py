"""Families of operators: what they compute, their spaces, and what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.ops import by_numpy, draws, test_expressions, test_spaces

from tilewright.errors import ExpressionError
from tilewright.loops.nodes import Loop, loops
from tilewright.ops.activation import Activation, Clip
from tilewright.ops.conv import Conv
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.depthwise import Depthwise, DepthwisePointwise
from tilewright.ops.elementwise import Add, Transpose
from tilewright.ops.gather import Gather, GatherElements
from tilewright.ops.matmul import Matmul
from tilewright.ops.movement import Concat, Pad, Slice
from tilewright.ops.recurrent import GruCell, LstmCell
from tilewright.ops.resize import Resize
from tilewright.ops.transposed import TransposedConv
from tilewright.runtime.build import build
from tilewright.schedule.schedule import Schedule
from tilewright.target import Target
from tilewright.tuning.task import Operator, Task

Family = Callable[[draws.Pick], Operator]
FAMILIES = tuple(dict.fromkeys(draws.FAMILIES))
SLOW = HealthCheck.too_slow


@st.composite
def drawn(draw: st.DrawFn, family: Family) -> Operator:
    return family(lambda options: draw(st.sampled_from(list(options))))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_expressions_against_numpy(family: Family):
    @settings(max_examples=40, deadline=None, suppress_health_check=[SLOW])
    @given(drawn(family))
    def check(operator: Operator) -> None:
        test_expressions.check(operator)

    check()


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_candidates(family: Family):
    @settings(max_examples=6, deadline=None, suppress_health_check=[SLOW])
    @given(drawn(family), st.integers(0, 9), st.sampled_from((1, 2)))
    def check(operator: Operator, seed: int, threads: int) -> None:
        test_spaces.check(operator, 1, seed, threads)

    check()


def vectors(schedule: Schedule) -> list[Loop]:
    return [loop for loop in loops(schedule.loops.body) if loop.kind == "vectorize"]


@pytest.mark.parametrize(
    "operator",
    [
        Depthwise(1, 14, 14, 64, (3, 3), pads=(1, 1, 1, 1)),
        Depthwise(1, 14, 14, 64, (3, 3), multiplier=2, bias=True),
        Conv2d(1, 14, 14, 64, 64, (3, 3), pads=(1, 1, 1, 1), groups=64),
        Conv2d(1, 14, 14, 64, 128, (3, 3), groups=64),
        DepthwisePointwise(1, 14, 14, 64, 32, (3, 3), pads=(1, 1, 1, 1), bias=True),
    ],
    ids=lambda o: o.name,
)
def test_depthwise_has_channels_in_vectors_and_tiles_of_pixels(operator: Operator):
    """Each candidate runs over whole vectors of channels; some keep rows and columns of pixels."""
    target = Target("x86-64-v3")
    task = Task(operator, target)
    rows = task.space.sample(np.random.default_rng(0), 40)
    tiles: list[int] = []
    for row in rows:
        schedule = task.schedule(task.space.config(row))
        for loop in vectors(schedule):
            assert int(loop.extent) % target.lanes(4) == 0, str(schedule.loops)
        pixels = [
            int(loop.extent)
            for loop in loops(schedule.loops.body)
            if loop.kind == "unroll"
            and loop.name.startswith(("x.", "y.", "hidden:x.", "hidden:y."))
        ]
        tiles.append(math.prod(pixels))
    assert max(tiles) >= 4


def test_the_depthwise_stage_can_be_kept_near_the_pointwise_one():
    task = Task(DepthwisePointwise(1, 14, 14, 64, 32, (3, 3), bias=True, relu=True))
    rows = task.space.sample(np.random.default_rng(0), 60)
    made = [task.schedule(task.space.config(row)).loops for row in rows]
    scopes = {nest.by_name["hidden"].scope for nest in made if "hidden" in nest.by_name}
    assert "local" in scopes
    assert min(len(nest.body) for nest in made) == 1 < max(len(nest.body) for nest in made)


def test_transposed_convolution_multiplies_no_inserted_zero():
    """As many multiply-adds as a convolution back, up to rounding the taps up to whole phases."""
    forth = TransposedConv(1, (8, 8), 16, 32, (4, 4), (2, 2), (1, 1, 1, 1))
    assert forth.out == (16, 16)
    assert forth.expression().flops == 2 * 16 * 16 * 32 * 16 * 2 * 2
    # With a stride of three and this padding, one phase begins an element further out.
    third = TransposedConv(1, (8,), 16, 32, (3,), (3,), (1, 1))
    assert third.expression().flops == 2 * 3 * 8 * 32 * 16


def test_resizing_reads_few_elements():
    for size in (448, 112, 300, 223):
        for mode in ("nearest", "linear"):
            assert Resize((1, 224, 3), (1, size, 3), mode).expression().flops <= 14 * size * 3


def test_movement_copies_what_is_not_a_number():
    x = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0]] * 3, np.float32)
    for operator in (
        Pad((3, 5), (1, 2), (1, 2), "reflect"),
        Resize((3, 5), (7, 13)),
        Concat(((3, 5), (3, 5)), 1),
        Slice.of((3, 5), slice(None), slice(None, None, -1)),
    ):
        task = Task(operator)
        kernel = build(task.fallback())
        got = kernel(*(x for _ in kernel.inputs))
        names = [t.name for t in task.expression.inputs]
        wanted = by_numpy.compute(operator, dict.fromkeys(names, x))
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Matmul(4, 4, 4, (2, 3), (2, 2)), "batch_a"),
        (lambda: Matmul(4, 4, 4, (2, 3), None, (3,)), "batch_b"),
        (lambda: Matmul(4, 4, 4, constant="C"), "'A', 'B', or ''"),
        (lambda: Matmul(0, 4, 4), "at least 1"),
        (lambda: Conv(1, (8, 8, 8, 8), 4, 4, (1, 1, 1, 1)), "one to three extents"),
        (lambda: Conv(1, 8, 4, 4, (3,)), "size=8"),  # type: ignore[arg-type]
        (lambda: Conv(1, (8,), 4, 4, 3), "kernel=3"),  # type: ignore[arg-type]
        (lambda: Conv(1, (8,), 4, 4, (2.5,)), "whole numbers"),  # type: ignore[arg-type]
        (lambda: Conv(1, (8,), 4, 4, (3, 3)), "with kernel"),
        (lambda: Conv(1, (8,), 4, 4, (3,), (0,)), "stride=.*at least 1"),
        (lambda: Conv(1, (8,), 4, 4, (3,), pads=(1,)), "with pads"),
        (lambda: Conv(1, (8,), 4, 4, (3,), pads=(-1, 0)), "at least 0"),
        (lambda: Conv(1, (2,), 4, 4, (3,)), "would be empty"),
        (lambda: Conv(1, (8,), 4, 6, (3,), groups=4), "must divide"),
        (lambda: Depthwise(1, 2, 8, 4, (3, 3)), "would be empty"),
        (lambda: Depthwise(1, 8, 8, 4, (3, 3), multiplier=0), "at least 1"),
        (lambda: DepthwisePointwise(1, 8, 8, 4, 4, (3, 3), stride=(0, 1)), "stride="),
        (lambda: TransposedConv(1, (8,), 4, 4, (3,), (2,), output_padding=(2,)), "less than"),
        (lambda: TransposedConv(1, (2,), 4, 4, (3,), pads=(2, 2)), "would be empty"),
        (lambda: TransposedConv(1, (8,), 4, 4, (3,), groups=3), "must divide"),
        (lambda: DepthwisePointwise(1, 8, 8, 4, 0, (3, 3)), "at least 1"),
        (lambda: LstmCell(1, 0, 4), "at least 1"),
        (lambda: LstmCell(1, 4, 4, dtype="int8"), "lstm cell of int8: it is of floats"),
        (lambda: GruCell(1, 4, 4, dtype="int32"), "gru cell of int32: it is of floats"),
        (lambda: Pad((4,), (1,), (0,), value=1.5, dtype="int8"), "number of that type"),
        (lambda: Pad((4,), (1,), (0,), value=-1, dtype="uint8"), "number of that type"),
        (lambda: GruCell(0, 4, 4), "at least 1"),
        (lambda: Concat(((2, 3), (3, 3)), 1), "must agree"),
        (lambda: Concat(((2, 3), (2, 3)), 2), "from 0 to 1"),
        (lambda: Concat((), 0), "along axis"),
        (lambda: Slice((4,), (0,), (5,), (1,)), "inside of X"),
        (lambda: Slice((4, 4), (0,), (2,), (1,)), "all three"),
        (lambda: Slice.of((4,), slice(4, 4)), "at least one element"),
        (lambda: Pad((4,), (1,), (1,), "wrap"), "constant, edge or reflect"),
        (lambda: Pad((4,), (4,), (0,), "reflect"), "reflected"),
        (lambda: Pad((4,), (-1,), (0,)), "at least 0"),
        (lambda: Resize((4,), (4, 4)), "for each dimension"),
        (lambda: Resize((4,), (0,)), "at least 1"),
        (lambda: Resize((4,), (8,), "quintic"), "nearest, linear, cubic"),
        (lambda: Resize((4,), (8,), "linear", dtype="int32"), "takes floats"),
        (lambda: Gather((4,), (2,), 1), "from -1 to 0"),
        (lambda: Gather((4,), (0,)), "at least 1"),
        (lambda: Gather((4,), (2,), index_dtype="float32"), "integers"),
        (lambda: GatherElements((4, 4), (4,)), "as many dimensions"),
        (lambda: GatherElements((4, 4), (4, 5)), "none of them longer but for axis 0"),
        (lambda: Activation((), 4), "at least one"),
        (lambda: Add((4, 4), (4, 3)), "repeated"),
        (lambda: Add((4, 4), (4,)), "as many extents"),
        (lambda: Transpose((4, 4), (0, 2)), "each of its dimensions once"),
        (lambda: Transpose((4, 4), (0,)), "each of its dimensions once"),
        (lambda: Clip(1.0, 0.0), "lower"),
    ],
)  # fmt: skip
def test_what_cannot_be_says_why(make: Callable[[], object], message: str):
    with pytest.raises(ExpressionError, match=message):
        make()
