"""Compute ahead what a node makes of constants; `onnx` itself says what that is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tilewright.graph.onnx.source import Source

# These make something new each time, or hold graphs that read names from outside.
_NEVER = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"}
    | {"Multinomial", "If", "Loop", "Scan"}
)


def fold(source: Source, opsets: Sequence[onnx.OperatorSetIdProto]) -> list[np.ndarray] | None:
    """Return the outputs of a node whose inputs are all constant, or None for any other.

    Asking for a shape counts as constant, because every shape of a graph is known.
    """
    if source.op in _NEVER or not source.standard:
        return None
    if source.op in ("Shape", "Size"):
        shape = source.shape()
        feed = {source.inputs[0]: np.broadcast_to(np.float32(0), shape)}
    elif all(name in source.scope.constants for name in source.inputs if name):
        feed = {name: source.scope.constants[name] for name in source.inputs if name}
    else:
        return None
    inputs = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in feed.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in source.outputs if name]
    graph = onnx.helper.make_graph([source.proto], "fold", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=list(opsets))
    try:
        results = ReferenceEvaluator(model).run(None, feed)
    except (NotImplementedError, RuntimeError, ValueError, TypeError):
        return None  # the importer then says that the operator is not supported
    found = iter(np.asarray(result) for result in results)
    return [next(found) if name else np.zeros(0) for name in source.outputs]
