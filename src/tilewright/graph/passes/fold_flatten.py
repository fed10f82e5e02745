"""A flattened image that is multiplied by weights -> weights in the image's own order."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tilewright.graph.builder import fresh
from tilewright.graph.ir import Graph, Node
from tilewright.graph.operators.operator import ints


def fold_flatten(graph: Graph) -> Graph:
    """Reorder the rows of weights instead of transposing each image before it is flattened."""
    made = {node.output.name: node for node in graph.nodes}
    constants, taken, types = dict(graph.constants), set(graph.values), graph.types
    nodes: list[Node] = []
    for node in graph.nodes:
        flat = made.get(node.inputs[0]) if node.op == "matmul" else None
        moved = made.get(flat.inputs[0]) if flat is not None and flat.op == "reshape" else None
        weights = constants.get(node.inputs[1]) if moved is not None else None
        if flat is None or moved is None or weights is None or not _fits(node, flat, moved):
            nodes.append(node)
            continue
        perm, source = ints(moved.attributes, "perm"), moved.inputs[0]
        shape = types[source].shape
        rows = weights.reshape(*(shape[axis] for axis in perm[1:]), -1)
        order = [perm.index(axis) - 1 for axis in range(1, len(perm))]
        reordered = rows.transpose(*order, len(order)).reshape(weights.shape)
        name = fresh(f"{node.inputs[1]}.rows", taken)
        constants[name] = np.ascontiguousarray(reordered)
        flattened = replace(flat.output, name=fresh(f"{flat.output.name}.rows", taken))
        nodes.append(replace(flat, inputs=(source,), outputs=(flattened,)))
        nodes.append(replace(node, inputs=(flattened.name, name, *node.inputs[2:])))
        taken |= {name, flattened.name}
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _fits(node: Node, flat: Node, moved: Node) -> bool:
    """Whether all but the first axis of a transposed tensor is multiplied by plain weights."""
    if moved.op != "transpose" or moved.then is not None:
        return False
    perm, shape = ints(moved.attributes, "perm"), moved.output.shape
    plain = not node.attributes["transpose_a"] and not node.attributes["transpose_b"]
    plain = plain and len(node.output.shape) == 2  # one matrix of weights
    whole = flat.output.shape == (shape[0], math.prod(shape[1:]))
    return plain and perm[0] == 0 and whole
