"""Inputs that a compiled program needs to know: those that decide shapes, and weights.

The tests of the package feed everything as data; a network holds these as constants. A case that is
refused is tried again with them as constants, and is counted apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.inliner

# Which inputs decide what is computed, rather than being computed with.
_ATTRIBUTES: Mapping[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), (0,)),
    **dict.fromkeys(("CastLike", "CenterCropPad"), (1,)),
    "Clip": (1, 2),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    **dict.fromkeys(("CumProd", "CumSum"), (1,)),
    "DFT": (1, 2),
    "Dropout": (1, 2),
    "Expand": (1,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1,),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    **dict.fromkeys(
        ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean"), (1,)
    ),
    **dict.fromkeys(("ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"), (1,)),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    **dict.fromkeys(("Squeeze", "Unsqueeze"), (1,)),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Upsample": (1,),
}
_WEIGHTS: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (1, 2, 3, 4),
    **dict.fromkeys(("Conv", "ConvTranspose"), (1, 2)),
    "ConvInteger": (1, 2, 3),
    **dict.fromkeys(("DequantizeLinear", "QuantizeLinear"), (1, 2)),
    **dict.fromkeys(("GRU", "LSTM", "RNN"), (1, 2, 3)),
    "Gemm": (1, 2),
    "MatMul": (1,),
    "MatMulInteger": (2, 3),
    "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
}
_KNOWN = ("Shape", "Size")  # of any data


def parameters(model: onnx.ModelProto) -> set[str]:
    """Name the inputs of at most one axis from which the attributes of a node are computed."""
    graph = (onnx.inliner.inline_local_functions(model) if model.functions else model).graph
    wanted: set[str] = set()
    for node in reversed(graph.node):
        if wanted & set(node.output) and node.op_type not in _KNOWN:
            wanted.update(node.input)
        wanted.update(_at(node, _ATTRIBUTES))
    flat = {v.name for v in graph.input if len(v.type.tensor_type.shape.dim) <= 1}
    return wanted & flat


def weights(model: onnx.ModelProto) -> set[str]:
    """Name the inputs that a network stores: weights, and scales and zeros of quantization."""
    given = {v.name for v in model.graph.input}
    return {name for node in model.graph.node for name in _at(node, _WEIGHTS)} & given


def fixed(model: onnx.ModelProto, arrays: Mapping[str, np.ndarray]) -> onnx.ModelProto:
    """Return the model with some of its inputs as constants."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    left = [value for value in graph.input if value.name not in arrays]
    del graph.input[:]
    graph.input.extend(left)
    graph.initializer.extend(
        onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()
    )
    return changed


def _at(node: onnx.NodeProto, table: Mapping[str, tuple[int, ...]]) -> list[str]:
    positions = table.get(node.op_type, ())
    return [node.input[i] for i in positions if i < len(node.input) and node.input[i]]
