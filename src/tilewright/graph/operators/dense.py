"""A matrix product with weights, with the epilogue that is fused into it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.operators.operator import Attributes, refuse_unless


class Dense:
    """relu(X @ W + B): X (m, k), W (k, n), B (n,). Attributes bias and relu say what is there."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        (m, k), (depth, n) = inputs[:2]
        refuse_unless(
            k == depth, f"a matrix of {m}x{k} cannot be multiplied by weights of {depth}x{n}."
        )
        extra, wanted = list(inputs[2:]), [(n,)] * bool(attributes["bias"])
        refuse_unless(
            extra == wanted,
            f"a product that makes {(m, n)} was given {extra} to add to it instead of {wanted}.",
        )
        return (m, n)

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        made = inputs[0] @ inputs[1]
        if attributes["bias"]:
            made = made + inputs[2]
        return np.maximum(made, 0) if attributes["relu"] else made
