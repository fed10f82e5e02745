"""Depthwise convolution, alone and followed by a pointwise one that reads it while it is near."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.loops.nodes import MAX_LOCAL
from tilewright.ops.conv import by, complete, padded
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
        _check("depthwise", self, self.multiplier)

    @property
    def size(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def out(self) -> tuple[int, ...]:
        return _out(self)

    @property
    def name(self) -> str:
        extras = ("bias", self.bias), ("relu", self.relu)
        many = f"x{self.multiplier}" if self.multiplier > 1 else ""
        text = (
            f"depthwise {self.batch}x{by(self.size)}x{self.channels}{many}, {by(self.kernel)} "
            f"/{by(self.stride)}"
        )
        return text + "".join(f" +{label}" for label, on in extras if on)

    def expression(self) -> te.Tensor:
        """Return the stages: pad (if any), depthwise, and out (bias and ReLU, if any)."""
        channels, many = self.channels, self.multiplier
        conv = _depthwise(self, many)
        return epilogue(
            conv, channels * many, bias=self.bias, residual=False, relu=self.relu,
            groups=channels if many > 1 else 1,
        )  # fmt: skip


@dataclass(frozen=True)
class DepthwisePointwise:
    """A depthwise convolution, then one of 1 x 1, each with bias and ReLU if asked.

    X is (batch, height, width, channels), W (kernel_h, kernel_w, channels), V (channels,
    channels_out), with biases D (channels,) and B (channels_out,), all four constant.
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
        _check("depthwise", self, self.channels_out)

    @property
    def size(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def out(self) -> tuple[int, ...]:
        return _out(self)

    @property
    def name(self) -> str:
        extras = ("bias", self.bias), ("relu", self.relu)
        text = (
            f"depthwise {self.batch}x{by(self.size)}x{self.channels}, {by(self.kernel)} "
            f"/{by(self.stride)}, pointwise -> {self.channels_out}"
        )
        return text + "".join(f" +{label}" for label, on in extras if on)

    def expression(self) -> te.Tensor:
        """Return the stages: pad, depthwise, hidden (bias, ReLU), pointwise, out (bias, ReLU)."""
        first = _depthwise(self, 1)
        d = te.tensor("D", (self.channels,), self.dtype, constant=True)
        v = te.tensor("V", (self.channels, self.channels_out), self.dtype, constant=True)
        hidden = first
        if self.bias or self.relu:
            n, y, x, c = (te.Axis(f"h{a.name}", a.extent) for a in _axes(first))
            value = first[n, y, x, c] + d[c] if self.bias else first[n, y, x, c]
            value = te.maximum(value, 0.0) if self.relu else value
            hidden = te.stage("hidden", (n, y, x, c), value)
        n, y, x = (te.Axis(f"p{a.name}", a.extent) for a in _axes(first)[:3])
        k, o = te.reduce_axis("k", self.channels), te.Axis("co", self.channels_out)
        pointwise = te.stage(
            "pointwise", (n, y, x, o), te.sum(hidden[n, y, x, k] * v[k, o], over=k)
        )
        return epilogue(
            pointwise, self.channels_out, bias=self.bias, residual=False, relu=self.relu
        )

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        """Compute the depthwise stage by itself, or for a tile of the pointwise one."""
        way, knob = knob.branch("stages", ("apart", "together"))
        return derive(s, knob, target) if way == "apart" else self._together(s, knob, target)

    def _together(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        """Keep a block of pixels of all channels near, and run the pointwise product over it."""
        s = inline_elementwise(s)
        lanes = target.lanes(4)
        height, width = self.out
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
            kept, own = "hidden", ("hn", "hy", "hx", "hc")
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


def _depthwise(op: Depthwise | DepthwisePointwise, many: int) -> te.Tensor:
    x = te.tensor("X", (op.batch, *op.size, op.channels), op.dtype)
    shape = (*op.kernel, op.channels, *((many,) if many > 1 else ()))
    w = te.tensor("W", shape, op.dtype, constant=True)
    source = padded(x, op.size, op.pads)
    ky, kx = te.reduce_axis("ky", op.kernel[0]), te.reduce_axis("kx", op.kernel[1])
    n, y, xx = te.Axis("n", op.batch), te.Axis("y", op.out[0]), te.Axis("x", op.out[1])
    c, m = te.Axis("c", op.channels), (te.Axis("m", many),) if many > 1 else ()
    (sy, sx), (dy, dx) = op.stride, op.dilation
    term = source[n, y * sy + ky * dy, xx * sx + kx * dx, c] * w[(ky, kx, c, *m)]
    return te.stage("depthwise", (n, y, xx, c, *m), te.sum(term, over=(ky, kx)))


def _axes(t: te.Tensor) -> tuple[te.Axis, ...]:
    assert t.stage
    return t.stage.axes


def _out(op: Depthwise | DepthwisePointwise) -> tuple[int, ...]:
    reach = [(k - 1) * d + 1 for k, d in zip(op.kernel, op.dilation, strict=True)]
    around = [n + op.pads[d] + op.pads[d + 2] for d, n in enumerate(op.size)]
    return tuple((around[d] - reach[d]) // op.stride[d] + 1 for d in range(2))


def _check(kind: str, op: Depthwise | DepthwisePointwise, many: int) -> None:
    complete(op, kind, op.size)
    if op.channels < 1 or many < 1:
        raise ExpressionError(
            f"{kind} with channels={op.channels} to {many}: both must be at least 1."
        )
    if min(op.out) < 1:
        raise ExpressionError(
            f"{kind} of {by(op.size)} with kernel {op.kernel}, pads {op.pads}, dilation "
            f"{op.dilation}: the result would be empty."
        )
