"""An ONNX model as a PyTorch module with the same weights, in PyTorch's own operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchmarks.peers.onnx_graph import Graph, Node, read

Function = Callable[..., Any]  # of the tensors that a node takes


class GraphModule(nn.Module):
    """Runs a graph node by node, images channels first in shape; returns a tuple of outputs."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.names, self.outputs = tuple(graph.inputs), graph.outputs
        self.places: dict[str, str] = {}
        self.steps: list[tuple[Function, tuple[str, ...], tuple[str, ...]]] = []
        for i, node in enumerate(graph.nodes):
            function, inputs = _function(node, graph.constants)
            if isinstance(function, nn.Module):
                self.add_module(f"layer{i}", function)
            self.steps.append((function, inputs, node.outputs))
            for name in inputs:
                if name in graph.constants and name not in self.places:
                    self.places[name] = f"constant{len(self.places)}"
                    self.register_buffer(
                        self.places[name], torch.from_numpy(graph.constants[name].copy())
                    )

    @classmethod
    def load(cls, path: Path) -> GraphModule:
        """Read an ONNX model; its batch normalisations are folded, in favour of PyTorch."""
        return cls(read(path))

    def forward(self, *data: torch.Tensor) -> tuple[torch.Tensor, ...]:
        known = {name: getattr(self, place) for name, place in self.places.items()}
        known |= zip(self.names, data, strict=True)
        for function, inputs, outputs in self.steps:
            made = function(*[known[name] for name in inputs])
            known.update(zip(outputs, made if isinstance(made, tuple) else (made,), strict=True))
        return tuple(known[name] for name in self.outputs)


class _LSTM(nn.Module):
    """PyTorch's layer for ONNX's operator, whose gates are in another order."""

    def __init__(self, w: np.ndarray, r: np.ndarray, b: np.ndarray) -> None:
        super().__init__()
        units = r.shape[-1]
        self.layer = nn.LSTM(w.shape[-1], units)
        halves = (w[0], r[0], *b.reshape(2, -1))
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        for name, array in zip(names, halves, strict=True):
            i, o, f, c = np.split(array, 4)
            parameter = nn.Parameter(torch.from_numpy(np.concatenate([i, f, c, o])), False)
            setattr(self.layer, name, parameter)
        self.layer.flatten_parameters()

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[Any, ...]:
        y, (h, c) = self.layer(x, (h, c))
        return y[:, None], h, c


def _function(node: Node, constants: Mapping[str, np.ndarray]) -> tuple[Function, tuple[str, ...]]:
    """Return what computes a node, and the names of the tensors that it takes."""
    a, inputs = node.attributes, node.inputs
    values = [_small(constants.get(name)) for name in inputs[1:]]
    strides, dilations = node.ints("strides", 1, 1), node.ints("dilations", 1, 1)
    groups, axis = a.get("group", 1), a.get("axis", 0)
    top, left, bottom, right = node.pads()
    pads = top, left
    match node.op:
        case "Conv" if pads == (bottom, right):
            return _convolution(functional.conv2d, strides, pads, dilations, groups), inputs
        case "ConvTranspose" if pads == (bottom, right) and "output_padding" not in a:
            more = (0, groups, dilations)
            return _convolution(functional.conv_transpose2d, strides, pads, *more), inputs
        case "MaxPool" if pads == (bottom, right) and dilations == (1, 1):
            kernel = node.ints("kernel_shape")
            return lambda x: functional.max_pool2d(x, kernel, strides, pads), inputs
        case "GlobalAveragePool":
            return lambda x: x.mean((2, 3), keepdim=True), inputs
        case "Flatten" if a.get("axis", 1) == 1:
            return lambda x: x.flatten(1), inputs
        case "Gemm" if a.get("transB") and len(inputs) == 3 and not a.keys() & {"alpha", "beta"}:
            if inputs[2] in constants:
                return lambda x, w, b: functional.linear(x, w, b), inputs
            return lambda x, w, b: torch.addmm(b, x, w.T), inputs
        case "LSTM" if not a.keys() - {"hidden_size"}:
            layer = _LSTM(*(constants[name] for name in inputs[1:4]))
            return layer, (inputs[0], *inputs[5:7])
        case "Clip":
            return lambda x: functional.hardtanh(x, values[0], values[1]), inputs[:1]
        case "Gather" if axis == 0 and inputs[0] in constants:
            return lambda table, index: functional.embedding(index, table), inputs
        case "Gather" if axis == 0 and isinstance(values[0], int):
            return lambda x: x[values[0]], inputs[:1]
        case "Squeeze":
            return lambda x: x.squeeze(values[0]), inputs[:1]
        case "Unsqueeze" if values[0] is not None and len(values[0]) == 1:
            return lambda x: x.unsqueeze(values[0][0]), inputs[:1]
        case "Split" if len(inputs) == 1:
            return lambda x: x.chunk(len(node.outputs), axis), inputs
        case "Concat":
            return lambda *parts: torch.cat(parts, axis), inputs
        case op if op in _PLAIN:
            return _PLAIN[op], inputs
        case _:
            raise node.refused("PyTorch")


_PLAIN: dict[str, Function] = {
    "Relu": functional.relu,
    "Sigmoid": torch.sigmoid,
    "Tanh": torch.tanh,
    "Add": torch.add,
    "Mul": torch.mul,
    "MatMul": torch.matmul,
}


def _small(array: np.ndarray | None) -> Any:
    """Return numbers that say what is computed, such as an axis; weights stay as they are."""
    return array.tolist() if array is not None and array.size < 9 else None


def _convolution(function: Function, *settings: Any) -> Function:
    return lambda x, w, b=None: function(x, w, b, *settings)
