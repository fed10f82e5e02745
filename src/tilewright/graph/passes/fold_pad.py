"""Padding by zeros before a convolution -> padding of the convolution."""

from __future__ import annotations

from dataclasses import replace

from tilewright.graph.ir import Graph, Node
from tilewright.graph.operators.operator import ints
from tilewright.graph.passes.absorb import absorb


def fold_pad(graph: Graph) -> Graph:
    """Let each convolution pad its image itself."""
    return absorb(graph, _merge)


def _merge(pad: Node, conv: Node, operand: str) -> Node | None:
    """Return the convolution of an image (n, *size, c) that is padded in its size alone."""
    if pad.op != "pad" or conv.op != "conv" or operand != conv.inputs[0] or pad.then is not None:
        return None
    before, behind = ints(pad.attributes, "before"), ints(pad.attributes, "behind")
    edges = (before[0], before[-1], behind[0], behind[-1])
    zero = pad.attributes["mode"] == "constant" and pad.attributes["value"] == 0
    if any(edges) or not zero or operand in conv.inputs[1:]:
        return None
    more = (*before[1:-1], *behind[1:-1])
    pads = tuple(a + b for a, b in zip(ints(conv.attributes, "pads"), more, strict=True))
    inputs = (pad.inputs[0], *conv.inputs[1:])
    return replace(conv, inputs=inputs, attributes={**conv.attributes, "pads": pads})
