"""A transposition -> the order in which what follows reads."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node
from tilewright.graph.kernels import can_read
from tilewright.graph.operators.operator import ints

MAX_CHANNELS = 8  # of an image that a convolution reads channels first: one vector of each row


def fold_transposes(graph: Graph) -> Graph:
    """Let convolutions read images of few channels as they are, and products either operand.

    The transposition is dropped where nothing else reads it. One of many channels stays: a
    convolution would walk through memory with long steps in its innermost loop.
    """
    made = {node.output.name: node for node in graph.nodes if node.op == "transpose"}
    types = graph.types
    nodes: list[Node] = []
    for node in graph.nodes:
        for i in _readable(node):
            moved = made.get(node.inputs[i])
            if moved is None or moved.then is not None or i in dict(node.reads):
                continue
            perm = ints(moved.attributes, "perm")
            few = node.op != "conv" or moved.output.shape[-1] <= MAX_CHANNELS
            if few and can_read(node, types, i, perm):
                inputs = (*node.inputs[:i], moved.inputs[0], *node.inputs[i + 1 :])
                reads = tuple(sorted((*node.reads, (i, perm))))
                node = replace(node, inputs=inputs, reads=reads)
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _readable(node: Node) -> tuple[int, ...]:
    return {"conv": (0,), "matmul": (0, 1)}.get(node.op, ())
