"""An ONNX model as one for LiteRT: what a converter would make of the benchmarks' networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.peers.onnx_graph import Graph, Node, read
from benchmarks.peers.tflite import Writer

LOWEST = float(np.finfo(np.float32).min)


def written(path: Path) -> bytes:
    """Return the ONNX model at `path`, its images channels last and its integers of 32 bits."""
    graph = read(path)
    translation = _Translation(graph)
    uses = graph.uses()
    users = {name: node for node in graph.nodes for name in node.inputs}
    for node in graph.nodes:
        name = node.outputs[0]
        if name in translation.known:  # an activation that the operator before it does
            continue
        after = users.get(name)
        fused = bool(after) and uses[name] == 1 and node.op in _ACTIVATED
        activation = translation.activation(after) if after and fused else "NONE"
        made = translation.write(node, activation)
        translation.known.update(zip(node.outputs, made, strict=True))
        if after and activation != "NONE":
            translation.known[after.outputs[0]] = made[0]
    known = translation.known
    return translation.writer.finish(
        [known[name] for name in graph.inputs], *(known[name] for name in graph.outputs)
    )


_ACTIVATED = ("Conv", "ConvTranspose", "Add", "Gemm")
_ELEMENTWISE = {"Sigmoid": "LOGISTIC", "Tanh": "TANH"}


class _Translation:
    """The model so far: `known` are LiteRT's numbers of ONNX's values."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.writer = graph, Writer()
        self.known: dict[str, int] = {}
        self._flat: dict[str, tuple[int, ...]] = {}  # rows that were images of this shape
        indices = {n.inputs[1] for n in graph.nodes if n.op == "Gather"}
        for name, shape in graph.inputs.items():
            declare = self.writer.indices if name in indices else self.writer.value
            self.known[name] = declare(_moved(shape))

    def activation(self, node: Node) -> str:
        """Return what LiteRT calls an activation that it can do with the operator before."""
        if node.op == "Relu":
            return "RELU"
        limits = [self.graph.constants.get(name) for name in node.inputs[1:]]
        return "RELU6" if node.op == "Clip" and limits == [0, 6] else "NONE"

    def value(self, name: str) -> int:
        if name not in self.known:
            self.known[name] = self.writer.constant(self.graph.constants[name])
        return self.known[name]

    def write(self, node: Node, activation: str) -> list[int]:
        """Write a node; return its outputs."""
        writer, a, axis = self.writer, node.attributes, node.attributes.get("axis", 0)
        x = self.value(node.inputs[0]) if node.op != "LSTM" else 0
        constants = [self.graph.constants.get(name) for name in node.inputs[1:]]
        plain = node.ints("dilations", 1, 1) == (1, 1) and "output_padding" not in a
        match node.op:
            case "Conv" | "ConvTranspose" if plain and constants[0] is not None:
                return [self._convolution(node, x, activation)]
            case "MaxPool" if plain:
                made_by = {name: n.op for n in self.graph.nodes for name in n.outputs}
                fill = 0.0 if made_by.get(node.inputs[0]) == "Relu" else LOWEST
                padded = writer.pad(x, node.pads(), fill)
                return [writer.pool(padded, node.ints("kernel_shape"), node.ints("strides", 1, 1))]
            case "GlobalAveragePool":
                return [writer.mean(x, (1, 2), keep=True)]
            case "Flatten":
                shape = writer.shapes[x]
                self._flat[node.outputs[0]] = shape[1:]
                return [writer.reshape(x, (shape[0], int(np.prod(shape[1:]))))]
            case "Gemm" if a.get("transB") and constants[0] is not None:
                return [self._gemm(node, x, activation)]
            case "MatMul" if constants[0] is not None:
                return [writer.dense(x, constants[0])]
            case "LSTM" if not a.keys() - {"hidden_size"}:
                return self._lstm(node)
            case "Gather" if constants[0] is None and axis == 0:
                return [writer.rows_of(x, self.value(node.inputs[1]))]
            case "Gather" if constants[0] is not None and constants[0].ndim == 0 and axis == 0:
                part = writer.cut(x, int(constants[0]), 1)
                return [writer.reshape(part, writer.shapes[part][1:])]
            case "Squeeze" | "Unsqueeze" if constants[0] is not None:
                change = np.squeeze if node.op == "Squeeze" else np.expand_dims
                shape = change(np.empty(writer.shapes[x], bool), tuple(constants[0])).shape
                return [writer.reshape(x, shape)]
            case "Split" if len(node.inputs) == 1:
                return writer.split(x, axis, len(node.outputs))
            case "Concat":
                return [writer.join([self.value(name) for name in node.inputs], axis)]
            case "Add" if self._alike(node):
                return [writer.add(x, self.value(node.inputs[1]), activation)]
            case "Mul" if self._alike(node):
                return [writer.multiply(x, self.value(node.inputs[1]))]
            case "Sigmoid" | "Tanh":
                return [writer.elementwise(_ELEMENTWISE[node.op], x)]
            case "Relu" | "Clip" if self.activation(node) != "NONE":
                return [writer.elementwise(self.activation(node), x)]
            case _:
                raise node.refused("LiteRT")

    def _alike(self, node: Node) -> bool:
        """Whether the order of dimensions cannot matter: equal shapes, or no images."""
        shapes = [self.writer.shapes[self.value(name)] for name in node.inputs]
        return shapes[0] == shapes[1] or max(map(len, shapes)) < 4

    def _convolution(self, node: Node, x: int, activation: str) -> int:
        weights, *bias = (self.graph.constants[name] for name in node.inputs[1:])
        strides, groups = node.ints("strides", 1, 1), node.attributes.get("group", 1)
        if node.op == "Conv":
            moved = weights.transpose(2, 3, 1, 0)
            added = bias[0] if bias else np.zeros(moved.shape[-1], np.float32)
            padded = self.writer.pad(x, node.pads())
            return self.writer.convolution(padded, moved, added, strides, activation=activation)
        if groups != 1:
            raise node.refused("LiteRT")
        moved = weights.transpose(2, 3, 0, 1)
        added = bias[0] if bias else np.zeros(moved.shape[-1], np.float32)
        return self.writer.grow(x, moved, added, strides, node.pads(), activation)

    def _gemm(self, node: Node, x: int, activation: str) -> int:
        """Write a product; weights of rows that were images follow the order of their channels."""
        _, w, b = node.inputs
        weights = self.graph.constants[w]
        if flat := self._flat.get(node.inputs[0]):
            *rows, channels = flat
            images = weights.reshape(-1, channels, *rows)
            given = self.writer.constant(np.moveaxis(images, 1, -1).reshape(weights.shape))
        else:
            given = self.value(w)
        if b in self.graph.constants:
            return self.writer.product(x, given, self.value(b), activation)
        zeros = self.writer.constant(np.zeros(len(weights), np.float32))
        return self.writer.add(self.writer.product(x, given, zeros), self.value(b), activation)

    def _lstm(self, node: Node) -> list[int]:
        """Unroll the operator, the products of all steps' inputs in one."""
        writer = self.writer
        w, r, b = (self.graph.constants[name] for name in node.inputs[1:4])
        x, *state = (self.known[node.inputs[i]] for i in (0, 5, 6))
        steps, batch, width = writer.shapes[x]
        units = r.shape[-1]
        h, c = (writer.reshape(value, (batch, units)) for value in state)
        rows = writer.reshape(x, (steps * batch, width))
        bias = writer.constant(b.reshape(2, -1).sum(0))
        products = writer.product(rows, writer.constant(w[0]), bias)
        again = writer.constant(r[0]), writer.constant(np.zeros(4 * units, np.float32))
        made: list[int] = []
        for t in range(steps):
            now = writer.cut(products, t * batch, batch) if steps > 1 else products
            gates = writer.split(writer.add(now, writer.product(h, *again)), 1, 4)
            i, o, f = (writer.elementwise("LOGISTIC", gate) for gate in gates[:3])
            new = writer.multiply(i, writer.elementwise("TANH", gates[3]))
            c = writer.add(writer.multiply(f, c), new)
            h = writer.multiply(o, writer.elementwise("TANH", c))
            made.append(h)
        every = writer.join(made, 0) if steps > 1 else h
        last = (writer.reshape(value, (1, batch, units)) for value in (h, c))
        return [writer.reshape(every, (steps, 1, batch, units)), *last]


def _moved(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an image with its channels last; other shapes stay."""
    return (shape[0], *shape[2:], shape[1]) if len(shape) == 4 else shape
