"""Fuse a node into the one that makes its operand: the walk that the absorbing passes share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.graph.ir import Graph, Node

# Given the maker of an operand, the node that reads it, and the operand's name: the one node that
# does the work of both, or None.
Merge = Callable[[Node, Node, str], Node | None]


def absorb(graph: Graph, merge: Merge) -> Graph:
    """Merge nodes with the makers of their operands where nothing else reads what was made.

    Of several operands the one made last is tried first. A merged node stands where the reader
    stood, so that all it reads is there already.
    """
    uses, made = graph.uses, dict[str, Node]()
    order = {node.output.name: position for position, node in enumerate(graph.nodes)}
    for node in graph.nodes:
        ready = [name for name in node.inputs if name in made and uses[name] == 1]
        for operand in sorted(ready, key=order.__getitem__, reverse=True):
            if merged := merge(made[operand], node, operand):
                del made[operand]
                node = merged
                break
        made[node.output.name] = node
    return replace(graph, nodes=tuple(made.values()))
