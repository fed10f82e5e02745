"""Check that a graph keeps its promises; every pass is tested by it."""

from __future__ import annotations

from tilewright.errors import ModelError
from tilewright.graph.ir import Graph, Node, Value
from tilewright.graph.meaning import type_of
from tilewright.graph.operators import OPERATORS
from tilewright.graph.show import line


def verify(graph: Graph) -> Graph:
    """Return `graph` if each value is made once and before it is read, and each shape is right.

    Raises `ModelError` that shows the first node for which this does not hold.
    """
    known: dict[str, Value] = {}
    for value in graph.inputs:
        _define(known, value, f"input {value}")
    for name, array in graph.constants.items():
        _define(known, Value(name, array.shape, str(array.dtype)), f"constant {name}")
    for node in graph.nodes:
        _check(known, node)
        for value in node.outputs:
            _define(known, value, line(node))
    missing = [name for name in graph.outputs if name not in known]
    if missing:
        raise ModelError(f"the graph's outputs {', '.join(missing)} are not made by any node.")
    return graph


def _define(known: dict[str, Value], value: Value, what: str) -> None:
    if value.name in known:
        raise ModelError(f"value {value.name!r} is made twice, the second time by\n  {what}")
    known[value.name] = value


def _check(known: dict[str, Value], node: Node) -> None:
    if node.op not in OPERATORS:
        raise ModelError(
            f"operator {node.op!r} is unknown\n  {line(node)}\n  known: {', '.join(OPERATORS)}"
        )
    missing = [name for name in node.inputs if name not in known]
    if missing:
        raise ModelError(f"{', '.join(missing)} read before it is made\n  {line(node)}")
    inputs = [known[name].type for name in node.inputs]
    made = type_of(node.op, inputs, node.attributes, node.then, node.reads)
    if (made.shape, made.dtype) != (node.output.shape, node.output.dtype):
        wanted = f"{made.dtype} {made.shape}"
        raise ModelError(f"the node makes {wanted}, but says it makes\n  {line(node)}")
