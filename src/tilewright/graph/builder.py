"""Grow a graph node by node, with shapes worked out on the way."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np

from tilewright.graph.ir import Attribute, Graph, Node, Shape, Value
from tilewright.graph.operators import OPERATORS


class Builder:
    """A graph in the making; `finish` turns it into a value.

    Names that are taken get a number, so a caller only proposes one and uses what is returned.
    """

    def __init__(self, inputs: Sequence[Value], constants: Mapping[str, np.ndarray]) -> None:
        self.inputs = tuple(inputs)
        self.constants = dict(constants)
        self.nodes: list[Node] = []
        self._shapes: dict[str, Shape] = {value.name: value.shape for value in inputs}
        self._shapes |= {name: array.shape for name, array in constants.items()}

    def shape(self, name: str) -> Shape:
        return self._shapes[name]

    def constant(self, name: str, array: np.ndarray) -> str:
        """Add a constant and return its name."""
        name = fresh(name, self._shapes)
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)  # () as well
        self._shapes[name] = array.shape
        return name

    def node(
        self,
        op: str,
        inputs: Iterable[str],
        output: str,
        *,
        name: str = "",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> str:
        """Add a node and return its output; `name` is the model's for it, if it has one."""
        inputs, attributes = tuple(inputs), dict(attributes or {})
        shape = OPERATORS[op].shape([self._shapes[i] for i in inputs], attributes)
        output = fresh(output, self._shapes)
        self.nodes.append(Node(name or output, op, inputs, (Value(output, shape),), attributes))
        self._shapes[output] = shape
        return output

    def finish(self, outputs: Iterable[str]) -> Graph:
        return Graph(self.inputs, tuple(outputs), tuple(self.nodes), self.constants)


def fresh(name: str, taken: Container[str]) -> str:
    """Return `name`, with a number behind it if it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}.{number}"
    return free
