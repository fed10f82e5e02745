"""Operators: what each computes, and a space of ways to compute it; one family a file.

Each is a frozen value, as `Conv2d(1, 56, 56, 64, 64, (3, 3), pads=(1, 1, 1, 1))`: give it to
`tune`, or to a `Task`; its docstring says what its inputs are.
"""

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
    Sigmoid,
    Silu,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu,
)
from tilewright.ops.conv import Conv
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.depthwise import Depthwise, DepthwisePointwise
from tilewright.ops.einsum import Einsum
from tilewright.ops.elementwise import Add, Relu, Transpose
from tilewright.ops.gather import Gather, GatherElements, GatherNd
from tilewright.ops.matmul import Matmul
from tilewright.ops.matvec import MatVec
from tilewright.ops.movement import Concat, Pad, Slice
from tilewright.ops.norm import GroupNorm, InstanceNorm, LayerNorm, RmsNorm
from tilewright.ops.pool import Pool, PoolPlaces
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.ops.quantized import Requantized
from tilewright.ops.recurrent import GruCell, LstmCell
from tilewright.ops.reduce import ArgMax, Reduction
from tilewright.ops.resize import Resize
from tilewright.ops.scan import Scan
from tilewright.ops.scatter import ScatterElements, ScatterNd
from tilewright.ops.softmax import LogSoftmax, Softmax
from tilewright.ops.sort import TopK
from tilewright.ops.transposed import TransposedConv

__all__ = [
    "Activation",
    "Add",
    "ArgMax",
    "Celu",
    "Clip",
    "Concat",
    "Conv",
    "Conv2d",
    "Dense",
    "Depthwise",
    "DepthwisePointwise",
    "Einsum",
    "Elu",
    "Gather",
    "GatherElements",
    "GatherNd",
    "Gelu",
    "GlobalAveragePool",
    "GroupNorm",
    "GruCell",
    "HardSigmoid",
    "HardSwish",
    "InstanceNorm",
    "LayerNorm",
    "LeakyRelu",
    "LogSoftmax",
    "LstmCell",
    "MatVec",
    "Matmul",
    "Mish",
    "Pad",
    "Pool",
    "Pool2d",
    "PoolPlaces",
    "Reduction",
    "Relu",
    "Requantized",
    "Resize",
    "RmsNorm",
    "Scan",
    "ScatterElements",
    "ScatterNd",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Silu",
    "Slice",
    "Softmax",
    "Softplus",
    "Softsign",
    "Tanh",
    "ThresholdedRelu",
    "TopK",
    "Transpose",
    "TransposedConv",
]
