"""Operators that compute nothing: they move or rename elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.operators.operator import Attributes, ints, refuse_unless


class Transpose:
    """Axis i of the output is axis `perm[i]` of X."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        perm = ints(attributes, "perm")
        refuse_unless(
            sorted(perm) == list(range(len(inputs[0]))),
            f"{perm} is no order of the axes of a tensor of shape {inputs[0]}.",
        )
        return tuple(inputs[0][axis] for axis in perm)

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        return np.ascontiguousarray(inputs[0].transpose(ints(attributes, "perm")))


class Gather:
    """Slices of X along `axis`, at indices in the place of it: X, then integers of any shape.

    One below zero counts from the end, and one beyond either end is that end.
    """

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        (X, indices), axis = inputs, attributes["axis"]
        assert isinstance(axis, int)
        refuse_unless(0 <= axis < len(X), f"a tensor of shape {X} has no axis {axis}.")
        return (*X[:axis], *indices, *X[axis + 1 :])

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        (X, indices), axis = inputs, attributes["axis"]
        assert isinstance(axis, int)
        n = X.shape[axis]
        return np.take(X, np.clip(indices, -n, n - 1), axis)


class Reshape:
    """The elements of X in their order, as an array of `shape`; it can share the memory of X."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        shape = ints(attributes, "shape")
        refuse_unless(
            math.prod(shape) == math.prod(inputs[0]),
            f"a tensor of shape {inputs[0]} cannot be reshaped to {shape}.",
        )
        return shape

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        return inputs[0].reshape(ints(attributes, "shape"))
