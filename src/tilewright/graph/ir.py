"""A neural network as a value: operators in an order in which they can run, and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from tilewright import dtypes
from tilewright.ops.program import Program

Shape = tuple[int, ...]
Attribute = int | float | str | tuple[int, ...] | tuple[float, ...] | Program


class Type(NamedTuple):
    """What is known of a value before it is computed."""

    shape: Shape
    dtype: str = "float32"
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Value:
    """The name, shape and element type of what flows along one edge."""

    name: str
    shape: Shape
    dtype: str = "float32"

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * dtypes.nbytes(self.dtype)

    @property
    def type(self) -> Type:
        return Type(self.shape, self.dtype)

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} {'x'.join(map(str, self.shape)) or 'scalar'}"


@dataclass(frozen=True, slots=True)
class Node:
    """One operator applied to named values, and what is then done to each element it makes.

    `name` is the model's own name for it, for messages; `op` is a key of `operators.OPERATORS`.
    `then` is a program whose operand 0 is the operator's result, and whose others are the last
    inputs of the node, repeated to its shape as NumPy does. `reads` holds operands, by number, that
    the operator sees transposed, and how: axis i is axis `perm[i]` of the value.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[Value, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    then: Program | None = None
    reads: tuple[tuple[int, Shape], ...] = ()

    @property
    def output(self) -> Value:
        """The only output: what makes several in a model is several nodes here."""
        (only,) = self.outputs
        return only

    @property
    def operands(self) -> tuple[str, ...]:
        """The inputs of the operator itself."""
        extra = self.then.inputs - 1 if self.then else 0
        return self.inputs[: len(self.inputs) - extra]

    @property
    def extras(self) -> tuple[str, ...]:
        """The inputs of `then`, without the operator's result."""
        return self.inputs[len(self.operands) :]


@dataclass(frozen=True, eq=False)
class Graph:
    """Operators in topological order; each value is made once, and none is changed in place.

    `outputs` name values in the model's order; an output may also be an input or a constant.
    """

    inputs: tuple[Value, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    constants: Mapping[str, np.ndarray]

    @cached_property
    def values(self) -> Mapping[str, Value]:
        """Every value by its name: inputs, constants, then what the nodes make."""
        found = {value.name: value for value in self.inputs}
        for name, array in self.constants.items():
            found[name] = Value(name, array.shape, str(array.dtype))
        for node in self.nodes:
            found.update((value.name, value) for value in node.outputs)
        return MappingProxyType(found)

    @cached_property
    def types(self) -> Mapping[str, Type]:
        """The type of every value by its name."""
        found = {
            name: Type(value.shape, value.dtype, name in self.constants)
            for name, value in self.values.items()
        }
        return MappingProxyType(found)

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
