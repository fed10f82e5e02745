"""conv2d, then add of a tensor of its shape -> conv2d with a residual."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node
from tilewright.graph.passes.absorb import absorb


def absorb_residual(graph: Graph) -> Graph:
    """Let each convolution add the other operand of the addition that follows it."""
    values = graph.values

    def merge(maker: Node, add: Node, operand: str) -> Node | None:
        if add.op != "add" or maker.op != "conv2d":
            return None
        if maker.attributes["residual"] or maker.attributes["relu"]:
            return None
        left, right = add.inputs
        other = right if operand == left else left
        if values[other].shape != add.output.shape or values[operand].shape != add.output.shape:
            return None
        return replace(
            maker,
            inputs=(*maker.inputs, other),
            outputs=add.outputs,
            attributes={**maker.attributes, "residual": 1},
        )

    return absorb(graph, merge)
