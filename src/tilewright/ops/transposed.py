"""Transposed convolution, as ONNX defines it, without a multiplication by an inserted zero.

Element y of the result is the sum over taps k of X[i] * W[k] where y + pad = i * stride +
k * dilation. With g the common divisor of stride and dilation, and k = p + j * stride / g, that is

    y = (i + j * dilation / g) * stride + p * dilation - pad = q * stride + p * dilation - pad

so for each phase p the result is an ordinary convolution over q with the taps j of that phase, and
lies interleaved with the others. Where g > 1, elements between the phases are no sum at all: zero.

With g = 1 and phases counted by their place r among the elements of the result, y = q * stride + r,
each has as many elements; p and what it reads may then be affine in r, as they are for a stride of
two. Otherwise a phase may begin one element earlier than another, and computes one for nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Scalar, Within
from tilewright.ops import fields, mixed
from tilewright.ops.conv import SPATIAL, by, check_groups, complete
from tilewright.ops.conv2d import epilogue


@dataclass(frozen=True)
class TransposedConv:
    """The transpose of a convolution of one to three dimensions, as ONNX's ConvTranspose.

    X is (batch, *size, channels_in), W (*kernel, channels_in / groups, channels_out) and constant,
    the optional B (channels_out,), the result (batch, *out, channels_out); `pads` are taken away
    from it, before each dimension and then behind each, and `output_padding` is added behind. With
    groups, the channels of X and the result are two dimensions (groups, channels / groups), and the
    weights of a group those of its channels of the result: the same memory.
    """

    batch: int
    size: tuple[int, ...]
    channels_in: int
    channels_out: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...] = ()
    pads: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    output_padding: tuple[int, ...] = ()
    groups: int = 1
    bias: bool = False
    relu: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        complete(self, "transposed conv", self.size)
        more = self.output_padding or (0,) * len(self.size)
        object.__setattr__(self, "output_padding", more)
        check_groups("transposed conv", self.channels_in, self.channels_out, self.groups)
        most = [max(s, d) for s, d in zip(self.stride, self.dilation, strict=True)]
        if len(more) != len(self.size) or not all(
            0 <= n < m for n, m in zip(more, most, strict=True)
        ):
            raise ExpressionError(
                f"transposed conv with output_padding {more}, stride {self.stride} and dilation "
                f"{self.dilation}: it is at least 0 and less than the stride or the dilation."
            )
        if min(self.out) < 1:
            raise ExpressionError(
                f"transposed conv of {by(self.size)} with kernel {self.kernel}, pads {self.pads}, "
                f"stride {self.stride}: the result would be empty."
            )

    @property
    def out(self) -> tuple[int, ...]:
        """The extents of the result."""
        return tuple(
            (self.size[d] - 1) * self.stride[d] + (self.kernel[d] - 1) * self.dilation[d] + 1
            + self.output_padding[d] - self.pads[d] - self.pads[d + len(self.size)]
            for d in range(len(self.size))
        )  # fmt: skip

    @property
    def name(self) -> str:
        text = (
            f"transposed_conv {self.batch}x{by(self.size)}x{self.channels_in} -> "
            f"{self.channels_out}, {by(self.kernel)} /{by(self.stride)}"
        )
        extras = ((f"g{self.groups}", self.groups > 1), ("bias", self.bias), ("relu", self.relu))
        return text + "".join(f" +{label}" for label, on in extras if on) + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        """Return the stages: conv, over the phases of each dimension, and out (bias, ReLU).

        What is added up in which type, `mixed` says.
        """
        g, ci, co = self.groups, self.channels_in // self.groups, self.channels_out // self.groups
        x = te.tensor("X", (self.batch, *self.size, *((g,) if g > 1 else ()), ci), self.dtype)
        weight = mixed.weights(self.dtype)
        w = te.tensor("W", (*self.kernel, ci, self.channels_out), weight, constant=True)
        n, group, o = te.Axis("n", self.batch), te.Axis("g", g), te.Axis("co", co)
        c, of = te.reduce_axis("ci", ci), (group,) if g > 1 else ()
        phases = [self._phases(d) for d in range(len(self.size))]
        read, taps = [p.read for p in phases], [p.tap for p in phases]
        channel = group * co + o if g > 1 else o
        term = mixed.product(x[(n, *read, *of, c)], w[(*taps, c, channel)])
        inside = [condition for p in phases for condition in p.inside]
        if inside:
            whole: Scalar = inside[0]
            for condition in inside[1:]:
                whole = whole & condition
            term = te.select(whole, term, 0.0)
        conv = te.stage(
            "conv",
            (n, *(axis for p in phases for axis in p.axes), *of, o),
            te.sum(term, over=(*(p.taps for p in phases), c)),
            (self.batch, *self.out, *((g,) if g > 1 else ()), co),
            (n, *(p.at for p in phases), *of, o),
        )
        return epilogue(
            conv, self.channels_out, bias=self.bias, residual=False, relu=self.relu, groups=g,
            dtype=self.dtype,
        )  # fmt: skip

    def _phases(self, d: int) -> Phases:
        stride, dilation, pad = self.stride[d], self.dilation[d], self.pads[d]
        if math.gcd(stride, dilation) == 1 < stride:
            phase = [(r + pad) * pow(dilation, -1, stride) % stride for r in range(stride)]
            first = [(r + pad - p * dilation) // stride for r, p in enumerate(phase)]
            steps = [{b - a for a, b in pairwise(each)} for each in (phase, first)]
            if all(len(found) == 1 for found in steps):
                by_tap, by_read = (found.pop() for found in steps)
                return self._by_place(d, (phase[0], by_tap), (first[0], by_read))
        return self._by_phase(d)

    def _by_place(self, d: int, phase: tuple[int, int], first: tuple[int, int]) -> Phases:
        """Count phases by place: the phase and the first element read are affine in it."""
        stride, dilation, name = self.stride[d], self.dilation[d], SPATIAL[-len(self.size) :][d]
        q, r = te.Axis(name, -(-self.out[d] // stride)), te.Axis(f"p{name}", stride)
        j = te.reduce_axis(f"k{name}", -(-self.kernel[d] // stride))
        read = q + r * first[1] + first[0] - j * dilation
        tap = r * phase[1] + phase[0] + j * stride
        starts = [first[0] + place * first[1] for place in (0, stride - 1)]
        taps = [phase[0] + place * phase[1] for place in (0, stride - 1)]
        inside: list[Within] = []
        if min(starts) - (j.extent - 1) * dilation < 0:
            inside.append(read >= 0)
        if q.extent - 1 + max(starts) >= self.size[d]:
            inside.append(read < self.size[d])
        if max(taps) + (j.extent - 1) * stride >= self.kernel[d]:
            inside.append(tap < self.kernel[d])
        return Phases((q, r), q * stride + r, j, read, tap, tuple(inside))

    def _by_phase(self, d: int) -> Phases:
        stride, dilation, pad = self.stride[d], self.dilation[d], self.pads[d]
        common = math.gcd(stride, dilation)
        step, name = stride // common, SPATIAL[-len(self.size) :][d]
        offsets = [p * dilation + z - pad for p in range(step) for z in range(common)]
        ranges = [(-(o // stride), (self.out[d] - 1 - o) // stride) for o in offsets]
        used = [(first, last) for first, last in ranges if first <= last]
        first = min(first for first, _ in used)
        q = te.Axis(name, max(last for _, last in used) - first + 1)
        p, z = te.Axis(f"p{name}", step), te.Axis(f"z{name}", common)
        j = te.reduce_axis(f"k{name}", -(-self.kernel[d] // step))
        phase = p.affine if step > 1 else Affine()
        between = z.affine if common > 1 else Affine()
        read = q + first - j * (dilation // common)
        tap = phase + j * step
        inside: list[Within] = []
        if -(j.extent - 1) * (dilation // common) + first < 0:
            inside.append(read >= 0)
        if q.extent - 1 + first >= self.size[d]:
            inside.append(read < self.size[d])
        if step * j.extent > self.kernel[d]:
            inside.append(tap < self.kernel[d])
        if common > 1:
            inside.append(between < 1)
        axes = (q, *((p,) if step > 1 else ()), *((z,) if common > 1 else ()))
        at = (q + first) * stride + phase * dilation + between - pad
        return Phases(axes, at, j, read, tap, tuple(inside))


@dataclass(frozen=True)
class Phases:
    """One dimension: its axes, the element that they compute, and what they read at each tap."""

    axes: tuple[te.Axis, ...]
    at: Affine
    taps: te.Axis
    read: Affine
    tap: Affine
    inside: tuple[Within, ...]
