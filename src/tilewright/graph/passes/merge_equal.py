"""Nodes that compute the same of the same -> one of them."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node


def merge_equal(graph: Graph) -> Graph:
    """Let all readers of equal nodes read the first; what makes an output keeps its name."""
    first: dict[object, str] = {}
    same: dict[str, str] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(same.get(name, name) for name in node.inputs)
        key = (node.op, inputs, tuple(sorted(node.attributes.items())), node.then, node.reads)
        made = node.output.name
        if key in first and made not in graph.outputs:
            same[made] = first[key]
            continue
        first.setdefault(key, made)
        kept.append(replace(node, inputs=inputs))
    return replace(graph, nodes=tuple(kept))
