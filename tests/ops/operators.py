"""Operators of every kind, at random and at the edges, for hypothesis and for parametrize."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.ops import draws
from tests.ops.edges import FAMILY_EDGES

from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Add, Relu, Transpose
from tilewright.ops.matvec import MatVec
from tilewright.ops.norm import GroupNorm, InstanceNorm, LayerNorm, RmsNorm
from tilewright.ops.pool import Pool, PoolPlaces
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.ops.reduce import KINDS, Reduction
from tilewright.ops.softmax import LogSoftmax, Softmax
from tilewright.tuning.task import Operator

# One of each kind that has gone wrong before, or that lies at an edge.
EDGES: tuple[Operator, ...] = (
    *FAMILY_EDGES,
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
    Pool("max", 2, (9,), 5, (3,), (2,), (1, 2), (2,), (1,)),
    Pool("average", 1, (4, 5, 3), 6, (2, 3, 2), (1, 2, 1), (0, 1, 1, 1, 1, 0)),
    Pool(
        "average", 1, (7, 5), 3, (3, 2), pads=(1, 0, 0, 1), overhang=(1, 1), count_include_pad=True
    ),
    Pool("sum", 3, (17,), 4, (5,), pads=(2, 2)),
    Pool("sum", 1, (6, 6), 8, (2, 2), (2, 2), dtype="uint8"),
    PoolPlaces(6, (5, 4), (3, 2), (2, 1), (1, 0, 1, 1)),
    PoolPlaces(2, (3, 4, 5), (2, 2, 2), columns=True),
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
    Softmax((1,)),
    Softmax((7, 101)),
    Softmax((3, 13, 17), 1),
    Softmax((64, 2), 0),
    Softmax((6, 37), masked=True),
    LogSoftmax((5, 64)),
    LogSoftmax((2, 3, 33), -2),
    LayerNorm((1, 1)),
    LayerNorm((3, 5, 37), 1),
    LayerNorm((4, 128), scale=False),
    RmsNorm((6, 97)),
    RmsNorm((31,), scale=False),
    GroupNorm(2, 12, 35, 3),
    GroupNorm(2, 12, 35, 3, channels_last=True),
    GroupNorm(1, 4, 1, 1, bias=False),
    InstanceNorm(2, 3, 49),
    InstanceNorm(1, 17, 9, channels_last=True),
    Reduction("sum", (1,), (0,)),
    Reduction("sum", (70001,), (0,)),
    Reduction("max", (3, 20011), (1,)),
    Reduction("mean", (20011, 3), (0,)),
    Reduction("min", (5, 7, 11), (0, 2)),
    Reduction("prod", (4, 9), (-1,)),
    Reduction("mean", (3, 1, 5), (1,)),
    MatVec(1, 1),
    MatVec(1, 40000),
    MatVec(37, 101, bias=True, relu=True),
    MatVec(64, 48, constant=False),
    MatVec(37, 101, bias=True, relu=True, dtype="uint8"),
    *(
        operator
        for dtype in ("float16", "bfloat16")
        for operator in (
            MatVec(37, 101, bias=True, dtype=dtype),
            Pool2d("average", 1, 7, 5, 19, (3, 3), (2, 2), (1, 1, 1, 1), dtype=dtype),
            Pool2d("max", 1, 7, 5, 19, (3, 3), (2, 2), (1, 1, 1, 1), dtype=dtype),
            GlobalAveragePool(1, 5, 5, 22, dtype=dtype),
            Softmax((7, 101), dtype=dtype),
            LogSoftmax((3, 13, 17), 1, dtype),
            LayerNorm((3, 5, 37), 1, dtype=dtype),
            RmsNorm((6, 97), dtype=dtype),
            GroupNorm(2, 12, 35, 3, dtype=dtype),
            InstanceNorm(1, 17, 9, channels_last=True, dtype=dtype),
            Reduction("sum", (70001,), (0,), dtype),
            Reduction("mean", (2011, 3), (0,), dtype),
            Reduction("prod", (4, 9), (-1,), dtype),
        )
    ),
    *(
        operator
        for dtype in ("int8", "uint8")
        for operator in (
            Pool2d("max", 2, 6, 6, 17, (3, 2), (3, 2), (1, 0, 1, 1), dtype=dtype),
            Pool2d("average", 1, 7, 5, 19, (3, 3), (2, 2), (1, 1, 1, 1), dtype=dtype),
            Pool2d(
                "average",
                1,
                8,
                5,
                19,
                (2, 2),
                pads=(1, 1, 0, 1),
                count_include_pad=True,
                dtype=dtype,
            ),
            GlobalAveragePool(1, 6, 6, 22, dtype=dtype),
            Reduction("sum", (70001,), (0,), dtype),
            Reduction("mean", (6, 31), (0,), dtype),
            Reduction("min", (5, 7, 11), (0, 2), dtype),
        )
    ),
    Reduction("prod", (4, 9), (-1,), "int8"),
    Reduction("mean", (66000,), (0,), "uint8"),  # beyond what float32 holds
)


FLOATS = st.sampled_from(draws.FLOATS)
NUMBERS = st.sampled_from(draws.NUMBERS)


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
        draw(st.booleans()), draw(st.booleans()), draw(st.booleans()), draw(NUMBERS),
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
        draw(NUMBERS),
    )  # fmt: skip


@st.composite
def additions(draw: st.DrawFn) -> Add:
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    return Add(tuple(shape), tuple(n if draw(st.booleans()) else 1 for n in shape), draw(NUMBERS))


@st.composite
def transpositions(draw: st.DrawFn) -> Transpose:
    shape = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    return Transpose(tuple(shape), tuple(draw(st.permutations(range(len(shape))))), draw(NUMBERS))


shapes = st.lists(st.sampled_from((1, 2, 3, 5, 7, 8, 16, 17, 33)), min_size=1, max_size=3)


@st.composite
def rowwise(draw: st.DrawFn) -> Operator:
    """Softmax and norms, over any axis."""
    shape = tuple(draw(shapes))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    last, each, groups = draw(FLAGS), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    size = (draw(st.integers(1, 2)), each * groups, draw(st.integers(1, 40)))
    dtype = draw(FLOATS)
    return draw(
        st.sampled_from(
            (
                Softmax(shape, axis, dtype),
                LogSoftmax(shape, axis, dtype),
                LayerNorm(shape, axis, *draw(st.tuples(FLAGS, FLAGS)), dtype=dtype),
                RmsNorm(shape, axis, draw(FLAGS), dtype=dtype),
                GroupNorm(*size, groups, draw(FLAGS), draw(FLAGS), last, dtype=dtype),
                InstanceNorm(*size, channels_last=last, dtype=dtype),
            )
        )
    )


@st.composite
def reductions(draw: st.DrawFn) -> Reduction:
    shape = tuple(draw(shapes))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    kind = draw(st.sampled_from(KINDS))
    return Reduction(kind, shape, tuple(sorted(axes)), draw(NUMBERS))


SMALL, SIZES, FLAGS = st.integers(1, 8), st.integers(1, 40), st.booleans()


def operators() -> st.SearchStrategy[Operator]:
    return st.one_of(
        convolutions(),
        convolutions(),
        st.builds(Dense, SIZES, SIZES, st.integers(1, 70), FLAGS, FLAGS, FLAGS, NUMBERS),
        pools(),
        st.builds(GlobalAveragePool, st.integers(1, 2), SMALL, SMALL, SIZES, NUMBERS),
        st.builds(Relu, st.integers(1, 300), NUMBERS),
        additions(),
        transpositions(),
        rowwise(),
        reductions(),
        st.builds(MatVec, SIZES, st.integers(1, 200), FLAGS, FLAGS, FLAGS, NUMBERS),
    )
