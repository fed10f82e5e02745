"""Layer and RMS normalisation spelt as means, differences and roots -> one node."""

from __future__ import annotations

from dataclasses import replace

from tilewright import dtypes
from tilewright.graph.ir import Graph, Node
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.terms import Terms


def fuse_norms(graph: Graph) -> Graph:
    """Recognise (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon), and x / sqrt(mean(x^2) + e).

    Means are over the last axes. The square may be a power or a product, the quotient a product
    with an inverse; scale and bias stay behind it.
    """
    terms = Terms(graph)
    nodes = tuple(_norm(node, graph, terms) or node for node in graph.nodes)
    return drop_dead(replace(graph, nodes=nodes))


def _norm(node: Node, graph: Graph, terms: Terms) -> Node | None:
    number = terms.of_value[node.output.name]
    for apart, root in terms.quotients(number):
        inside = terms.arguments(root, "sqrt")
        found = terms.with_number(inside[0], "add") if inside else None
        mean = terms.maker(found[0], "reduce") if found else None
        if found is None or mean is None or _axis(mean, graph) is None:
            continue
        if not _is_square(terms.value(mean.inputs[0]), apart, terms):
            continue
        centred = terms.arguments(apart, "sub")
        middle = terms.maker(centred[1], "reduce") if centred else None
        if (
            centred
            and middle is not None
            and middle.attributes == mean.attributes
            and terms.value(middle.inputs[0]) == centred[0]
        ):
            return _made(node, middle.inputs[0], mean, found[1], graph, rms=False)
        if apart in terms.names:
            return _made(node, terms.names[apart], mean, found[1], graph, rms=True)
    return None


def _made(
    node: Node, of: str, mean: Node, epsilon: float, graph: Graph, *, rms: bool
) -> Node | None:
    kind, value = graph.types[of], node.output
    if kind.shape != value.shape or kind.dtype != value.dtype or not dtypes.is_float(kind.dtype):
        return None
    axis = _axis(mean, graph)
    assert axis is not None
    attributes = {"axis": axis, "epsilon": epsilon, "rms": int(rms)}
    return replace(node, op="layer_norm", inputs=(of,), attributes=attributes)


def _axis(mean: Node, graph: Graph) -> int | None:
    """Return the axis from which on a node takes the mean; None if it does something else."""
    axes, rank = mean.attributes["axes"], len(graph.types[mean.inputs[0]].shape)
    assert isinstance(axes, tuple)
    first = rank - len(axes)
    last = sorted(map(int, axes)) == list(range(first, rank))
    return first if last and axes and mean.attributes["kind"] == "mean" else None


def _is_square(number: int, of: int, terms: Terms) -> bool:
    if terms.arguments(number, "mul") == (of, of):
        return True
    power = terms.arguments(number, "pow")
    return power is not None and power[0] == of and terms[power[1]].number == 2.0
