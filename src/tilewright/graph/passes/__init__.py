"""From a model as it was imported to the fewest operators, channels last."""

from __future__ import annotations

from tilewright.errors import ModelError
from tilewright.graph.ir import Graph
from tilewright.graph.passes.channels_last import channels_last
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.fold_affine import fold_affine
from tilewright.graph.passes.fold_constants import fold_constants
from tilewright.graph.passes.fold_flatten import fold_flatten
from tilewright.graph.passes.fold_pad import fold_pad
from tilewright.graph.passes.fold_transposes import fold_transposes
from tilewright.graph.passes.fuse_norms import fuse_norms
from tilewright.graph.passes.fuse_softmax import fuse_softmax
from tilewright.graph.passes.hoist_scales import hoist_scales
from tilewright.graph.passes.maps import absorb_maps, merge_maps, write_literals
from tilewright.graph.passes.merge_equal import merge_equal
from tilewright.graph.passes.merge_reshapes import merge_reshapes


def optimize(graph: Graph) -> Graph:
    """Return a graph that computes the same and is made for kernels.

    Images are channels last, and what is done to each element is done where it is made. Raises
    `ModelError` if that does not fit into memory.
    """
    try:
        return _optimize(graph)
    except MemoryError as error:
        raise ModelError(
            f"cannot compile this network: a constant of it does not fit into memory ({error})."
        ) from None


def _optimize(graph: Graph) -> Graph:
    graph = fuse_norms(graph)
    graph = fuse_softmax(graph)
    graph = hoist_scales(graph)
    graph = channels_last(graph)
    graph = fold_constants(graph)
    graph = merge_reshapes(graph)
    graph = merge_equal(graph)
    graph = fold_pad(graph)
    graph = fold_flatten(graph)
    graph = fold_transposes(graph)
    graph = write_literals(graph)
    graph = absorb_maps(graph)
    graph = merge_maps(graph)
    graph = absorb_maps(graph)
    graph = fold_affine(graph)
    return drop_dead(graph)


__all__ = ["optimize"]
