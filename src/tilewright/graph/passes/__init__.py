"""From a model as it was imported to the fewest operators, channels last."""

from __future__ import annotations

from tilewright.errors import ModelError
from tilewright.graph.ir import Graph
from tilewright.graph.passes.absorb_bias import absorb_bias
from tilewright.graph.passes.absorb_relu import absorb_relu
from tilewright.graph.passes.absorb_residual import absorb_residual
from tilewright.graph.passes.channels_last import channels_last
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.expand_constants import expand_constants
from tilewright.graph.passes.fold_batch_norm import fold_batch_norm
from tilewright.graph.passes.fold_constants import fold_constants
from tilewright.graph.passes.merge_reshapes import merge_reshapes


def optimize(graph: Graph) -> Graph:
    """Return a graph that computes the same and is made for kernels.

    Its operators are conv2d, pool2d, global_average_pool, dense, transpose, relu, add and reshape;
    images are channels last, and what can be is fused into the convolution or product before it.
    Raises `ModelError` if that does not fit into memory.
    """
    try:
        return _optimize(graph)
    except MemoryError as error:
        raise ModelError(
            f"cannot compile this network: a constant of it does not fit into memory ({error})."
        ) from None


def _optimize(graph: Graph) -> Graph:
    graph = fold_batch_norm(graph)
    graph = channels_last(graph)
    graph = fold_constants(graph)
    graph = merge_reshapes(graph)
    graph = absorb_bias(graph)
    graph = expand_constants(graph)
    graph = absorb_residual(graph)
    graph = absorb_relu(graph)
    return drop_dead(graph)


__all__ = ["optimize"]
