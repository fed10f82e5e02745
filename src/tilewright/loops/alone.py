"""A nest on one thread: what it shares out among several is done in order."""

from __future__ import annotations

from dataclasses import replace

from tilewright.loops.nodes import Loop, Nest, Node


def alone(nest: Nest) -> Nest:
    """Return the same nest without parallel loops: they are serial."""
    return nest.holding(tuple(map(_serial, nest.body)))


def _serial(node: Node) -> Node:
    if not isinstance(node, Loop):
        return node
    made = node.holding(tuple(map(_serial, node.body)))
    return replace(made, kind="serial") if made.kind == "parallel" else made
