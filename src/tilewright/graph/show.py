"""A graph as text: one operator a line."""

from __future__ import annotations

from tilewright.graph.ir import Attribute, Graph, Node, Value


def show(graph: Graph) -> str:
    """Print what goes in, every node with the shape it makes, what comes out, and the constants."""
    lines = [f"input {value}" for value in graph.inputs]
    lines += [f"  {line(node)}" for node in graph.nodes]
    values = graph.values
    lines += [f"output {values[name]}" for name in graph.outputs]
    count, size = len(graph.constants), sum(a.nbytes for a in graph.constants.values())
    return "\n".join([*lines, f"constants: {count}, {size / 1e6:.2f} MB"])


def line(node: Node) -> str:
    """Print one node, as in `y: float32 1x8 = dense(x, w) bias=0 relu=1`."""
    outputs = ", ".join(_value(value) for value in node.outputs)
    text = f"{outputs} = {node.op}({', '.join(node.inputs)})"
    text = " ".join([text, *(f"{k}={_attribute(v)}" for k, v in node.attributes.items())])
    text += "".join(f" reads {node.inputs[i]} as {_attribute(perm)}" for i, perm in node.reads)
    return text if node.then is None else f"{text} then {node.then}"


def _value(value: Value) -> str:
    return f"{value.name}: {'x'.join(map(str, value.shape)) or 'scalar'}"


def _attribute(value: Attribute) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
