"""Numbers that operands of a product are multiplied by -> one number behind the product."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.builder import fresh
from tilewright.graph.ir import Graph, Node, Value
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.terms import Terms
from tilewright.ops.program import Program, Step

_MOVES = ("transpose", "reshape")
_HELD = ("float32", "float64")  # a short float might not hold a product that is not scaled yet


def hoist_scales(graph: Graph) -> Graph:
    """Let a product do what was done to its operands, as attention's are scaled by exporters.

    A kernel that scales is saved, and what only moves an operand then can be part of the product.
    """
    terms, uses, taken = Terms(graph), graph.uses, set(graph.values)
    nodes = {node.output.name: node for node in graph.nodes}
    order: list[str] = []
    for node in graph.nodes:
        name = node.output.name
        if node.op != "matmul" or node.then is not None or node.output.dtype not in _HELD:
            order.append(name)
            continue
        factor = 1.0
        for operand in dict.fromkeys(node.inputs):
            if node.inputs.count(operand) == 1:
                factor *= _lifted(name, operand, nodes, uses, terms)
        if factor == 1.0:
            order.append(name)
            continue
        plain = fresh(f"{name}.unscaled", taken)
        taken.add(plain)
        made = nodes[name].output
        nodes[plain] = replace(nodes[name], outputs=(Value(plain, made.shape, made.dtype),))
        steps = (Step("constant", (), (factor, made.dtype)), Step("mul", (0, 1)))
        nodes[name] = Node(node.name, "map", (plain,), (made,), {"program": Program(1, steps)})
        order += [plain, name]
    return drop_dead(replace(graph, nodes=tuple(nodes[name] for name in order)))


def _lifted(
    reader: str, operand: str, nodes: dict[str, Node], uses: dict[str, int], terms: Terms
) -> float:
    """Let the reader, or what moves its operand, read what is not scaled; return the factor."""
    while operand in nodes and uses[operand] == 1 and nodes[operand].op in _MOVES:
        reader, operand = operand, nodes[operand].inputs[0]
    node = nodes.get(operand)
    if node is None or node.op != "map" or node.then is not None or uses[operand] != 1:
        return 1.0
    scaled = terms.scaled(terms.of_value[operand])
    source = terms.names.get(scaled[0], "") if scaled else ""
    if scaled is None or terms.graph.types.get(source) is None:
        return 1.0
    kind, value = terms.graph.types[source], node.output
    if (kind.shape, kind.dtype) != (value.shape, value.dtype) or source not in node.inputs:
        return 1.0
    inputs = tuple(source if name == operand else name for name in nodes[reader].inputs)
    nodes[reader] = replace(nodes[reader], inputs=inputs)
    return scaled[1]
