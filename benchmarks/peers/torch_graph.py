"""An imported graph as a PyTorch module, so that PyTorch can run any ONNX model that we can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tilewright.graph.ir import Graph, Node
from tilewright.graph.onnx import load
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.fold_batch_norm import fold_batch_norm


class GraphModule(nn.Module):
    """Runs a graph of one input and one output, channels first in shape, node by node."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.nodes, self.input, self.output = graph.nodes, graph.inputs[0].name, graph.outputs[0]
        self.places = {name: f"constant{i}" for i, name in enumerate(graph.constants)}
        for name, array in graph.constants.items():
            self.register_buffer(self.places[name], torch.from_numpy(array.copy()))

    @classmethod
    def load(cls, path: Path) -> GraphModule:
        """Read an ONNX model; its batch normalisations are folded, in favour of PyTorch."""
        return cls(drop_dead(fold_batch_norm(load(path))))

    def forward(self, data: torch.Tensor) -> torch.Tensor:
        known = {name: getattr(self, place) for name, place in self.places.items()}
        known[self.input] = data
        for node in self.nodes:
            known[node.output.name] = _compute(node, [known[name] for name in node.inputs])
        return known[self.output]


def _compute(node: Node, inputs: list[torch.Tensor]) -> torch.Tensor:
    a: dict[str, Any] = dict(node.attributes)
    x = inputs[0]
    match node.op:
        case "conv2d_nchw":
            x, pads = _pad(x, a["pads"], 0.0)
            bias = inputs[2] if a["bias"] else None
            return functional.conv2d(
                x, inputs[1], bias, a["strides"], pads, a["dilations"], a["groups"]
            )
        case "pool2d_nchw" if a["kind"] == "max":
            x, pads = _pad(x, a["pads"], -torch.inf)
            return functional.max_pool2d(x, a["kernel"], a["strides"], pads)
        case "pool2d_nchw" if a["pads"][:2] == a["pads"][2:]:
            pads, count = a["pads"][:2], bool(a["count_include_pad"])
            return functional.avg_pool2d(x, a["kernel"], a["strides"], pads, False, count)
        case "global_average_pool_nchw":
            return x.mean((2, 3))
        case "dense":
            return x @ inputs[1]
        case "relu":
            return functional.relu(x)
        case "add":
            return x + inputs[1]
        case "reshape":
            return x.reshape(a["shape"])
        case "transpose":
            return x.permute(a["perm"])
        case _:
            raise NotImplementedError(f"PyTorch is not given {node.op} {a} here")


def _pad(
    x: torch.Tensor, pads: tuple[int, int, int, int], value: float
) -> tuple[torch.Tensor, tuple[int, int]]:
    """Return the padding that the operator can do itself; do it before if sides differ."""
    top, left, bottom, right = pads
    if (top, left) == (bottom, right):
        return x, (top, left)
    return functional.pad(x, (left, right, top, bottom), value=value), (0, 0)
