"""Pooling in one to three dimensions, of windows with gaps too; and where the greatest is.

For two dimensions without gaps there is `Pool2d`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Const, Scalar, equal, not_equal
from tilewright.expr.tensor import Reduce
from tilewright.ops import fields, mixed
from tilewright.ops.conv import SPATIAL, by, complete

KINDS = ("max", "average", "sum")


@dataclass(frozen=True)
class Pool:
    """The greatest, mean or sum of each window of X (batch, *size, channels).

    `pads` holds what is added before each dimension, then what is added behind each. An average
    counts them with `count_include_pad`; `overhang`, further elements behind, it never counts. A
    constant D of the extents of the result tells what windows that reach beyond X are divided by,
    as `divisors()` returns it. Averages are of floats and 8-bit integers, as those of `Pool2d`.
    """

    kind: str
    batch: int
    size: tuple[int, ...]
    channels: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    overhang: tuple[int, ...] = ()
    count_include_pad: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        complete(self, "pool", self.size)
        object.__setattr__(self, "overhang", self.overhang or (0,) * len(self.size))
        if self.kind not in KINDS:
            raise ExpressionError(f"pool of kind {self.kind!r}: it is one of {', '.join(KINDS)}.")
        if self.kind == "average":
            mixed.check_mean("average of pool", self.dtype, math.prod(self.kernel))
        if len(self.overhang) != len(self.size) or min(self.out) < 1:
            raise ExpressionError(
                f"pool of {by(self.size)} with kernel {self.kernel}, pads {self.pads}, dilation "
                f"{self.dilation}, overhang {self.overhang}: the result would be empty."
            )

    @property
    def around(self) -> tuple[int, ...]:
        """The padding with the overhang: what is read beyond X."""
        count = len(self.size)
        behind = zip(self.pads[count:], self.overhang, strict=True)
        return (*self.pads[:count], *map(sum, behind))

    @property
    def out(self) -> tuple[int, ...]:
        """The extents of the result."""
        count, pads = len(self.size), self.around
        return tuple(
            (n + pads[d] + pads[d + count] - (self.kernel[d] - 1) * self.dilation[d] - 1)
            // self.stride[d] + 1
            for d, n in enumerate(self.size)
        )  # fmt: skip

    @property
    def name(self) -> str:
        gaps = f" gaps {by(self.dilation)}" if max(self.dilation) > 1 else ""
        return (
            f"{self.kind}_pool {self.batch}x{by(self.size)}x{self.channels}, {by(self.kernel)} "
            f"/{by(self.stride)}{gaps}{fields.of(self.dtype)}"
        )

    @property
    def divides(self) -> bool:
        """Whether the result is divided by numbers that differ: there is a D then."""
        counted = self.overhang if self.count_include_pad else self.around
        return self.kind == "average" and any(counted)

    def expression(self) -> te.Tensor:
        pooled = self.windows()
        if self.kind == "max":
            return pooled
        shape = (self.batch, *self.out, self.channels)
        if self.kind == "sum":
            if pooled.dtype == mixed.result(self.dtype):
                return pooled
            return te.compute("out", shape, lambda *i: mixed.stored(pooled[i], self.dtype))
        most = math.prod(self.kernel)
        if not self.divides:
            return te.compute("out", shape, lambda *i: mixed.divided(pooled[i], most, self.dtype))
        d = te.tensor("D", self.out, mixed.divisor(self.dtype, most), constant=True)
        return te.compute("out", shape, lambda *i: mixed.divided(pooled[i], d[i[1:-1]], self.dtype))

    def windows(self) -> te.Tensor:
        """Return the stages up to the greatest or the sum of each window."""
        x = te.tensor("X", (self.batch, *self.size, self.channels), self.dtype)
        source = _padded(x, self.size, self.around, least(self.dtype) if self.kind == "max" else 0)
        taps = self.taps("k")

        def window(n: te.Axis, *at: te.Axis) -> Reduce:
            value = source[(n, *self.read(at[:-1], taps), at[-1])]
            if self.kind == "max":
                return te.max(value, over=taps)
            return te.sum(mixed.wide(value), over=taps)

        return te.compute("pool", (self.batch, *self.out, self.channels), window)

    def taps(self, name: str) -> list[te.Axis]:
        names = SPATIAL[-len(self.size) :]
        return [te.reduce_axis(name + n, k) for n, k in zip(names, self.kernel, strict=True)]

    def read(self, at: Sequence[te.Axis], taps: Sequence[te.Axis]) -> list[Affine]:
        """Return where in the padded X a window reads."""
        each = zip(at, taps, self.stride, self.dilation, strict=True)
        return [i * stride + k * dilation for i, k, stride, dilation in each]

    def divisors(self) -> NDArray[np.floating[Any]]:
        """Return D: the number of elements that each window counts, or one over it for floats."""
        count, covered = len(self.size), np.ones((), np.int64)
        for d, n in enumerate(self.size):
            first = -self.pads[d] if self.count_include_pad else 0
            last = n + self.pads[d + count] if self.count_include_pad else n
            starts = np.arange(self.out[d])[:, None] * self.stride[d] - self.pads[d]
            places = starts + np.arange(self.kernel[d]) * self.dilation[d]
            inside = ((places >= first) & (places < last)).sum(1)
            covered = covered[..., None] * np.maximum(inside, 1)
        made = 1.0 / covered if dtypes.is_float(self.dtype) else covered
        return made.astype(mixed.divisor(self.dtype, math.prod(self.kernel)))


@dataclass(frozen=True)
class PoolPlaces:
    """Where in X, seen flat, the first greatest element of each window is, in int64.

    X is (images, *size), all channels of all images. With `columns` the dimensions of an image are
    counted in the other order: the last moves on by the longest step.
    """

    images: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    overhang: tuple[int, ...] = ()
    columns: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        complete(self, "places of pool", self.size)
        if self.images * math.prod(self.size) >= 1 << 31:
            raise ExpressionError(
                f"places in {self.images} images of {by(self.size)}: they are counted in int32, "
                "which does not hold so many."
            )

    @property
    def pool(self) -> Pool:
        """The pooling whose elements are looked for."""
        return Pool(
            "max", self.images, self.size, 1, self.kernel, self.stride, self.pads, self.dilation,
            self.overhang, dtype=self.dtype,
        )  # fmt: skip

    @property
    def name(self) -> str:
        return f"places of {self.pool.name}{' in columns' * self.columns}"

    def expression(self) -> te.Tensor:
        pool = self.pool
        top, taps = pool.windows(), pool.taps("j")
        x = next(t for t in te.reach(top) if t.name == "X")
        source = next((t for t in te.reach(top) if t.name == "pad"), x)
        images, count = self.images, len(self.size)
        beyond = images * math.prod(self.size)

        def here(n: te.Axis, at: Sequence[te.Axis], read: Sequence[Affine]) -> Scalar:
            value = source[(n, *read, at[-1])]
            found = equal(value, top[(n, *at)])
            if dtypes.is_float(self.dtype):
                found = found | not_equal(value, value)
            for d, i in enumerate(read):
                inside = i - pool.pads[d]
                found = found & (inside >= 0) if pool.around[d] else found
                found = found & (inside < self.size[d]) if pool.around[d + count] else found
            return found

        def place(n: te.Axis, read: Sequence[Affine], order: Sequence[int]) -> Scalar:
            at, step = Affine(), 1
            for d in order:
                at, step = at + (read[d] - pool.pads[d]) * step, step * self.size[d]
            return te.cast("int32", at + n * step)

        def first(n: te.Axis, *at: te.Axis) -> Reduce:
            read = pool.read(at[:-1], taps)
            found = place(n, read, range(count)[::-1])
            return te.min(te.select(here(n, at, read), found, beyond), over=taps)

        shape = (images, *pool.out, 1)
        made = te.compute("first", shape, first)
        if self.columns and count > 1:
            again, rows = pool.taps("i"), made

            def renumbered(n: te.Axis, *at: te.Axis) -> Reduce:
                read = pool.read(at[:-1], again)
                same = equal(place(n, read, range(count)[::-1]), rows[(n, *at)])
                same = same & here(n, at, read)
                return te.max(te.select(same, place(n, read, range(count)), -1), over=again)

            made = te.compute("renumbered", shape, renumbered)
        return te.compute("out", shape, lambda *i: te.cast("int64", made[i]))


def _padded(
    x: te.Tensor, size: tuple[int, ...], pads: tuple[int, ...], fill: Const | int
) -> te.Tensor:
    """Return X (batch, *size, channels) with `fill` round it; X itself without pads."""
    if not any(pads):
        return x
    names, count = SPATIAL[-len(size) :], len(size)
    n, c = te.Axis("n", x.shape[0]), te.Axis("c", x.shape[-1])
    at = [te.Axis(names[d], size[d] + pads[d] + pads[d + count]) for d in range(count)]
    value: Scalar = x[(n, *(at[d] - pads[d] for d in range(count)), c)]
    for d in range(count):
        value = te.select(at[d] < size[d] + pads[d], value, fill) if pads[d + count] else value
        value = te.select(at[d] >= pads[d], value, fill) if pads[d] else value
    return te.stage("pad", (n, *at, c), value)


def least(dtype: str) -> Const:
    """Return the least value of a type."""
    return Const(-np.inf if dtypes.is_float(dtype) else int(np.iinfo(dtype).min), dtype)
