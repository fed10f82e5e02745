"""Import the operators on single elements, and those that do nothing at inference."""

from __future__ import annotations

import math

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source


def relu(source: Source) -> str:
    return source.node("relu", source.value())


def clip(source: Source) -> str:
    low, high = -np.inf, np.inf
    if source.has(1):
        low = source.number(1, "lower bound")
    if source.has(2):
        high = source.number(2, "upper bound")
    low, high = source.attribute("min", low), source.attribute("max", high)
    if low != 0 or high < np.finfo(np.float32).max:
        raise Refusal(f"it clips to [{low:g}, {high:g}]; only [0, inf], a ReLU, is supported")
    return relu(source)


def add(source: Source) -> str:
    return _add(source, 0, 1)


def total(source: Source) -> str:
    if len(source.inputs) == 1:
        return identity(source)
    if len(source.inputs) > 2:
        raise Refusal("it has more than two inputs; write it as several Add")
    return _add(source, 0, 1)


def identity(source: Source) -> str:
    return source.value()


def dropout(source: Source) -> str:
    if source.has(2) and source.number(2, "training mode"):
        raise Refusal("it is in training mode")
    return source.value()


def cast(source: Source) -> str:
    if source.attribute("to", 0) != 1:  # TensorProto.FLOAT, which everything here already is
        raise Refusal("it casts to another type than float32")
    return source.value()


def cast_like(source: Source) -> str:
    source.value(1)  # refused there if it is not float32
    return source.value()


def _together(large: Shape, small: Shape) -> Shape:
    try:
        return np.broadcast_shapes(large, small)
    except ValueError:
        raise Refusal(f"it adds tensors of shapes {large} and {small}, which do not fit") from None


def _add(source: Source, left: int, right: int) -> str:
    """Add two inputs; the smaller one, which must be constant, is repeated along the larger."""
    if source.known(left) is not None:
        left, right = right, left
    large, small = source.shape(left), source.shape(right)
    if large != small and source.known(right) is None:
        raise Refusal(f"it adds tensors of shapes {large} and {small}, neither of them constant")
    if small != large and math.prod(_together(large, small)) > math.prod(large):
        raise Refusal(
            f"it repeats a computed tensor of shape {large} to add a constant of shape {small}; "
            "only constants are repeated"
        )
    return source.node("add", source.value(left), source.value(right))
