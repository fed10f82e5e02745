"""Pooling over windows and over whole images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.operators.operator import Attributes, ints, window


class Pool2d:
    """The largest value or the average of each window of X (n, h, w, c).

    Attributes: kind ("max" or "average"), kernel (2), strides (2), pads (top, left, bottom, right),
    count_include_pad (0 or 1: whether an average divides by the taps on the padding as well).
    """

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        ((n, h, w, c),) = inputs
        return (n, *window((h, w), ints(attributes, "kernel"), attributes, (1, 1)), c)

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        (X,) = inputs
        if attributes["kind"] == "max":
            return _windows(X, attributes, -np.inf).max(axis=(-2, -1))
        inside = np.ones((1, *X.shape[1:3], 1), X.dtype)
        outside = 1.0 if attributes["count_include_pad"] else 0.0
        count = _windows(inside, attributes, outside).sum(axis=(-2, -1))
        return _windows(X, attributes, 0.0).sum(axis=(-2, -1)) / count


def _windows(X: np.ndarray, attributes: Attributes, padding: float) -> np.ndarray:
    """View X (n, h, w, c) as (n, rows, columns, c, kh, kw)."""
    top, left, bottom, right = ints(attributes, "pads")
    around = ((0, 0), (top, bottom), (left, right), (0, 0))
    padded = np.pad(X, around, constant_values=padding)
    sy, sx = ints(attributes, "strides")
    return np.lib.stride_tricks.sliding_window_view(padded, ints(attributes, "kernel"), (1, 2))[
        :, ::sy, ::sx
    ]


class Pool2dNchw:
    """`Pool2d` of X (n, c, h, w)."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        ((n, c, h, w),) = inputs
        n, rows, columns, c = Pool2d().shape([(n, h, w, c)], attributes)
        return (n, c, rows, columns)

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        return Pool2d().compute([inputs[0].transpose(0, 2, 3, 1)], attributes).transpose(0, 3, 1, 2)


class GlobalAveragePool:
    """The average of each channel: X (n, h, w, c) -> (n, c)."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:  # noqa: ARG002 - has none
        ((n, _, _, c),) = inputs
        return (n, c)

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:  # noqa: ARG002
        return inputs[0].mean(axis=(1, 2))


class GlobalAveragePoolNchw:
    """The average of each channel: X (n, c, h, w) -> (n, c)."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:  # noqa: ARG002 - has none
        ((n, c, _, _),) = inputs
        return (n, c)

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:  # noqa: ARG002
        return inputs[0].mean(axis=(2, 3))
