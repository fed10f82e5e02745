"""Operators that work on each element by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.operators.operator import Attributes, refuse_unless


class Relu:
    """max(X, 0)."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:  # noqa: ARG002 - has none
        return inputs[0]

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:  # noqa: ARG002
        return np.maximum(inputs[0], 0)


class Add:
    """X + Y, where Y is repeated along the axes in which it is shorter; X is not."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:  # noqa: ARG002 - has none
        X, Y = inputs
        padded = (1,) * (len(X) - len(Y)) + Y
        refuse_unless(
            len(padded) == len(X) and all(b in (a, 1) for a, b in zip(X, padded, strict=True)),
            f"a tensor of shape {Y} cannot be added to one of shape {X}.",
        )
        return X

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:  # noqa: ARG002
        return inputs[0] + inputs[1]
