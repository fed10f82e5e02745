"""The few expressions that schedule tests are written on."""

from __future__ import annotations

import tilewright as tw


def pointwise(n: int = 12) -> tw.Tensor:
    a = tw.tensor("A", (n,))
    return tw.compute("B", (n,), lambda x: a[x] + 1.0)


def matmul(n: int = 16) -> tw.Tensor:
    a, b = tw.tensor("A", (n, n)), tw.tensor("W", (n, n), constant=True)
    k = tw.reduce_axis("k", n)
    return tw.compute("C", (n, n), lambda y, x: tw.sum(a[y, k] * b[k, x], over=k))


def padded_convolution(n: int = 10) -> tw.Tensor:
    """Three stages: zeros round the input, a convolution, bias and ReLU."""
    a, w, v = tw.tensor("A", (n,)), tw.tensor("W", (3, 4), constant=True), tw.tensor("V", (4,))
    pad = tw.compute("pad", (n + 2,), lambda x: tw.select((x >= 1) & (x < n + 1), a[x - 1], 0.0))
    k = tw.reduce_axis("k", 3)
    conv = tw.compute("conv", (n, 4), lambda x, c: tw.sum(pad[x + k] * w[k, c], over=k))
    return tw.compute("out", (n, 4), lambda x, c: tw.maximum(conv[x, c] + v[c], 0.0))
