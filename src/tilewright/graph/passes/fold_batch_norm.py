"""Batch normalisation -> the weights of the convolution before it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph.builder import fresh
from tilewright.graph.ir import Attribute, Graph, Node
from tilewright.graph.passes.absorb import absorb

_ALONE: dict[str, Attribute] = {"strides": (1, 1), "pads": (0, 0, 0, 0), "dilations": (1, 1)}


def fold_batch_norm(graph: Graph) -> Graph:
    """Scale and shift the convolution that a normalisation follows.

    One that follows anything else becomes a convolution of its own, with one weight a channel,
    into which later passes can fuse what comes next.
    """
    constants, taken = dict(graph.constants), graph.values

    def put(name: str, array: np.ndarray) -> str:
        name = fresh(name, taken)
        constants[name] = np.ascontiguousarray(array, dtype=np.float32)
        return name

    def convolution(norm: Node, data: str, weights: np.ndarray, bias: np.ndarray) -> Node:
        name = norm.output.name
        inputs = (data, put(f"{name}.weight", weights), put(f"{name}.bias", bias))
        attributes = {**_ALONE, "groups": len(bias), "bias": 1}
        return Node(norm.name, "conv2d_nchw", inputs, norm.outputs, attributes)

    def merge(maker: Node, norm: Node, operand: str) -> Node | None:
        assert operand == maker.output.name
        if norm.op != "batch_norm_nchw" or maker.op != "conv2d_nchw":
            return None
        factor, shift = _affine(norm, constants)
        weights = constants[maker.inputs[1]] * factor[:, None, None, None]
        if maker.attributes["bias"]:
            shift = shift + factor * constants[maker.inputs[2]]
        fused = convolution(norm, maker.inputs[0], weights, shift)
        return replace(fused, name=maker.name, attributes={**maker.attributes, "bias": 1})

    def alone(norm: Node) -> Node:
        factor, shift = _affine(norm, constants)
        return convolution(norm, norm.inputs[0], factor[:, None, None, None], shift)

    graph = absorb(graph, merge)
    nodes = [alone(node) if node.op == "batch_norm_nchw" else node for node in graph.nodes]
    return replace(graph, nodes=tuple(nodes), constants=constants)


def _affine(norm: Node, constants: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return a and b in a * x + b for each channel, in float64."""
    scale, shift, mean, var = (constants[name].astype(np.float64) for name in norm.inputs[1:])
    epsilon = norm.attributes["epsilon"]
    assert isinstance(epsilon, float)
    with np.errstate(invalid="ignore", divide="ignore"):  # as in the model: no value, or infinite
        factor = scale / np.sqrt(var + epsilon)
    return factor, shift - mean * factor
