"""Nodes whose inputs are all constant -> constants."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node
from tilewright.graph.meaning import stored, value_of


def fold_constants(graph: Graph) -> Graph:
    """Compute ahead every node that depends on nothing but constants."""
    constants, kept, types = dict(graph.constants), list[Node](), graph.types
    for node in graph.nodes:
        if all(name in constants for name in node.inputs):
            operands = [constants[name] for name in node.inputs]
            computed = value_of(node, operands, [types[name] for name in node.inputs])
            whole = stored(computed, node.output.dtype)
            constants[node.output.name] = whole.reshape(node.output.shape)
        else:
            kept.append(node)
    return replace(graph, nodes=tuple(kept), constants=constants)
