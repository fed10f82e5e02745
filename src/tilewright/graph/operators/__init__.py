"""The meaning of every operator, and what computes it, a family a file.

Models are imported in terms of these; those whose name ends in `_first` have channels first, and
are replaced by the layout pass.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.graph.operators import (
    conv,
    einsum,
    elementwise,
    matmul,
    movement,
    norm,
    order,
    pool,
    recurrent,
    reduction,
    resize,
    sample,
    scatter,
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
    "masked_softmax": norm.MaskedSoftmax(),
    "group_norm": norm.GroupNorm(),
    "gates": recurrent.Gates(),
    "resize": resize.Resize(),
    "grid_sample": sample.GridSample(),
    "roi_align": sample.RoiAlign(),
    "concat": movement.Concat(),
    "slice": movement.Slice(),
    "pad": movement.Pad(),
    "gather": movement.Gather(),
    "gather_elements": movement.GatherElements(),
    "gather_nd": movement.GatherNd(),
    "scatter_elements": scatter.ScatterElements(),
    "scatter_nd": scatter.ScatterNd(),
    "scan": order.Scan(),
    "top_k": order.TopK(),
    "einsum": einsum.Einsum(),
    "transpose": movement.Transpose(),
    "reshape": movement.Reshape(),
}

__all__ = ["OPERATORS", "Operator", "Work"]
