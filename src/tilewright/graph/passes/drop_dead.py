"""Drop what no output depends on."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node


def drop_dead(graph: Graph) -> Graph:
    """Return `graph` without the nodes and constants that its outputs do not need."""
    needed, kept = set(graph.outputs), list[Node]()
    for node in reversed(graph.nodes):
        if any(value.name in needed for value in node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    constants = {name: array for name, array in graph.constants.items() if name in needed}
    return replace(graph, nodes=tuple(reversed(kept)), constants=constants)
