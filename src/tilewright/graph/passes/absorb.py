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

    def merged(node: Node) -> Node | None:
        ready = [n for n in set(node.inputs) if n in made and uses[n] == node.inputs.count(n)]
        for operand in sorted(ready, key=order.__getitem__, reverse=True):
            if both := merge(made[operand], node, operand):
                for name in (*made.pop(operand).inputs, *node.inputs):
                    uses[name] -= 1
                for name in both.inputs:
                    uses[name] += 1
                return both
        return None

    for node in graph.nodes:
        last = node
        while (longer := merged(last)) is not None:
            last = longer
        made[last.output.name] = last
    return replace(graph, nodes=tuple(made.values()))
