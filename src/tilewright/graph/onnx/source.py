"""A node of an ONNX model, read by name: what the importers see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx

from tilewright import dtypes
from tilewright.graph.builder import Builder
from tilewright.graph.ir import Attribute, Shape
from tilewright.graph.onnx.check import MAX_ELEMENTS
from tilewright.ops.program import Program

T = TypeVar("T", int, float, str, tuple[int, ...], tuple[float, ...])


class Refusal(Exception):  # noqa: N818 - reported, no error by itself
    """Why a node cannot be imported; all of them are reported together."""


@dataclass
class Scope:
    """What the model's names stand for so far: a value of the graph, a constant, or unknown.

    After a node that was refused its outputs are `unknown`; what is computed from their shapes
    alone would be constant, and is `pending`.
    """

    builder: Builder
    constants: dict[str, np.ndarray]
    values: dict[str, str] = field(default_factory=dict[str, str])
    unknown: set[str] = field(default_factory=set[str])
    pending: set[str] = field(default_factory=set[str])

    def value(self, name: str) -> str:
        """Return the graph's name for `name`; a constant enters the graph when it is first used.

        Refuse types that nothing is computed in.
        """
        constant = self.constants.get(name)
        if name not in self.values and constant is None:
            raise Refusal(f"{name!r} is read, but nothing makes it")
        if name not in self.values:
            assert constant is not None
            if str(constant.dtype) not in dtypes.LLVM:
                raise Refusal(f"{name!r} is of type {constant.dtype}, in which nothing is computed")
            if not constant.size:
                raise Refusal(f"{name!r} has the shape {constant.shape}, without elements")
            self.values[name] = self.builder.constant(name, constant)
        return self.values[name]


class Source:
    """One node and the scope it stands in; `opset` says which version its operator is of."""

    def __init__(self, proto: onnx.NodeProto, scope: Scope, opset: int = 0) -> None:
        self.proto, self.scope, self.opset = proto, scope, opset
        self.op, self.builder = proto.op_type, scope.builder
        self.inputs, self.outputs = tuple(proto.input), tuple(proto.output)
        self.name = proto.name or next(iter(self.outputs), "")
        self.domain = proto.domain
        self.standard = self.domain in ("", "ai.onnx")
        self.attributes = {a.name: a for a in proto.attribute}

    def has(self, index: int) -> bool:
        """Return whether the optional input `index` is there."""
        return index < len(self.inputs) and self.inputs[index] != ""

    def value(self, index: int = 0) -> str:
        return self.scope.value(self._input(index))

    def dtype(self, index: int = 0) -> str:
        name = self._input(index)
        if name in self.scope.constants:
            return str(self.scope.constants[name].dtype)
        return self.builder.dtype(self.value(index))

    @property
    def count(self) -> int:
        """How many inputs the node names, missing ones at the end left out."""
        return max((i + 1 for i in range(len(self.inputs)) if self.inputs[i]), default=0)

    def shape(self, index: int = 0) -> Shape:
        name = self._input(index)
        if name in self.scope.constants:
            return self.scope.constants[name].shape
        return self.builder.shape(self.value(index))

    def known(self, index: int) -> np.ndarray | None:
        """Return the input `index` if it is a constant."""
        return self.scope.constants.get(self._input(index))

    def _input(self, index: int) -> str:
        if not self.has(index):
            raise Refusal(f"its input {index} is missing")
        return self.inputs[index]

    def constant(self, index: int, what: str) -> np.ndarray:
        """Return the constant input `index`; refuse the node if it is computed."""
        array, name = self.known(index), self.inputs[index]
        if array is None:
            made = name in self.scope.values
            why = "is computed, not constant" if made else "is missing: nothing makes it"
            raise Refusal(f"its {what} {name!r} {why}")
        return array

    def number(self, index: int, what: str) -> float:
        """Return the constant input `index`, a single number or bool."""
        array = self.constant(index, what)
        if array.size != 1 or array.dtype.kind not in "fiub":
            raise Refusal(f"its {what} is {array.dtype} of shape {array.shape}, no single number")
        return float(array.reshape(-1)[0])

    def integers(self, index: int, what: str) -> tuple[int, ...]:
        """Return the constant input `index`, a list of integers."""
        array = self.constant(index, what)
        if array.dtype.kind != "i" or array.ndim > 1:
            raise Refusal(f"its {what} is {array.dtype} of shape {array.shape}, no integers")
        return tuple(int(i) for i in np.atleast_1d(array))

    def attribute(self, name: str, default: T) -> T:
        """Return an attribute in the type of `default`, which stands for one that is absent."""
        if name not in self.attributes:
            return default
        value: Any = onnx.helper.get_attribute_value(self.attributes[name])
        make: Any = type(default)
        return make(value.decode(errors="replace") if isinstance(value, bytes) else value)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return an attribute of several texts; none if it is absent."""
        if name not in self.attributes:
            return ()
        return tuple(text.decode(errors="replace") for text in self.attributes[name].strings)

    def numbers(self, name: str, index: int) -> tuple[int, ...] | None:
        """Return integers that old operator sets give as an attribute, newer ones as an input."""
        if name in self.attributes:
            return self.attribute(name, ())
        if self.has(index):
            return self.integers(index, name)
        return None

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Return axes counted from the front; refuse those that are not there, or there twice."""
        found = tuple(axis + rank if axis < 0 else axis for axis in axes)
        if any(not 0 <= axis < rank for axis in found) or len(set(found)) < len(found):
            raise Refusal(f"its axes {tuple(axes)} are not different ones of {rank}")
        return found

    def node(
        self, op: str, *inputs: str, part: str = "", output: int = 0, **attributes: Attribute
    ) -> str:
        """Add a node to the graph that makes one of this one's outputs, or a named `part` of it."""
        name = self.outputs[output] or self.name
        called = f"{name}.{part}" if part else name
        made = self.builder.node(op, inputs, called, name=self.name, attributes=attributes)
        shape = self.builder.shape(made)
        if min(shape, default=1) < 1 or math.prod(shape) > MAX_ELEMENTS:
            raise Refusal(f"it makes a tensor of shape {shape}, which is empty or too large")
        return made

    def map(self, program: Program | str, *inputs: str, part: str = "") -> str:
        """Add elementwise work: a program, or one function of all inputs."""
        if isinstance(program, str):
            program = Program.of(program, len(inputs))
        return self.node("map", *inputs, part=part, program=program)

    def reshaped(self, value: str, shape: Shape, part: str = "") -> str:
        """Return a value in another shape; itself if that is its own."""
        if self.builder.shape(value) == shape:
            return value
        return self.node("reshape", value, part=part, shape=shape)

    def literal(self, array: Any, name: str) -> str:
        """Add a constant of the importer's own."""
        return self.builder.constant(f"{self.outputs[0]}.{name}", np.asarray(array))
