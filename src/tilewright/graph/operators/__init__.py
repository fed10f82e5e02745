"""The meaning of every operator, and what computes it, a family a file.

Models are imported in terms of these; those whose name ends in `_first` have channels first, and
are replaced by the layout pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.operators import (
    conv,
    elementwise,
    matmul,
    movement,
    norm,
    pool,
    reduction,
    resize,
)
from tilewright.graph.operators.operator import Operator, Work

OPERATORS: Mapping[str, Operator] = {
    "conv_first": conv.ConvFirst(),
    "transposed_conv_first": conv.TransposedConvFirst(),
    "pool_first": pool.PoolFirst(),
    "conv": conv.Conv(),
    "transposed_conv": conv.TransposedConv(),
    "pool": pool.Pool(),
    "pool_places": pool.PoolPlaces(),
    "window_sum": pool.WindowSum(),
    "matmul": matmul.Matmul(),
    "map": elementwise.Elementwise(),
    "reduce": reduction.Reduce(),
    "argmax": reduction.ArgMax(),
    "softmax": reduction.Softmax(),
    "layer_norm": norm.LayerNorm(),
    "group_norm": norm.GroupNorm(),
    "resize": resize.Resize(),
    "concat": movement.Concat(),
    "slice": movement.Slice(),
    "pad": movement.Pad(),
    "gather": movement.Gather(),
    "gather_elements": movement.GatherElements(),
    "transpose": movement.Transpose(),
    "reshape": movement.Reshape(),
}

__all__ = ["OPERATORS", "Operator", "Work"]
