"""Depthwise convolution, alone and followed by a pointwise one that reads it while it is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.loops.nodes import MAX_LOCAL
from tilewright.ops import fields, mixed
from tilewright.ops.conv import by, padded
from tilewright.ops.conv2d import epilogue
from tilewright.schedule.schedule import Schedule
from tilewright.space.derive import derive, inline_elementwise
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

MAX_BODY = 256  # multiply-adds written out in one round
MAX_VECTORS = 4


@dataclass(frozen=True)
class Depthwise:
    """A convolution of each channel by itself. `pads` is (top, left, bottom, right).

    X is (batch, height, width, channels), W (kernel_h, kernel_w, channels) and constant, the
    optional B (channels,), the result (batch, height', width', channels). With a multiplier above
    1, each channel has so many kernels: W is (kernel_h, kernel_w, channels, multiplier), and the
    channels of the result are two dimensions (channels, multiplier), as in memory.
    """

    batch: int
    height: int
    width: int
    channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    multiplier: int = 1
    bias: bool = False
    relu: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        if min(self.out) < 1:
            raise ExpressionError(
                f"depthwise of {by(self.size)} with kernel {self.kernel}, pads {self.pads}, "
                f"dilation {self.dilation}: the result would be empty."
            )

    @property
    def size(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def out(self) -> tuple[int, ...]:
        """The height and width of the result."""
        reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True)]
        around = [n + self.pads[d] + self.pads[d + 2] for d, n in enumerate(self.size)]
        return tuple((around[d] - reach[d]) // self.stride[d] + 1 for d in range(2))

    @property
    def name(self) -> str:
        extras = ("bias", self.bias), ("relu", self.relu)
        many = f"x{self.multiplier}" if self.multiplier > 1 else ""
        text = (
            f"depthwise {self.batch}x{by(self.size)}x{self.channels}{many}, {by(self.kernel)} "
            f"/{by(self.stride)}"
        )
        return text + "".join(f" +{label}" for label, on in extras if on) + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        """Return the stages: pad (if any), depthwise, and out (bias and ReLU, if any).

        What is added up in which type, `mixed` says.
        """
        channels, many = self.channels, self.multiplier
        return epilogue(
            self.sums(), channels * many, bias=self.bias, residual=False, relu=self.relu,
            groups=channels if many > 1 else 1, dtype=self.dtype,
        )  # fmt: skip

    def sums(self, fill: int = 0) -> te.Tensor:
        """Return the stages up to depthwise, before what is done to its sums; padding is `fill`."""
        several = (self.multiplier,) if self.multiplier > 1 else ()
        x = te.tensor("X", (self.batch, *self.size, self.channels), self.dtype)
        shape, weight = (*self.kernel, self.channels, *several), mixed.weights(self.dtype)
        w = te.tensor("W", shape, weight, constant=True)
        source = padded(x, self.size, self.pads, fill)
        ky, kx = te.reduce_axis("ky", self.kernel[0]), te.reduce_axis("kx", self.kernel[1])
        n, y, xx = te.Axis("n", self.batch), te.Axis("y", self.out[0]), te.Axis("x", self.out[1])
        c, m = te.Axis("c", self.channels), tuple(te.Axis("m", many) for many in several)
        (sy, sx), (dy, dx) = self.stride, self.dilation
        seen = source[n, y * sy + ky * dy, xx * sx + kx * dx, c]
        term = mixed.product(seen, w[(ky, kx, c, *m)])
        return te.stage("depthwise", (n, y, xx, c, *m), te.sum(term, over=(ky, kx)))


@dataclass(frozen=True)
class DepthwisePointwise:
    """A depthwise convolution, then one of 1 x 1, each with bias and ReLU if asked.

    X is (batch, height, width, channels), W (kernel_h, kernel_w, channels), V (channels,
    channels_out), with biases D (channels,) and B (channels_out,), all four constant. What is added
    up in which type, `mixed` says; between both, values are of the type that results are of.
    """

    batch: int
    height: int
    width: int
    channels: int
    channels_out: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    bias: bool = False
    relu: bool = False
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        _ = self.depthwise  # refuses what cannot be

    @property
    def depthwise(self) -> Depthwise:
        """The first of both, without bias and ReLU."""
        return Depthwise(
            self.batch, self.height, self.width, self.channels, self.kernel, self.stride,
            self.pads, self.dilation, dtype=self.dtype,
        )  # fmt: skip

    @property
    def name(self) -> str:
        extras = ("bias", self.bias), ("relu", self.relu)
        text = (
            f"depthwise {self.batch}x{self.height}x{self.width}x{self.channels}, "
            f"{by(self.kernel)} /{by(self.stride)}, pointwise -> {self.channels_out}"
        )
        return text + "".join(f" +{label}" for label, on in extras if on) + fields.of(self.dtype)

    def expression(self) -> te.Tensor:
        """Return the stages: pad, depthwise, hidden (bias, ReLU), pointwise, out (bias, ReLU)."""
        first = self.depthwise.sums()
        hidden = epilogue(
            first, self.channels, bias=self.bias, residual=False, relu=self.relu,
            dtype=self.dtype, name="hidden", bias_name="D",
        )  # fmt: skip
        weight = mixed.weights(self.dtype)
        v = te.tensor("V", (self.channels, self.channels_out), weight, constant=True)
        n, y, x = (te.Axis(f"p{d}", extent) for d, extent in zip("nyx", first.shape, strict=False))
        k, o = te.reduce_axis("k", self.channels), te.Axis("co", self.channels_out)
        term = mixed.product(hidden[n, y, x, k], v[k, o])
        pointwise = te.stage("pointwise", (n, y, x, o), te.sum(term, over=k))
        return epilogue(
            pointwise, self.channels_out, bias=self.bias, residual=False, relu=self.relu,
            dtype=self.dtype,
        )  # fmt: skip

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        """Compute the depthwise stage by itself, or for a tile of the pointwise one."""
        way, knob = knob.branch("stages", ("apart", "together"))
        return derive(s, knob, target) if way == "apart" else self._together(s, knob, target)

    def _together(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        """Keep a block of pixels of all channels near, and run the pointwise product over it."""
        s = inline_elementwise(s)
        lanes = target.lanes(4)
        height, width = self.depthwise.out
        rows = knob.split("rows", height, 2, max_inner=8)
        columns = knob.split("columns", width, 3, max_inner=28)
        outs = knob.split("co", self.channels_out, 2, max_inner=lanes * 8, multiple=lanes)
        depth = knob.split("k", self.channels, 2, max_inner=16)
        vectors = knob.size("depthwise vectors", range(1, MAX_VECTORS + 1))
        pixels = knob.size("depthwise pixels", (1, 2, 3, 4, 6, 8))
        high = knob.size("depthwise rows", (1, 2, 3, 4))
        unroll = knob.choice("depthwise unroll", ("columns", "taps"))
        written = self.kernel[1] * (self.kernel[0] if unroll == "taps" else 1)
        across = -(-outs[1] // lanes)
        knob.require(columns[2] * across + across + 1 <= target.registers)
        knob.require(columns[2] * across * depth[1] <= MAX_BODY)
        knob.require(vectors * pixels * high + vectors + 1 <= target.registers)
        knob.require(vectors * pixels * high * written <= MAX_BODY)
        knob.require(rows[1] * columns[1] * columns[2] * self.channels * 8 <= MAX_LOCAL)

        s = s.split("py", rows).split("px", columns).split("co", outs).split("k", depth)
        s = s.reorder("pn", "py.0", "px.0", "co.0", "py.1", "px.1", "k.0", "k.1", "px.2", "co.1")
        for loop in ("pn", "py.0", "px.0"):
            s = s.parallel(loop)
        s = s.unroll("k.1").unroll("px.2").vectorize("co.1").pack("V")
        out = any(b.name == "out" for b in s.loops.buffers)
        s = s.fuse_at("out", "px.1") if out else s.cache_write("pointwise", "px.1")
        kept, own = "depthwise", ("n", "y", "x", "c")
        if any(b.name == "hidden" for b in s.loops.buffers):
            kept, own = "hidden", ("hidden:n", "hidden:y", "hidden:x", "hidden:c")
        s = s.compute_at(kept, "px.0")
        n, y, x, c = own
        for loop, part in ((y, high), (x, pixels), (c, lanes * vectors)):
            s = s.split(loop, (-(-s.extent(loop) // part), part))
        around, tile = (n, f"{y}.0", f"{x}.0", f"{c}.0"), (f"{y}.1", f"{x}.1", f"{c}.1")
        taps = ("ky", "kx") if kept == "depthwise" else ()
        s = s.reorder(*around, *taps, *tile).unroll(tile[0]).unroll(tile[1]).vectorize(tile[2])
        if kept == "depthwise":
            s = s.cache_write(kept, f"{c}.0")
        else:
            s = s.compute_at("depthwise", f"{c}.0").reorder("n", "ky", "kx", "y", "x", "c")
            s = s.unroll("y").unroll("x").vectorize("c")
        return s.unroll("kx").unroll("ky") if unroll == "taps" else s.unroll("kx")
