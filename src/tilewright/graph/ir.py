"""A neural network as a value: operators in an order in which they can run, and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tilewright import dtypes

Shape = tuple[int, ...]
Attribute = int | float | str | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """The name, shape and element type of what flows along one edge."""

    name: str
    shape: Shape
    dtype: str = "float32"

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * dtypes.nbytes(self.dtype)

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} {'x'.join(map(str, self.shape)) or 'scalar'}"


@dataclass(frozen=True, slots=True)
class Node:
    """One operator applied to named values.

    `name` is the model's own name for it, for messages; `op` is a key of `operators.OPERATORS`.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[Value, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])

    @property
    def output(self) -> Value:
        """The only output; every operator that there is so far has one."""
        (only,) = self.outputs
        return only


@dataclass(frozen=True, eq=False)
class Graph:
    """Operators in topological order; each value is made once, and none is changed in place.

    `outputs` name values in the model's order; an output may also be an input or a constant.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, np.ndarray]

    @property
    def values(self) -> dict[str, Value]:
        """Every value by its name: inputs, constants, then what the nodes make."""
        found = {value.name: value for value in self.inputs}
        for name, array in self.constants.items():
            found[name] = Value(name, array.shape, str(array.dtype))
        for node in self.nodes:
            found.update((value.name, value) for value in node.outputs)
        return found

    @property
    def uses(self) -> dict[str, int]:
        """How often each value is read, being an output of the graph included."""
        count = dict.fromkeys(self.values, 0)
        for name in (*self.outputs, *(name for node in self.nodes for name in node.inputs)):
            count[name] += 1
        return count

    def __str__(self) -> str:
        from tilewright.graph.show import show

        return show(self)
