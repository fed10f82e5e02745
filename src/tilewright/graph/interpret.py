"""What a graph means, in NumPy: the definition that compiled modules are checked against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright import dtypes
from tilewright.errors import ArgumentError
from tilewright.graph.ir import Graph
from tilewright.graph.meaning import stored, value_of


def interpret(
    graph: Graph, arrays: Sequence[np.ndarray], *, dtype: str = "float32"
) -> list[np.ndarray]:
    """Compute the outputs of `graph` for the inputs `arrays`, both in the graph's order.

    Values of float32 are kept in `dtype`: "float64" makes a reference for code in float32. Raises
    `ArgumentError` if an array does not fit its input.
    """

    def kept(array: np.ndarray, declared: str) -> np.ndarray:
        return stored(array, dtype if declared == "float32" else declared)

    if len(arrays) != len(graph.inputs):
        raise ArgumentError(f"the graph has {len(graph.inputs)} inputs, {len(arrays)} were given.")
    known = {
        name: kept(array, dtypes.check(array.dtype)) for name, array in graph.constants.items()
    }
    for value, array in zip(graph.inputs, arrays, strict=True):
        if array.shape != value.shape:
            raise ArgumentError(f"input {value} was given an array of shape {array.shape}.")
        known[value.name] = kept(array, value.dtype)
    uses, types = graph.uses, graph.types
    for node in graph.nodes:
        operands = [known[name] for name in node.inputs]
        made = value_of(node, operands, [types[name] for name in node.inputs])
        known[node.output.name] = kept(made, node.output.dtype)
        for name in node.inputs:  # a value that nothing reads any more is let go
            uses[name] -= 1
            if not uses[name]:
                del known[name]
    return [known[name] for name in graph.outputs]
