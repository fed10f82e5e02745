"""What TreeGRU computes, in PyTorch: the states of trees from the leaves up, scores, and Adam.

PyTorch is an extra and heavy, so it is loaded by the first use, and handed to who needs it.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import ArgumentError
from tilewright.models.forest import Forest

if TYPE_CHECKING:
    from torch import Tensor


@contextmanager
def pytorch(threads: int) -> Generator[Any]:
    """Give PyTorch, with so many threads meanwhile; raise ArgumentError if it is not installed."""
    try:
        import torch
    except ImportError:
        raise ArgumentError(
            "cannot use TreeGRU: PyTorch is not installed; pip install tilewright[torch], or "
            "search with another model, such as Guided(Boosted())."
        ) from None
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield torch
    finally:
        torch.set_num_threads(before)


def scores(
    torch: Any, w: dict[str, Tensor], forest: Forest, values: NDArray[np.float32], names: Any
) -> Tensor:
    """Return the score of each row from scaled values of its nodes, and numbers of embeddings."""
    inputs = torch.from_numpy(values)
    if "embedding" in w:
        inputs = torch.cat([inputs, w["embedding"][torch.from_numpy(names)]], dim=1)
    states = _states(torch, w, forest, torch.addmm(w["bias"], inputs, w["input"]))
    worth = w["linear"].T @ states.T
    if "classes" in w:
        # The linear layer of a sum is the sum of linear layers, so that no slot is ever built: a
        # loop counts by what its state is worth in each slot, times how much of it goes there.
        worth = worth * torch.softmax(w["classes"].T @ states.T, dim=0)
    counts = forest.loop if "classes" in w else forest.root
    summed = worth.sum(dim=0) * torch.from_numpy(counts)
    return summed.new_zeros(forest.rows).index_add(0, torch.from_numpy(forest.row), summed)


def _states(torch: Any, w: dict[str, Tensor], forest: Forest, inputs: Tensor) -> Tensor:
    """Return the state of every node; all nodes that are equally deep are computed together."""
    hidden = len(w["inside"])
    below = inputs.new_zeros(0, hidden)
    states: list[Tensor] = []
    sizes = [level.size for level in forest.levels]
    for level, own in zip(forest.levels, inputs.split(sizes), strict=True):
        inside = inputs.new_zeros(level.size, hidden)
        inside = inside.index_add(0, torch.from_numpy(level.round), below)
        below = _unit(torch, own, inside, w["inside"])
        states.append(below)
    return torch.cat(states)


def _unit(torch: Any, own: Tensor, inside: Tensor, weight: Tensor) -> Tensor:
    """Return new states: of the sum of those inside, the update gate says how much is kept."""
    update, reset, new = own.chunk(3, dim=1)
    update_, reset_, new_ = (inside @ weight).chunk(3, dim=1)
    candidate = torch.tanh(new + torch.sigmoid(reset + reset_) * new_)
    return torch.lerp(candidate, inside, torch.sigmoid(update + update_))


class Adam:
    """Adam with decoupled decay; that of PyTorch takes seconds to load, for these few lines."""

    def __init__(self, torch: Any, weights: list[Tensor], decay: float) -> None:
        self._torch, self._weights, self._decay = torch, weights, decay
        self._mean = [torch.zeros_like(w) for w in weights]
        self._square = [torch.zeros_like(w) for w in weights]
        self._steps = 0

    def step(self, rate: float) -> None:
        """Change the weights by their gradients, and clear these."""
        self._steps += 1
        rate_ = rate / (1 - 0.9**self._steps)
        scale = 1 / (1 - 0.999**self._steps)
        with self._torch.no_grad():
            for w, mean, square in zip(self._weights, self._mean, self._square, strict=True):
                mean.lerp_(w.grad, 0.1)
                square.mul_(0.999).addcmul_(w.grad, w.grad, value=0.001)
                w.mul_(1 - rate * self._decay)
                w.addcdiv_(mean, (square * scale).sqrt_().add_(1e-8), value=-rate_)
                w.grad = None
