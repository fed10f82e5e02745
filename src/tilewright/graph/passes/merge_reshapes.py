"""reshape of reshape -> one reshape, or none."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node


def merge_reshapes(graph: Graph) -> Graph:
    """Let every reshape read the first of a chain of them, and drop those that change nothing.

    One that makes an output of the graph stays, so that the output keeps its name.
    """
    values, outputs = graph.values, set(graph.outputs)
    source: dict[str, str] = {}  # the first of the chain that a reshape ends
    same: dict[str, str] = {}  # what to read instead of a reshape that was dropped
    kept: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(same.get(name, name) for name in node.inputs)
        if node.op == "reshape":
            first = source[node.output.name] = source.get(inputs[0], inputs[0])
            if values[first].shape == node.output.shape and node.output.name not in outputs:
                same[node.output.name] = first
                continue
            inputs = (first,)
        kept.append(replace(node, inputs=inputs))
    return replace(graph, nodes=tuple(kept))
