"""The work as ONNX models in memory, for the peers that read those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from benchmarks.peers.rows import Rows
from benchmarks.peers.work import Chain, Convolution, Matmul

Array = np.ndarray[Any, Any]


def convolution(work: Convolution | Chain) -> bytes:
    nodes: list[NodeProto] = []
    constants: dict[str, Array] = {}
    value = "x"
    for i, layer in enumerate(work.layers):
        weights, biases, made = f"w{i}", f"b{i}", f"conv{i}"
        constants[weights] = np.ascontiguousarray(layer.weights.transpose(3, 2, 0, 1))
        operands = [value, weights]
        if layer.bias:
            constants[biases] = layer.biases
            operands.append(biases)
        attributes = {"strides": [layer.stride] * 2, "pads": [layer.padding] * 4}
        nodes.append(helper.make_node("Conv", operands, [made], group=layer.groups, **attributes))
        value = made
        if layer.relu:
            value = f"relu{i}"
            nodes.append(helper.make_node("Relu", [made], [value]))
    first, last = work.layers[0], work.layers[-1]
    x, y = (first.n, first.ci, first.size, first.size), (last.n, last.co, last.made, last.made)
    return _model(nodes, {"x": x}, constants, value, y)


def matmul(work: Matmul) -> bytes:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return _model([node], {"x": (work.m, work.k)}, {"w": work.b}, "y", (work.m, work.n))


def rows(work: Rows) -> dict[str, bytes]:
    """Return the forms in which the work can be put, by what is peculiar to each."""
    shapes = {name: work.data[name].shape for name in work.inputs if name not in work.constants}
    constants = {name: work.data[name] for name in work.inputs if name in work.constants}
    if work.onnx != "MatMul":
        node = helper.make_node(work.onnx, list(work.inputs), ["y"], **work.attributes)
        return {"": _model([node], shapes, constants, "y", work.answer.shape)}
    w, x = (work.data[name] for name in work.inputs)  # a matrix times a vector, as users write it
    made = (1, len(w))
    gemm = helper.make_node("Gemm", ["X", "W"], ["y"], transB=1)
    product = helper.make_node("MatMul", ["X", "W"], ["y"])
    plain = helper.make_node("MatMul", ["W", "X"], ["y"])
    return {
        "x @ W.T": _model([product], {"X": (1, x.size)}, {"W": w.T.copy()}, "y", made),
        "gemm": _model([gemm], {"X": (1, x.size)}, {"W": w}, "y", made),
        "W @ x": _model([plain], {"X": x.shape}, {"W": w}, "y", work.answer.shape),
    }


def _model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, tuple[int, ...]],
    constants: Mapping[str, Array],
    output: str,
    shape: tuple[int, ...],
) -> bytes:
    graph = helper.make_graph(
        nodes,
        "work",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 20)]
    return helper.make_model(graph, ir_version=9, opset_imports=opsets).SerializeToString()
