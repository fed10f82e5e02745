"""A part of PyTorch's graph that tilewright runs."""

from __future__ import annotations

from typing import Any

import torch

from tilewright.graph.module import Module
from tilewright.graph.torch.tensors import array_of, tensor_of


class Piece(torch.nn.Module):
    """Calls a compiled module with tensors, whose memory is shared, and returns tensors."""

    def __init__(self, module: Module, single: bool) -> None:
        super().__init__()
        self.module, self.single = module, single

    def forward(self, *tensors: torch.Tensor) -> Any:
        made = self.module(*map(array_of, tensors))
        if self.single:
            return tensor_of(made)
        return tuple(map(tensor_of, made if isinstance(made, tuple) else (made,)))
