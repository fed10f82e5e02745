"""Nodes whose inputs are all constant -> constants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph.ir import Graph, Node
from tilewright.graph.operators import OPERATORS


def fold_constants(graph: Graph) -> Graph:
    """Compute ahead every node that depends on nothing but constants."""
    constants, kept = dict(graph.constants), list[Node]()
    for node in graph.nodes:
        if all(name in constants for name in node.inputs):
            operands = [constants[name] for name in node.inputs]
            computed = OPERATORS[node.op].compute(operands, node.attributes)
            whole = np.ascontiguousarray(computed)
            constants[node.output.name] = whole.reshape(node.output.shape)  # () as well
        else:
            kept.append(node)
    return replace(graph, nodes=tuple(kept), constants=constants)
