"""Two-dimensional convolution, with the epilogue that is fused into it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.operators.operator import Attributes, ints, refuse_unless, window


class Conv2d:
    """relu(conv(X, W) + B + R), channels last.

    X is (n, h, w, ci), W (kh, kw, ci / groups, co), B (co,), R of the shape of the output.
    Attributes: strides (2), pads (top, left, bottom, right), dilations (2), groups, and bias,
    residual, relu, each 0 or 1, which say whether B, R and the ReLU are there. Output channel o
    belongs to group o // (co / groups).
    """

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        (n, h, w, ci), (kh, kw, depth, co) = inputs[:2]
        groups = attributes["groups"]
        assert isinstance(groups, int)
        refuse_unless(
            ci == depth * groups and co % groups == 0,
            f"a convolution of {ci} channels in {groups} groups cannot use weights of {depth} by "
            f"{co} channels.",
        )
        rows, columns = window((h, w), (kh, kw), attributes, ints(attributes, "dilations"))
        made = (n, rows, columns, co)
        extra = list(inputs[2:])
        wanted = [(co,)] * bool(attributes["bias"]) + [made] * bool(attributes["residual"])
        refuse_unless(
            extra == wanted,
            f"a convolution that makes {made} was given {extra} to add to it instead of {wanted}.",
        )
        return made

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        (X, W), extra = inputs[:2], list(inputs[2:])
        n, rows, columns, co = self.shape([a.shape for a in inputs], attributes)
        top, left, bottom, right = ints(attributes, "pads")
        (sy, sx), (dy, dx) = ints(attributes, "strides"), ints(attributes, "dilations")
        kh, kw, depth, _ = W.shape
        groups = X.shape[3] // depth
        padded = np.pad(X, ((0, 0), (top, bottom), (left, right), (0, 0)))
        total = np.zeros((groups, n * rows * columns, co // groups), X.dtype)
        for ky in range(kh):
            for kx in range(kw):
                seen = padded[:, ky * dy :: sy, kx * dx :: sx][:, :rows, :columns]
                seen = np.moveaxis(seen.reshape(-1, groups, depth), 1, 0)
                total += seen @ np.moveaxis(W[ky, kx].reshape(depth, groups, -1), 1, 0)
        made = np.moveaxis(total, 0, 1).reshape(n, rows, columns, co)
        for addend in extra:
            made = made + addend
        return np.maximum(made, 0) if attributes["relu"] else made


class Conv2dNchw:
    """conv(X, W) + B as models state it: X (n, ci, h, w), W (co, ci / groups, kh, kw), B (co,).

    Attributes: those of `Conv2d` without residual and relu.
    """

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        (n, ci, h, w), (co, depth, kh, kw) = inputs[:2]
        last = [(n, h, w, ci), (kh, kw, depth, co), *inputs[2:]]
        n, rows, columns, co = Conv2d().shape(last, {**attributes, "residual": 0})
        return (n, co, rows, columns)

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        last = [inputs[0].transpose(0, 2, 3, 1), inputs[1].transpose(2, 3, 1, 0), *inputs[2:]]
        Y = Conv2d().compute(last, {**attributes, "residual": 0, "relu": 0})
        return Y.transpose(0, 3, 1, 2)
