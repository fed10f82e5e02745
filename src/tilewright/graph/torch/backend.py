"""`torch.compile(model, backend="tilewright")`: inference by tilewright's kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from tilewright.graph.torch.captured import Captured
from tilewright.graph.torch.options import Options


def backend(
    graph: fx.GraphModule,
    examples: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Return what runs a graph that TorchDynamo captured; `options` are those of `Options`.

    It is compiled at its first call, for the shapes and the weights of that call. Where gradients
    are asked for, PyTorch runs it, with a warning.
    """
    del examples, mode
    asked = Options.of(options)
    with asked.opened():  # fails now rather than at the first call
        pass
    if _trains(graph):
        warnings.warn(
            "tilewright compiles for inference, and this model is called where gradients are "
            "recorded, so PyTorch runs it: call it in torch.inference_mode() or torch.no_grad().",
            stacklevel=2,
        )
        return graph.forward
    return Captured(graph, asked)


def _trains(graph: fx.GraphModule) -> bool:
    """Whether gradients flow out of a captured graph."""
    made: list[Any] = []
    fx.map_arg(graph.graph.output_node().args, lambda node: made.append(node) or node)
    values = [node.meta.get("example_value") for node in made]
    return any(isinstance(v, torch.Tensor) and v.requires_grad for v in values)
