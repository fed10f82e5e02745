"""Which ONNX operators are understood, and by which function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.graph.onnx import images, matrices, movement, pointwise
from tilewright.graph.onnx.source import Source

# Each adds nodes for its source and returns the graph's name for the first output.
IMPORTERS: Mapping[str, Callable[[Source], str]] = {
    "Add": pointwise.add,
    "AveragePool": images.average_pool,
    "BatchNormalization": images.batch_norm,
    "Cast": pointwise.cast,
    "CastLike": pointwise.cast_like,
    "Clip": pointwise.clip,
    "Conv": images.conv,
    "Dropout": pointwise.dropout,
    "Flatten": movement.flatten,
    "Gemm": matrices.gemm,
    "GlobalAveragePool": images.global_average_pool,
    "GlobalMaxPool": images.global_max_pool,
    "Identity": pointwise.identity,
    "MatMul": matrices.matmul,
    "MaxPool": images.max_pool,
    "ReduceMean": images.reduce_mean,
    "Relu": pointwise.relu,
    "Reshape": movement.reshape,
    "Squeeze": movement.squeeze,
    "Sum": pointwise.total,
    "Transpose": movement.transpose,
    "Unsqueeze": movement.unsqueeze,
}
