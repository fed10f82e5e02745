"""conv2d or dense, then relu -> one node."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node
from tilewright.graph.passes.absorb import absorb


def absorb_relu(graph: Graph) -> Graph:
    """Let each convolution and product apply the ReLU that follows it."""
    return absorb(graph, _merge)


def _merge(maker: Node, relu: Node, operand: str) -> Node | None:
    assert operand == maker.output.name
    if relu.op != "relu" or maker.op not in ("conv2d", "dense") or maker.attributes["relu"]:
        return None
    return replace(maker, outputs=relu.outputs, attributes={**maker.attributes, "relu": 1})
