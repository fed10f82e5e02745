"""Grow a graph node by node, with shapes and types worked out on the way."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tilewright.graph.ir import Attribute, Graph, Node, Shape, Type, Value
from tilewright.graph.meaning import Reads, type_of
from tilewright.ops.program import Program


class Builder:
    """A graph in the making; `finish` turns it into a value.

    Names that are taken get a number, so a caller only proposes one and uses what is returned.
    """

    def __init__(self, inputs: Sequence[Value], constants: Mapping[str, np.ndarray]) -> None:
        self.inputs = tuple(inputs)
        self.constants = dict(constants)
        self.nodes: list[Node] = []
        self._types = {value.name: value.type for value in inputs}
        for name, array in constants.items():
            self._types[name] = Type(array.shape, str(array.dtype), True)

    def type(self, name: str) -> Type:
        return self._types[name]

    def shape(self, name: str) -> Shape:
        return self._types[name].shape

    def dtype(self, name: str) -> str:
        return self._types[name].dtype

    def constant(self, name: str, array: np.ndarray) -> str:
        """Add a constant and return its name."""
        name = fresh(name, self._types)
        self.constants[name] = np.ascontiguousarray(array).reshape(array.shape)  # () as well
        self._types[name] = Type(array.shape, str(array.dtype), True)
        return name

    def node(
        self,
        op: str,
        inputs: Iterable[str],
        output: str,
        *,
        name: str = "",
        attributes: Mapping[str, Attribute] | None = None,
        then: Program | None = None,
        reads: Reads = (),
    ) -> str:
        """Add a node and return its output; `name` is the model's for it, if it has one."""
        inputs, attributes = tuple(inputs), dict(attributes or {})
        made = type_of(op, [self._types[i] for i in inputs], attributes, then, reads)
        output = fresh(output, self._types)
        value = Value(output, made.shape, made.dtype)
        self.nodes.append(Node(name or output, op, inputs, (value,), attributes, then, reads))
        self._types[output] = made
        return output

    def finish(self, outputs: Iterable[str]) -> Graph:
        return Graph(self.inputs, tuple(outputs), tuple(self.nodes), self.constants)


def renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    """Return a graph in which values that nodes make have other names, given by their own.

    One that is an input or a constant keeps its name, and so does one whose new name is taken.
    """
    made = {value.name for node in graph.nodes for value in node.outputs}
    taken = set(graph.values)
    new = {a: b for a, b in names.items() if a in made and (a == b or b not in taken)}
    nodes = tuple(
        replace(
            node,
            inputs=tuple(new.get(name, name) for name in node.inputs),
            outputs=tuple(replace(v, name=new.get(v.name, v.name)) for v in node.outputs),
        )
        for node in graph.nodes
    )
    return replace(graph, nodes=nodes, outputs=tuple(new.get(n, n) for n in graph.outputs))


def fresh(name: str, taken: Container[str]) -> str:
    """Return `name`, with a number behind it if it is taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}.{number}"
    return free
