"""An ONNX model as plain values, its batch normalisations folded, for peers that read no ONNX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Node:
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def ints(self, name: str, *default: int) -> tuple[int, ...]:
        """Return an attribute that is a list of integers."""
        return tuple(self.attributes.get(name, default))

    def pads(self) -> tuple[int, int, int, int]:
        """Return the padding of an image: top, left, bottom, right."""
        top, left, bottom, right = self.ints("pads", 0, 0, 0, 0)
        return top, left, bottom, right

    def refused(self, peer: str) -> NotImplementedError:
        return NotImplementedError(f"{peer} is not given {self.op} {dict(self.attributes)} here")


@dataclass(frozen=True)
class Graph:
    """Nodes in the order of computation; inputs by name with their shapes."""

    inputs: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, Array]

    def uses(self) -> Counter[str]:
        return Counter(self.outputs) + Counter(name for n in self.nodes for name in n.inputs)


def read(path: Path) -> Graph:
    graph = onnx.load(path).graph
    shapes = {
        value.name: tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
        for value in graph.input
    }
    nodes = [
        Node(
            node.op_type,
            tuple(node.input),
            tuple(node.output),
            {a.name: helper.get_attribute_value(a) for a in node.attribute},
        )
        for node in graph.node
    ]
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    made = Graph(shapes, tuple(value.name for value in graph.output), tuple(nodes), constants)
    return _folded(made)


def _folded(graph: Graph) -> Graph:
    """Move each batch normalisation into the convolution before it, if that has no other use."""
    uses, constants = graph.uses(), dict(graph.constants)
    nodes: list[Node] = []
    for node in graph.nodes:
        before = nodes[-1] if nodes else node
        if node.op == "BatchNormalization" and _foldable(before, node, uses):
            scale, shift, mean, variance = (constants[name] for name in node.inputs[1:])
            factor = scale / np.sqrt(variance + node.attributes.get("epsilon", 1e-5))
            held, bias, weights = _biased(before, constants, len(factor))
            channels = 0 if before.op == "Conv" else 1
            along = [-1 if axis == channels else 1 for axis in range(weights.ndim)]
            names = [f"{node.outputs[0]}.{end}" for end in ("weight", "bias")]
            constants[names[0]] = weights * factor.reshape(along)
            constants[names[1]] = (bias - mean) * factor + shift
            nodes[-1] = replace(before, inputs=(held, *names), outputs=node.outputs)
        else:
            nodes.append(node)
    needed = {name for node in nodes for name in node.inputs}
    kept = {name: array for name, array in constants.items() if name in needed}
    return replace(graph, nodes=tuple(nodes), constants=kept)


def _foldable(before: Node, node: Node, uses: Mapping[str, int]) -> bool:
    convolves = before.op in ("Conv", "ConvTranspose")
    return convolves and before.outputs[0] == node.inputs[0] and uses[node.inputs[0]] == 1


def _biased(node: Node, constants: Mapping[str, Array], made: int) -> tuple[str, Array, Array]:
    x, weights, *bias = node.inputs
    return x, constants[bias[0]] if bias else np.zeros(made, np.float32), constants[weights]
