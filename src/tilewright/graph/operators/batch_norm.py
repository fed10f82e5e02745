"""Batch normalisation at inference: a scale and a shift for each channel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.operators.operator import Attributes, refuse_unless


class BatchNormNchw:
    """(X - mean) / sqrt(var + epsilon) * scale + shift: X (n, c, h, w), then four vectors (c,).

    Inputs in ONNX's order: X, scale, shift, mean, var. Attribute: epsilon.
    """

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:  # noqa: ARG002 - not needed
        X, *vectors = inputs
        refuse_unless(
            len(X) == 4 and all(vector == (X[1],) for vector in vectors),
            f"batch normalisation of a tensor of shape {X} was given vectors of {vectors}.",
        )
        return X

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        X, scale, shift, mean, var = inputs
        epsilon = attributes["epsilon"]
        assert isinstance(epsilon, float)
        factor = scale / np.sqrt(var + X.dtype.type(epsilon))
        columns = (slice(None), None, None)
        return X * factor[columns] + (shift - mean * factor)[columns]
