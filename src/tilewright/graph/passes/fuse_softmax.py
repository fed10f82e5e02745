"""Softmax spelt as exponentials over their sum -> one node."""

from __future__ import annotations

from dataclasses import replace

from tilewright import dtypes
from tilewright.graph.ir import Graph, Node
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.terms import Terms


def fuse_softmax(graph: Graph) -> Graph:
    """Recognise exp(x) / sum(exp(x)) along an axis, and exp(x - max(x)) over its sum."""
    terms = Terms(graph)
    nodes = tuple(_softmax(node, graph, terms) or node for node in graph.nodes)
    return drop_dead(replace(graph, nodes=nodes))


def _softmax(node: Node, graph: Graph, terms: Terms) -> Node | None:
    for powers, below in terms.quotients(terms.of_value[node.output.name]):
        raised, total = terms.arguments(powers, "exp"), terms.maker(below, "reduce")
        if not raised or total is None or total.attributes["kind"] != "sum":
            continue
        axes = total.attributes["axes"]
        assert isinstance(axes, tuple)
        if len(axes) != 1 or terms.value(total.inputs[0]) != powers:
            continue
        of = terms.names.get(_scores(raised[0], axes, terms), "")
        kind, value = graph.types.get(of), node.output
        if kind is None or (kind.shape, kind.dtype) != (value.shape, value.dtype):
            continue
        if dtypes.is_float(kind.dtype):
            attributes = {"axis": int(axes[0]), "log": 0}
            return replace(node, op="softmax", inputs=(of,), attributes=attributes)
    return None


def _scores(number: int, axes: tuple[object, ...], terms: Terms) -> int:
    """Return x of x - max(x) along these axes; the term itself if it is none."""
    of = terms.arguments(number, "sub")
    top = terms.maker(of[1], "reduce") if of else None
    if of is None or top is None:
        return number
    same = top.attributes["kind"] == "max" and top.attributes["axes"] == axes
    return of[0] if same and terms.value(top.inputs[0]) == of[0] else number
