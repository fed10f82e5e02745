"""Which ONNX operators are understood, and by which function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.graph.onnx import images, matrices, movement, normalise, pointwise, pooling, resize
from tilewright.graph.onnx.source import Source

# Each adds nodes for its source and returns the graph's name for the first output, or for all.
IMPORTERS: Mapping[str, Callable[[Source], str | tuple[str, ...]]] = {
    "Abs": pointwise.function("abs"),
    "Add": pointwise.function("add", 2),
    "AveragePool": pooling.average_pool,
    "BatchNormalization": normalise.batch_norm,
    "Cast": pointwise.cast,
    "CastLike": pointwise.cast_like,
    "Clip": pointwise.clip,
    "Col2Im": images.columns_to_image,
    "Conv": images.conv,
    "ConvTranspose": images.transposed_conv,
    "Div": pointwise.function("div", 2),
    "Dropout": pointwise.dropout,
    "Elu": pointwise.activation("elu", alpha=1.0),
    "Equal": pointwise.function("equal", 2),
    "Erf": pointwise.function("erf"),
    "Exp": pointwise.function("exp"),
    "Flatten": movement.flatten,
    "Floor": pointwise.function("floor"),
    "Gather": movement.gather,
    "Gemm": matrices.gemm,
    "GlobalAveragePool": pooling.global_average_pool,
    "GlobalLpPool": pooling.global_lp_pool,
    "GlobalMaxPool": pooling.global_max_pool,
    "GroupNormalization": normalise.group_norm,
    "HardSigmoid": pointwise.activation("hard_sigmoid", alpha=0.2, beta=0.5),
    "HardSwish": pointwise.activation("hard_swish"),
    "Identity": pointwise.identity,
    "InstanceNormalization": normalise.instance_norm,
    "LRN": normalise.local_response_norm,
    "LeakyRelu": pointwise.activation("leaky_relu", alpha=0.01),
    "Log": pointwise.function("log"),
    "LpNormalization": normalise.lp_norm,
    "LpPool": pooling.lp_pool,
    "MatMul": matrices.matmul,
    "Max": pointwise.folded("max"),
    "MaxPool": pooling.max_pool,
    "MeanVarianceNormalization": normalise.mean_variance_norm,
    "Min": pointwise.folded("min"),
    "Mul": pointwise.function("mul", 2),
    "Neg": pointwise.function("neg"),
    "Relu": pointwise.function("relu"),
    "Reshape": movement.reshape,
    "Resize": resize.resize,
    "Round": pointwise.function("rint"),
    "Sigmoid": pointwise.function("sigmoid"),
    "Sqrt": pointwise.function("sqrt"),
    "Squeeze": movement.squeeze,
    "Sub": pointwise.function("sub", 2),
    "Sum": pointwise.folded("add"),
    "Tanh": pointwise.function("tanh"),
    "Transpose": movement.transpose,
    "Unsqueeze": movement.unsqueeze,
    "Upsample": resize.upsample,
    "Where": pointwise.function("select", 3),
}


def supported() -> str:
    """List the operators that are understood."""
    return ", ".join(sorted(IMPORTERS))
