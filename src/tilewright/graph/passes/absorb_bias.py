"""conv2d or dense, then add of a constant for each channel -> one node with a bias."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph.builder import fresh
from tilewright.graph.ir import Graph, Node
from tilewright.graph.passes.absorb import absorb


def absorb_bias(graph: Graph) -> Graph:
    """Let each convolution and product add the constant that is added to its channels after it."""
    constants, taken = dict(graph.constants), graph.values

    def merge(maker: Node, add: Node, operand: str) -> Node | None:
        if add.op != "add" or maker.op not in ("conv2d", "dense") or operand != add.inputs[0]:
            return None
        if maker.attributes.get("residual") or maker.attributes["relu"]:
            return None
        addend, channels = constants.get(add.inputs[1]), add.output.shape[-1]
        if addend is None or (addend.size > 1 and addend.shape[-1] != addend.size):
            return None
        bias = np.broadcast_to(addend.reshape(-1), (channels,))
        if maker.attributes["bias"]:
            bias = bias + constants[maker.inputs[2]]
        name = fresh(f"{add.output.name}.bias", taken)
        constants[name] = np.ascontiguousarray(bias)
        return replace(
            maker,
            inputs=(*maker.inputs[:2], name),
            outputs=add.outputs,
            attributes={**maker.attributes, "bias": 1},
        )

    return replace(absorb(graph, merge), constants=constants)
