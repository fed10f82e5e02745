"""The work as ONNX models in memory, for the peers that read those."""

from __future__ import annotations

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from benchmarks.peers.work import Convolution, Matmul


def convolution(work: Convolution) -> bytes:
    node = helper.make_node(
        "Conv", ["x", "w"], ["y"], strides=[work.stride] * 2, pads=[work.padding] * 4
    )
    weights = np.ascontiguousarray(work.weights.transpose(3, 2, 0, 1))
    x, y = (work.n, work.ci, work.size, work.size), (work.n, work.co, work.made, work.made)
    return _model(node, x, weights, y)


def matmul(work: Matmul) -> bytes:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    return _model(node, (work.m, work.k), work.b, (work.m, work.n))


def _model(node: NodeProto, x: tuple[int, ...], weights: np.ndarray, y: tuple[int, ...]) -> bytes:
    graph = helper.make_graph(
        [node],
        "work",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, y)],
        [numpy_helper.from_array(weights, "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
