"""Constants that an add would repeat -> constants of its full shape."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph.builder import fresh
from tilewright.graph.ir import Graph


def expand_constants(graph: Graph) -> Graph:
    """Give both operands of every `add` that is left the same shape."""
    values, constants = graph.values, dict(graph.constants)
    nodes = list(graph.nodes)
    for position, node in enumerate(nodes):
        if node.op != "add" or values[node.inputs[1]].shape == node.output.shape:
            continue
        large, small = node.inputs
        name = fresh(f"{node.output.name}.addend", values)
        constants[name] = np.ascontiguousarray(np.broadcast_to(constants[small], node.output.shape))
        nodes[position] = replace(node, inputs=(large, name))
    return replace(graph, nodes=tuple(nodes), constants=constants)
