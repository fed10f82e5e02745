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
    "Gather": movement.gather,
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

# What is supported only in part, for the list that an error shows.
_ONLY = {
    "Cast": "to float32",
    "Clip": "as ReLU",
    "Conv": "of images, with constant weights",
    "Gemm": "with constant weights",
    "MatMul": "with constant weights",
    "ReduceMean": "over the image",
}


def supported() -> str:
    """List the operators that are understood, and in which part."""
    return ", ".join(f"{op} ({_ONLY[op]})" if op in _ONLY else op for op in sorted(IMPORTERS))
