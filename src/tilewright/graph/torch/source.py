"""A node of PyTorch's graph, read by the names of its operator's schema: what importers see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import fx

from tilewright import dtypes
from tilewright.graph.builder import Builder
from tilewright.graph.ir import Attribute, Shape
from tilewright.graph.torch.tensors import DTYPES, Array
from tilewright.ops.program import Program

Made: TypeAlias = str | tuple[str, ...]  # the graph's names of what a node makes

MAX_ELEMENTS = 1 << 31


class Refusal(Exception):  # noqa: N818 - reported, no error by itself
    """Why a node is left to PyTorch."""


@dataclass
class Scope:
    """What the nodes of PyTorch's graph stand for so far; constants enter when first used."""

    builder: Builder
    constants: Mapping[fx.Node, Array]
    values: dict[fx.Node, Made] = field(default_factory=dict[fx.Node, Made])


class Source:
    """One node and the scope it stands in."""

    def __init__(self, node: fx.Node, scope: Scope) -> None:
        self.scope, self.builder = scope, scope.builder
        self.name, self.operator = node.name, str(node.target)
        self.result = node.meta["val"]
        target: Any = node.target
        stated = {a.name: a.default_value for a in target._schema.arguments}
        given = dict(zip(stated, node.args, strict=False))
        self._arguments: dict[str, Any] = stated | given | dict(node.kwargs)

    def has(self, name: str) -> bool:
        """Whether an argument is there and is not None."""
        return self._arguments.get(name) is not None

    def argument(self, name: str, default: Any = None) -> Any:
        """Return an argument that is no tensor; refuse one that is."""
        value = self._arguments.get(name)
        if isinstance(value, fx.Node):
            raise Refusal(f"its {name} is computed")
        return default if value is None else value

    def raw(self, name: str) -> Any:
        """Return an argument as the graph has it: nodes are tensors."""
        return self._arguments[name]

    def integers(self, name: str, count: int | None = None) -> Shape:
        """Return an argument of integers; one stands for `count` of the same."""
        value = self.argument(name, ())
        found = (value,) if isinstance(value, int) else tuple(value)
        if not all(isinstance(i, int) for i in found):
            raise Refusal(f"its {name} are not all known")
        return found * count if count and len(found) == 1 else found

    def value(self, name: str = "self") -> str:
        """Return the graph's name of a tensor argument."""
        return self.of(self._node(name))

    def of(self, node: Any) -> str:
        """Return the graph's name of what a node makes."""
        if not isinstance(node, fx.Node):
            raise Refusal(f"{node!r} is no tensor")
        if node not in self.scope.values:
            if not self.scope.constants[node].size:
                raise Refusal(f"its operand {node.name} is empty")
            self.scope.values[node] = self.builder.constant(node.name, self.scope.constants[node])
        made = self.scope.values[node]
        if not isinstance(made, str):
            raise Refusal(f"{node.name} is no single tensor")
        return made

    def known(self, name: str) -> Array | None:
        """Return a tensor argument if it is a constant."""
        return self.scope.constants.get(self._node(name))

    def constant(self, node: Any) -> Array | None:
        return self.scope.constants.get(node)

    def operand(self, name: str, dtype: str) -> str:
        """Return an argument, a tensor or a number, in an element type."""
        value = self._arguments[name]
        if isinstance(value, fx.Node):
            return self.cast(self.of(value), dtype)
        return self.number(value, dtype, name)

    def number(self, value: Any, dtype: str, name: str = "number") -> str:
        """Add a constant of one element."""
        if not isinstance(value, bool | int | float):
            raise Refusal(f"its {name} is {value!r}, no number")
        with np.errstate(all="ignore"):
            return self.literal(np.asarray(value).astype(dtypes.numpy(dtype)), name)

    def cast(self, value: str, dtype: str) -> str:
        if self.builder.dtype(value) == dtype:
            return value
        return self.map(Program.of("cast", 1, dtype), value)

    def shape(self, name: str = "self") -> Shape:
        return self.builder.shape(self.value(name))

    def dtype(self, name: str = "self") -> str:
        return self.builder.dtype(self.value(name))

    def axes(self, axes: Sequence[int], rank: int) -> Shape:
        """Return axes counted from the front."""
        return tuple(axis + rank if axis < 0 else axis for axis in axes)

    def axis(self, name: str, rank: int) -> int:
        return self.axes((self.argument(name, 0),), rank)[0]

    @property
    def results(self) -> tuple[tuple[Shape, str], ...]:
        """The shape and the element type of each result, up to one that is left empty."""
        made = self.result if isinstance(self.result, tuple | list) else (self.result,)
        first, *others = made
        there = takewhile(lambda value: 0 not in value.shape, others)
        return tuple(described(value) for value in (first, *there))

    def node(self, op: str, *inputs: str, **attributes: Attribute) -> str:
        """Add a node to the graph."""
        made = self.builder.node(op, inputs, self.name, attributes=attributes)
        shape = self.builder.shape(made)
        if min(shape, default=1) < 1 or math.prod(shape) > MAX_ELEMENTS:
            raise Refusal(f"it makes a tensor of shape {shape}, which is empty or too large")
        return made

    def map(self, program: Program | str, *inputs: str) -> str:
        """Add elementwise work: a program, or one function of all inputs."""
        if isinstance(program, str):
            program = Program.of(program, len(inputs))
        return self.node("map", *inputs, program=program)

    def reshaped(self, value: str, shape: Sequence[int]) -> str:
        """Return a value in another shape; itself if that is its own."""
        if self.builder.shape(value) == tuple(shape):
            return value
        return self.node("reshape", value, shape=tuple(shape))

    def repeated(self, value: str, whole: Sequence[int]) -> str:
        """Repeat a value to a larger shape, as NumPy does."""
        shape, whole = self.builder.shape(value), tuple(whole)
        full = (1,) * (len(whole) - len(shape)) + shape
        value = self.reshaped(value, full)
        if full == whole:
            return value
        step = tuple(int(n == m) for n, m in zip(full, whole, strict=True))
        return self.node("slice", value, start=(0,) * len(whole), count=whole, step=step)

    def literal(self, array: Any, name: str) -> str:
        """Add a constant of the importer's own."""
        return self.builder.constant(f"{self.name}.{name}", np.asarray(array))

    def _node(self, name: str) -> fx.Node:
        node = self._arguments.get(name)
        if not isinstance(node, fx.Node):
            raise Refusal(f"its {name} is {node!r}, no tensor")
        return node


def described(value: Any) -> tuple[Shape, str]:
    """Return the shape and the element type of a tensor of PyTorch's, or refuse it."""
    if not isinstance(value, torch.Tensor):
        raise Refusal(f"{type(value).__name__} is no tensor")
    if value.device.type != "cpu" or value.layout != torch.strided:
        raise Refusal(f"a tensor on {value.device} ({value.layout}) is no plain one on the CPU")
    if value.dtype not in DTYPES:
        raise Refusal(f"nothing is computed in {value.dtype}")
    shape: tuple[Any, ...] = tuple(value.shape)
    if not all(isinstance(n, int) for n in shape):
        raise Refusal(f"the shape {shape} is not known")
    if 0 in shape:
        raise Refusal(f"a tensor of shape {shape} is empty")
    return shape, DTYPES[value.dtype]
