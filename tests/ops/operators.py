"""Operators of every kind, at random and at the edges, for hypothesis and for parametrize."""

from __future__ import annotations

from hypothesis import strategies as st

from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Add, Relu, Transpose
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.tuning.task import Operator

# One of each kind that has gone wrong before, or that lies at an edge.
EDGES: tuple[Operator, ...] = (
    Conv2d(1, 1, 1, 1, 1, (1, 1)),
    Conv2d(1, 1, 1, 1, 1, (3, 3), pads=(1, 1, 1, 1), bias=True, residual=True, relu=True),
    Conv2d(1, 1, 1, 3, 64, (1, 1), bias=True, relu=True),
    Conv2d(2, 1, 7, 1, 17, (1, 3), (1, 2), (0, 1, 0, 2)),
    Conv2d(1, 13, 11, 7, 33, (3, 3), (2, 2), (1, 1, 1, 1), bias=True, relu=True),
    Conv2d(1, 9, 9, 6, 6, (3, 3), pads=(1, 1, 1, 1), groups=6),
    Conv2d(1, 8, 8, 4, 24, (3, 3), (2, 1), (0, 2, 1, 0), (2, 1), groups=2, bias=True),
    Conv2d(1, 3, 8, 4, 12, (1, 4), (3, 1), (1, 2, 3, 3), (2, 2), bias=True),
    Conv2d(1, 2, 2, 3, 5, (2, 2), pads=(3, 3, 3, 3)),  # some windows see padding alone
    Conv2d(1, 4, 5, 8, 18, (4, 2), (3, 3), (3, 3, 2, 2), residual=True, relu=True),
    Dense(1, 1, 1),
    Dense(1, 3, 20, bias=True, residual=True),
    Dense(8, 35, 54, relu=True),
    Dense(10, 16, 54, residual=True, relu=True),
    Dense(7, 1, 17, bias=True),
    Pool2d("max", 2, 6, 6, 17, (3, 2), (3, 2), (1, 0, 1, 1)),
    Pool2d("max", 1, 1, 1, 1, (1, 1)),
    Pool2d("average", 1, 7, 5, 19, (3, 3), (2, 2), (1, 1, 1, 1)),
    Pool2d("average", 1, 7, 5, 3, (3, 3), (2, 2), (1, 0, 0, 1), count_include_pad=True),
    Pool2d("average", 1, 4, 4, 32, (2, 2), (2, 2)),
    GlobalAveragePool(1, 1, 1, 1),
    GlobalAveragePool(2, 5, 5, 22),
    GlobalAveragePool(1, 7, 7, 64),
    Relu(1),
    Relu(997),
    Add((2, 3, 5), (2, 3, 5)),
    Add((2, 3, 17), (1, 1, 17)),
    Add((4, 6), (4, 1)),
    Add((1,), (1,)),
    Transpose((3, 5, 7), (2, 0, 1)),
    Transpose((1, 4, 1, 17), (0, 3, 1, 2)),
    Transpose((5,), (0,)),
)


def pairs(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high))


@st.composite
def convolutions(draw: st.DrawFn) -> Conv2d:
    groups = draw(st.sampled_from((1, 1, 1, 2, 3)))
    pads = (*draw(pairs(0, 3)), *draw(pairs(0, 3)))
    kernel, dilation = draw(pairs(1, 4)), draw(pairs(1, 2))
    least = [max(1, (kernel[d] - 1) * dilation[d] + 1 - pads[d] - pads[d + 2]) for d in range(2)]
    return Conv2d(
        draw(st.integers(1, 2)),
        draw(st.integers(least[0], least[0] + 11)),
        draw(st.integers(least[1], least[1] + 11)),
        groups * draw(st.integers(1, 9)),
        groups * draw(st.integers(1, 35)),
        kernel, draw(pairs(1, 3)), pads, dilation, groups,
        draw(st.booleans()), draw(st.booleans()), draw(st.booleans()),
    )  # fmt: skip


@st.composite
def pools(draw: st.DrawFn) -> Pool2d:
    kernel = draw(pairs(1, 4))
    pads = tuple(draw(st.integers(0, kernel[i % 2] - 1)) for i in range(4))
    least = [max(1, kernel[d] - pads[d] - pads[d + 2]) for d in range(2)]
    return Pool2d(
        draw(st.sampled_from(("max", "average"))),
        draw(st.integers(1, 2)),
        draw(st.integers(least[0], least[0] + 9)),
        draw(st.integers(least[1], least[1] + 9)),
        draw(st.integers(1, 40)),
        kernel, draw(pairs(1, 3)), (pads[0], pads[1], pads[2], pads[3]), draw(st.booleans()),
    )  # fmt: skip


@st.composite
def additions(draw: st.DrawFn) -> Add:
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    return Add(tuple(shape), tuple(n if draw(st.booleans()) else 1 for n in shape))


@st.composite
def transpositions(draw: st.DrawFn) -> Transpose:
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    return Transpose(tuple(shape), tuple(draw(st.permutations(range(len(shape))))))


SMALL, SIZES, FLAGS = st.integers(1, 8), st.integers(1, 40), st.booleans()


def operators() -> st.SearchStrategy[Operator]:
    return st.one_of(
        convolutions(),
        convolutions(),
        st.builds(Dense, SIZES, SIZES, st.integers(1, 70), FLAGS, FLAGS, FLAGS),
        pools(),
        st.builds(GlobalAveragePool, st.integers(1, 2), SMALL, SMALL, SIZES),
        st.builds(Relu, st.integers(1, 300)),
        additions(),
        transpositions(),
    )
