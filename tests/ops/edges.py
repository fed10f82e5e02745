"""Operators of the families of `draws` that lie at an edge, or that have gone wrong before."""

from __future__ import annotations

from tilewright.ops.activation import (
    Activation,
    Celu,
    Clip,
    Elu,
    Gelu,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    Mish,
    Selu,
    Shrink,
    Silu,
    Softplus,
    Softsign,
    ThresholdedRelu,
)
from tilewright.ops.conv import Conv
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.depthwise import Depthwise, DepthwisePointwise
from tilewright.ops.einsum import Einsum
from tilewright.ops.gather import Gather, GatherElements, GatherNd
from tilewright.ops.matmul import Matmul
from tilewright.ops.movement import Concat, Pad, Slice
from tilewright.ops.recurrent import GruCell, LstmCell
from tilewright.ops.reduce import ArgMax
from tilewright.ops.resize import Resize
from tilewright.ops.scan import Scan
from tilewright.ops.scatter import ScatterElements, ScatterNd
from tilewright.ops.sort import TopK
from tilewright.ops.transposed import TransposedConv
from tilewright.tuning.task import Operator

FUNCTIONS = (
    (Gelu(), 997), (Gelu(tanh=True), 64), (Silu(), 1), (HardSwish(), 33), (Elu(0.5), 17),
    (HardSigmoid(), 15), (LeakyRelu(), 31), (Clip(0.0, 6.0), 100),
    (Selu(), 33), (Celu(2.0), 16), (Softplus(), 97), (Softsign(), 31), (Mish(), 50),
    (ThresholdedRelu(), 17), (Shrink(0.3, 0.1), 29),
)  # fmt: skip

FAMILY_EDGES: tuple[Operator, ...] = (
    Matmul(5, 7, 19),
    Matmul(6, 33, 17, transpose_a=True, transpose_b=True, bias=True, relu=True),
    Matmul(3, 8, 21, (2, 3), (2, 3), (1, 3), transpose_b=True, constant="B"),
    Matmul(1, 1, 1, (1,)),
    Matmul(13, 16, 35, (3,), (1,), (3,), transpose_a=True, constant="A"),
    Conv(1, (17,), 5, 19, (4,), (2,), (0, 3), (2,), bias=True, relu=True),
    Conv(2, (9,), 6, 9, (3,), pads=(1, 1), groups=3),
    Conv(1, (1, 1, 1), 1, 1, (1, 1, 1)),
    Conv(1, (3, 5, 7), 3, 18, (2, 3, 3), (1, 2, 1), (1, 0, 1, 0, 2, 1), bias=True, residual=True),
    Conv(1, (4, 4, 5), 4, 6, (3, 1, 2), dilation=(1, 1, 3), groups=2, relu=True),
    Conv2d(1, 7, 9, 33, 33, (3, 3), pads=(1, 1, 1, 1), groups=33, bias=True, relu=True),
    Conv2d(1, 6, 5, 9, 18, (3, 2), (2, 1), groups=9),
    Depthwise(1, 1, 1, 1, (1, 1)),
    Depthwise(1, 13, 11, 33, (3, 3), (2, 2), (0, 1, 1, 0), bias=True, relu=True),
    Depthwise(2, 9, 8, 5, (3, 5), pads=(2, 4, 2, 4), dilation=(2, 2), multiplier=3, bias=True),
    Depthwise(1, 5, 5, 17, (2, 2), multiplier=16, relu=True),
    DepthwisePointwise(1, 1, 1, 1, 1, (1, 1)),
    DepthwisePointwise(1, 13, 11, 19, 35, (3, 3), (1, 1), (1, 1, 1, 1), bias=True, relu=True),
    DepthwisePointwise(2, 7, 7, 16, 8, (3, 3), (2, 2), (0, 0, 1, 1)),
    TransposedConv(1, (1,), 1, 1, (1,), bias=True),
    TransposedConv(1, (7, 5), 8, 19, (4, 4), (2, 2), (1, 1, 1, 1), bias=True, relu=True),
    TransposedConv(2, (4, 3), 6, 9, (3, 2), (3, 2), (1, 0, 0, 2), (2, 1), (2, 1), 3, bias=True),
    TransposedConv(1, (5,), 3, 17, (3,), (2,), (2, 0), (2,), (1,)),  # half is no sum at all
    TransposedConv(1, (2, 3, 2), 2, 5, (3, 2, 3), (2, 1, 2), output_padding=(1, 0, 0), relu=True),
    TransposedConv(1, (6,), 4, 4, (2,), (5,), (3, 1)),  # more phases than taps
    LstmCell(1, 1, 1),
    LstmCell(3, 17, 19),
    LstmCell(8, 16, 32, bias=False),
    LstmCell(3, 5, 17, peepholes=True),
    LstmCell(2, 5, 17, peepholes=True, dtype="float16"),
    GruCell(1, 1, 1),
    GruCell(3, 17, 19),
    GruCell(5, 8, 16, linear_before_reset=True),
    *(GruCell(3, 5, 17, late, dtype="bfloat16") for late in (False, True)),
    Matmul(3, 17, 19, (2,), transpose_b=True, bias=True, relu=True, dtype="uint8"),
    Matmul(5, 8, 16, transpose_a=True, constant="A", dtype="int8"),
    Matmul(5, 33, 18, transpose_b=True, bias=True, dtype="bfloat16"),
    Matmul(13, 4, 2, (3,), transpose_a=True, dtype="bfloat16"),  # no vectors along the columns
    Conv2d(1, 5, 40, 1, 2, (3, 3), pads=(1, 1, 1, 1), dtype="uint8"),
    Conv(1, (17,), 6, 18, (4,), (2,), (0, 3), groups=2, residual=True, relu=True, dtype="int8"),
    Conv(1, (3, 5, 7), 3, 18, (2, 3, 3), pads=(1, 0, 1, 0, 2, 1), bias=True, dtype="float16"),
    Depthwise(1, 13, 11, 33, (3, 3), (2, 2), (0, 1, 1, 0), bias=True, relu=True, dtype="int8"),
    Depthwise(1, 9, 8, 5, (3, 5), pads=(2, 4, 2, 4), multiplier=3, bias=True, dtype="uint8"),
    Depthwise(1, 9, 8, 17, (3, 3), pads=(1, 1, 1, 1), relu=True, dtype="float16"),
    DepthwisePointwise(1, 9, 7, 19, 35, (3, 3), bias=True, relu=True, dtype="bfloat16"),
    DepthwisePointwise(1, 9, 7, 16, 8, (3, 3), dtype="float16"),
    DepthwisePointwise(1, 9, 7, 3, 18, (3, 3), bias=True, dtype="uint8"),
    TransposedConv(1, (7, 5), 8, 19, (4, 4), (2, 2), (1, 1, 1, 1), bias=True, dtype="uint8"),
    TransposedConv(1, (5,), 3, 17, (3,), (2,), (2, 0), (2,), (1,), relu=True, dtype="float16"),
    Concat(((2, 3, 5), (2, 1, 5), (2, 7, 5)), 1),
    Concat(((3, 17), (3, 16)), 1),
    Concat(((3,),), 0),
    Slice.of((7, 19), slice(None, None, -2), slice(3, 18, 3)),
    Slice.of((1,), slice(None)),
    Pad((3, 17), (1, 0), (0, 5), value=1.5),
    Pad((2, 5, 7), (0, 2, 3), (0, 1, 4), "reflect"),
    Pad((1, 4), (2, 0), (1, 3), "edge"),
    Pad((3, 17), (1, 0), (0, 5), value=200, dtype="uint8"),
    Gather((1000, 64), (8,)),
    Gather((7, 5, 17), (2, 3), 1),
    Gather((3, 5, 1), (), -2, index_dtype="int32"),
    Gather((13,), (37,)),
    Gather((1, 1), (1,), 1),
    GatherElements((5, 7, 19), (4, 7, 19), 0),
    GatherElements((11, 13), (11, 17), -1, index_dtype="int32"),
    GatherElements((1, 1), (1, 1)),
    GatherNd((5, 7, 19), (3, 4, 2)),
    GatherNd((2, 3, 5, 4), (2, 3, 6, 1), 2, "int8"),
    GatherNd((7,), (1,), index_dtype="int32"),
    ScatterElements((5, 7), (9, 6), 0, "add"),
    ScatterElements((5, 7, 2), (4, 3, 2), 1, "max", "int8"),
    ScatterElements((3,), (1,), index_dtype="int32"),
    ScatterNd((5, 7, 19), (4, 2), "mul"),
    ScatterNd((5, 7), (2, 3, 1)),
    ScatterNd((3, 3), (5, 2), "min", "bfloat16"),
    Scan("sum", (3, 17, 2), 1, exclusive=True),
    Scan("prod", (5,), reverse=True, dtype="int32"),
    Scan("sum", (2, 33), dtype="float16"),
    Scan("sum", (2, 60, 3), 1, exclusive=True, reverse=True),
    Scan("sum", (3, 144), dtype="float16"),
    Scan("prod", (48,), reverse=True),
    Scan("sum", (64, 2), 0, dtype="int8"),
    Scan("sum", (1, 53)),
    TopK((3, 17, 2), 5, 1),
    TopK((33,), 33, least=True, dtype="int8"),
    TopK((1,), 1),
    Einsum("bij,bjk->bik", ((2, 5, 7), (2, 7, 19))),
    Einsum("ii->i", ((5, 5),)),
    Einsum("ij,k->", ((3, 4), (5,)), "bfloat16"),
    ArgMax((5, 17), least=True, last=True, dtype="uint8"),
    Resize((1, 5, 7, 19), (1, 10, 14, 19)),
    Resize((1, 5, 7, 3), (1, 13, 11, 3), "linear"),
    Resize((1, 5, 7, 3), (1, 13, 11, 3), "linear", dtype="float16"),
    Resize((1, 5, 2, 3), (1, 13, 7, 6), "linear", "asymmetric", dtype="bfloat16"),
    Resize((2, 6, 6, 17), (2, 12, 3, 17), "linear", "align_corners"),
    Resize((13,), (5,), "nearest", "asymmetric", "floor"),
    Resize((1, 1), (1, 7), "linear"),
    Resize((3, 4), (3, 4)),
    Resize((1, 5, 7, 3), (1, 13, 4, 3), "cubic"),
    Resize((9, 5), (4, 11), "cubic", antialias=True, exclude_outside=True),
    Resize((8, 3), (1, 3), "cubic", "asymmetric", antialias=True),
    Resize((2, 17), (2, 5), "linear", "pytorch_half_pixel", antialias=True, dtype="float16"),
    *(Activation((function,), size) for function, size in FUNCTIONS),
    *(Activation((Gelu(), Elu()), 97, dtype) for dtype in ("float16", "bfloat16")),
    Activation((Silu(), Clip(-0.25, 1.0), LeakyRelu(0.3)), 97),
)
