"""The meaning of every operator: the shape it makes and what it computes, a family a file.

Models are imported in terms of these; those named `_nchw` are replaced by the layout pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.operators import batch_norm, conv2d, dense, elementwise, movement, pool2d
from tilewright.graph.operators.operator import Operator

OPERATORS: Mapping[str, Operator] = {
    "conv2d_nchw": conv2d.Conv2dNchw(),
    "batch_norm_nchw": batch_norm.BatchNormNchw(),
    "pool2d_nchw": pool2d.Pool2dNchw(),
    "global_average_pool_nchw": pool2d.GlobalAveragePoolNchw(),
    "conv2d": conv2d.Conv2d(),
    "pool2d": pool2d.Pool2d(),
    "global_average_pool": pool2d.GlobalAveragePool(),
    "dense": dense.Dense(),
    "relu": elementwise.Relu(),
    "add": elementwise.Add(),
    "gather": movement.Gather(),
    "transpose": movement.Transpose(),
    "reshape": movement.Reshape(),
}

__all__ = ["OPERATORS", "Operator"]
