"""Pooling in two dimensions, and global average pooling; channels last."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed
from tilewright.ops.conv2d import stage_of
from tilewright.ops.pool import least


@dataclass(frozen=True)
class Pool2d:
    """Max or average over windows of X (batch, height, width, channels).

    `pads` is (top, left, bottom, right). The average counts padding if `count_include_pad`, else a
    constant D (height', width') tells the number of elements that each window covers, as
    `divisors()` returns it. It is of floats, or of 8-bit integers, and rounds halves to even.
    """

    kind: str
    batch: int
    height: int
    width: int
    channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    count_include_pad: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        size = f"{self.height} x {self.width} with kernel {self.kernel}, pads {self.pads}"
        if self.kind not in ("max", "average"):
            raise ExpressionError(f"unknown kind {self.kind!r} of pool2d: it is max or average.")
        if self.kind == "average":
            mixed.check_mean("average of pool2d", self.dtype, math.prod(self.kernel))
        if min(self.out_height, self.out_width) < 1:
            raise ExpressionError(f"pool2d of {size}: the result would be empty.")
        if any(pad >= self.kernel[i % 2] for i, pad in enumerate(self.pads)):
            raise ExpressionError(f"pool2d of {size}: some window would see padding alone.")

    @property
    def out_height(self) -> int:
        return (self.height + self.pads[0] + self.pads[2] - self.kernel[0]) // self.stride[0] + 1

    @property
    def out_width(self) -> int:
        return (self.width + self.pads[1] + self.pads[3] - self.kernel[1]) // self.stride[1] + 1

    @property
    def name(self) -> str:
        return (
            f"{self.kind}_pool2d {self.batch}x{self.height}x{self.width}x{self.channels}, "
            f"{self.kernel[0]}x{self.kernel[1]} /{self.stride[0]}{fields.of(self.dtype)}"
        )

    def expression(self) -> te.Tensor:
        x = te.tensor("X", (self.batch, self.height, self.width, self.channels), self.dtype)
        top, left, _, _ = self.pads
        h, w = self.height, self.width
        floor = least(self.dtype) if self.kind == "max" else 0
        source = x
        if any(self.pads):

            def padded(*at: te.Axis) -> Scalar:
                n, y, xx, c = at
                inside = (y >= top) & (y < h + top) & (xx >= left) & (xx < w + left)
                return te.select(inside, x[n, y - top, xx - left, c], floor)

            shape = (self.batch, h + top + self.pads[2], w + left + self.pads[3], self.channels)
            source = te.Tensor(
                "pad", shape, self.dtype, False, stage_of(("n", "y", "x", "c"), shape, padded)
            )
        ky, kx = te.reduce_axis("ky", self.kernel[0]), te.reduce_axis("kx", self.kernel[1])
        sy, sx = self.stride
        out = (self.batch, self.out_height, self.out_width, self.channels)

        def window(n: te.Axis, y: te.Axis, x: te.Axis, c: te.Axis) -> te.Reduce:
            seen = source[n, y * sy + ky, x * sx + kx, c]
            if self.kind == "max":
                return te.max(seen, over=(ky, kx))
            return te.sum(mixed.wide(seen), over=(ky, kx))

        pooled = te.compute("pool", out, window)
        if self.kind == "max":
            return pooled
        most, by = self.kernel[0] * self.kernel[1], self.dtype
        if self.count_include_pad or not any(self.pads):
            return te.compute("out", out, lambda *at: mixed.divided(pooled[at], most, by))
        d = te.tensor("D", out[1:3], mixed.divisor(self.dtype, most), constant=True)
        return te.compute("out", out, lambda *at: mixed.divided(pooled[at], d[at[1:3]], by))

    def divisors(self) -> NDArray[np.floating[Any]]:
        """Return D: the number of elements that each window covers, or one over it for floats."""
        counts = [
            [
                sum(
                    0 <= o * self.stride[d] + k - self.pads[d] < size for k in range(self.kernel[d])
                )
                for o in range(out)
            ]
            for d, size, out in ((0, self.height, self.out_height), (1, self.width, self.out_width))
        ]
        covered = np.outer(counts[0], counts[1])
        made = 1.0 / covered if dtypes.is_float(self.dtype) else covered
        return made.astype(mixed.divisor(self.dtype, self.kernel[0] * self.kernel[1]))


@dataclass(frozen=True)
class GlobalAveragePool:
    """The mean over height and width of X (batch, height, width, channels), as of `Pool2d`."""

    batch: int
    height: int
    width: int
    channels: int
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_mean("global_average_pool", self.dtype, self.height * self.width)

    @property
    def name(self) -> str:
        size = f"{self.batch}x{self.height}x{self.width}x{self.channels}"
        return f"global_average_pool {size}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        x = te.tensor("X", (self.batch, self.height, self.width, self.channels), self.dtype)
        ky, kx = te.reduce_axis("ky", self.height), te.reduce_axis("kx", self.width)
        out, count = (self.batch, self.channels), self.height * self.width
        total = te.compute(
            "total", out, lambda n, c: te.sum(mixed.wide(x[n, ky, kx, c]), over=(ky, kx))
        )
        return te.compute("out", out, lambda *at: mixed.divided(total[at], count, self.dtype))
