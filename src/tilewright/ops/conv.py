"""Convolution in one to three dimensions: channels last, any kernel, stride, padding, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed
from tilewright.ops.conv2d import epilogue

SPATIAL = ("z", "y", "x")


@dataclass(frozen=True)
class Conv:
    """A convolution over `size`, the extents of one to three dimensions; for two see also Conv2d.

    `pads` holds what is added before each dimension, then what is added behind each; `stride` and
    `dilation` are 1 and `pads` 0 if not given. X is (batch, *size, channels_in), W (*kernel,
    channels_in / groups, channels_out) and constant, the optional B (channels_out,) and R, which is
    added, as large as the result (batch, *out, channels_out). With groups, the channels of X, R and
    the result are two dimensions (groups, channels / groups): the same memory.
    """

    batch: int
    size: tuple[int, ...]
    channels_in: int
    channels_out: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    groups: int = 1
    bias: bool = False
    residual: bool = False
    relu: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        complete(self, "conv", self.size)
        check_groups("conv", self.channels_in, self.channels_out, self.groups)
        if min(self.out) < 1:
            raise ExpressionError(
                f"conv of {by(self.size)} with kernel {self.kernel}, pads {self.pads}, dilation "
                f"{self.dilation}: the result would be empty."
            )

    @property
    def out(self) -> tuple[int, ...]:
        """The extents of the result."""
        count, kernel = len(self.size), self.kernel
        reach = [(kernel[d] - 1) * self.dilation[d] + 1 for d in range(count)]
        padded = [self.size[d] + self.pads[d] + self.pads[d + count] for d in range(count)]
        return tuple((padded[d] - reach[d]) // self.stride[d] + 1 for d in range(count))

    @property
    def name(self) -> str:
        text = (
            f"conv {self.batch}x{by(self.size)}x{self.channels_in} -> {self.channels_out}, "
            f"{by(self.kernel)} /{by(self.stride)}"
        )
        extras = ((f"g{self.groups}", self.groups > 1), ("bias", self.bias),
                  ("add", self.residual), ("relu", self.relu))  # fmt: skip
        return text + "".join(f" +{label}" for label, on in extras if on) + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        """Return the stages: pad (if any), conv, and out (bias, residual and ReLU, if any).

        What is added up in which type, `mixed` says.
        """
        return epilogue(
            self.sums(), self.channels_out, bias=self.bias, residual=self.residual, relu=self.relu,
            groups=self.groups, dtype=self.dtype,
        )  # fmt: skip

    def sums(self, fill: int = 0) -> te.Tensor:
        """Return the stages up to conv, without what is done to its sums; padding is `fill`."""
        g, ci, co = self.groups, self.channels_in // self.groups, self.channels_out // self.groups
        names, count = SPATIAL[-len(self.size) :], len(self.size)
        x = te.tensor("X", (self.batch, *self.size, *((g,) if g > 1 else ()), ci), self.dtype)
        weight = mixed.weights(self.dtype)
        w = te.tensor("W", (*self.kernel, ci, self.channels_out), weight, constant=True)
        source = padded(x, self.size, self.pads, fill)
        taps = [te.reduce_axis(f"k{n}", k) for n, k in zip(names, self.kernel, strict=True)]
        c, n, group, o = (te.reduce_axis("ci", ci), te.Axis("n", self.batch), te.Axis("g", g),
                          te.Axis("co", co))  # fmt: skip
        at = [te.Axis(name, extent) for name, extent in zip(names, self.out, strict=True)]
        read = [at[d] * self.stride[d] + taps[d] * self.dilation[d] for d in range(count)]
        of = (group,) if g > 1 else ()
        channel = group * co + o if g > 1 else o
        term = mixed.product(source[(n, *read, *of, c)], w[(*taps, c, channel)])
        return te.stage("conv", (n, *at, *of, o), te.sum(term, over=(*taps, c)))


def padded(x: te.Tensor, size: tuple[int, ...], pads: tuple[int, ...], fill: int = 0) -> te.Tensor:
    """Return X (batch, *size, ...) with `fill` round its spatial dimensions; X without pads."""
    if not any(pads):
        return x
    names, count = SPATIAL[-len(size) :], len(size)
    n = te.Axis("n", x.shape[0])
    at = [te.Axis(names[d], size[d] + pads[d] + pads[d + count]) for d in range(count)]
    rest = [te.Axis(f"c{d}", extent) for d, extent in enumerate(x.shape[1 + count :])]
    value: Scalar = x[(n, *(at[d] - pads[d] for d in range(count)), *rest)]
    inside = [
        condition
        for d in range(count)
        for condition in (at[d] >= pads[d], at[d] < size[d] + pads[d])
        if pads[d] or pads[d + count]
    ]
    whole: Scalar = inside[0]
    for condition in inside[1:]:
        whole = whole & condition
    return te.stage("pad", (n, *at, *rest), te.select(whole, value, fill))


def complete(op: object, kind: str, size: tuple[int, ...]) -> None:
    """Fill in what a convolution leaves out, and refuse windows of other dimensions than its."""
    given: dict[str, Any] = {"size": size} | vars(op)
    if not 1 <= len(size) <= len(SPATIAL):
        raise ExpressionError(
            f"{kind} of size {size!r}: give a tuple of one to three extents, as in (224, 224)."
        )
    count = len(size)
    default = {"stride": (1,) * count, "dilation": (1,) * count, "pads": (0,) * 2 * count}
    for field in ("size", "kernel", "stride", "dilation", "pads"):
        length = 2 * count if field == "pads" else count
        value = given[field] or default.get(field, ())
        if len(value) != length:
            raise ExpressionError(
                f"{kind} of size {size} with {field} {value}: give a tuple of {length} integers."
            )
        if field in vars(op):
            object.__setattr__(op, field, value)


def check_groups(kind: str, channels_in: int, channels_out: int, groups: int) -> None:
    for what, count in ("channels_in", channels_in), ("channels_out", channels_out):
        if count % groups:
            raise ExpressionError(
                f"{kind} with {what}={count} and groups={groups}: "
                "the groups must divide the channels."
            )


def by(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents))
