"""An imported graph as a model for LiteRT, so that LiteRT can run the networks that we can."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.tflite import Writer
from tilewright.graph.ir import Graph, Node
from tilewright.graph.onnx import load
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.fold_batch_norm import fold_batch_norm

LOWEST = float(np.finfo(np.float32).min)


def written(path: Path) -> bytes:
    """Return the ONNX model at `path`, of one input and one output, its images channels last."""
    graph = drop_dead(fold_batch_norm(load(path)))
    writer = Writer()
    uses = Counter(graph.outputs) + Counter(name for n in graph.nodes for name in n.inputs)
    users = {name: node for node in graph.nodes for name in node.inputs}
    x = writer.value(_moved(graph.inputs[0].shape))
    known = {graph.inputs[0].name: x}
    fused: set[str] = set()  # ReLUs that the operator before them does
    for node in graph.nodes:
        name, after = node.output.name, users.get(node.output.name)
        relu = bool(after) and after.op == "relu" and uses[name] == 1 and node.op in _WITH_RELU
        if name in fused:
            known[name] = known[node.inputs[0]]
            continue
        known[name] = _write(writer, node, known, graph, relu)
        if relu and after:
            fused.add(after.output.name)
    return writer.finish([x], known[graph.outputs[0]])


_WITH_RELU = ("conv2d_nchw", "add")


def _write(writer: Writer, node: Node, known: dict[str, int], graph: Graph, relu: bool) -> int:
    a: dict[str, Any] = dict(node.attributes)
    x = known[node.inputs[0]]
    constants = [graph.constants[name] for name in node.inputs[1:] if name in graph.constants]
    match node.op:
        case "conv2d_nchw" if a["dilations"] == (1, 1):
            weights = constants[0].transpose(2, 3, 1, 0)
            bias = constants[1] if a["bias"] else np.zeros(weights.shape[-1], np.float32)
            return writer.convolution(
                writer.pad(x, a["pads"]), weights, bias, a["strides"], relu=relu
            )
        case "pool2d_nchw" if a["kind"] == "max":
            positive = any(n.op == "relu" and n.output.name == node.inputs[0] for n in graph.nodes)
            padded = writer.pad(x, a["pads"], 0.0 if positive else LOWEST)
            return writer.pool(padded, a["kernel"], a["strides"])
        case "global_average_pool_nchw":
            return writer.mean(x, (1, 2), keep=False)
        case "reshape" if _is_vector(writer.shapes[x]) and _is_vector(_moved(a["shape"])):
            return writer.reshape(x, _moved(a["shape"]))
        case "dense":
            return writer.dense(x, constants[0])
        case "relu":
            return writer.relu(x)
        case "add" if not constants:
            return writer.add(x, known[node.inputs[1]], relu=relu)
        case "add" if constants[0].ndim == 1 and len(writer.shapes[x]) == 2:
            return writer.add(x, writer.constant(constants[0]), relu=relu)
        case _:
            raise NotImplementedError(f"LiteRT is not given {node.op} {a} here")


def _moved(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an image with its channels last; other shapes stay."""
    return (shape[0], *shape[2:], shape[1]) if len(shape) == 4 else shape


def _is_vector(shape: tuple[int, ...]) -> bool:
    """Whether an order of channels cannot matter: one pixel for each image."""
    return all(n == 1 for n in shape[1:-1])
