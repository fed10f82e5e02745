"""Convolution in two dimensions: channels last, any kernel, stride, padding, dilation, groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed
from tilewright.ops.winograd import offered, winograd
from tilewright.schedule.schedule import Schedule
from tilewright.space.derive import derive
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs

TOLERANCE = 5e-5  # admits F(2 x 2) to F(4 x 4)


@dataclass(frozen=True)
class Conv2d:
    """The work of one convolution. `pads` is (top, left, bottom, right).

    X is (batch, height, width, channels_in), W (kernel_h, kernel_w, channels_in / groups,
    channels_out) and constant, the optional B (channels_out,) and R, which is added to the result,
    as large as the result (batch, height', width', channels_out). With groups, the channels of X, R
    and the result are two dimensions (groups, channels / groups): the same memory.

    `tolerance` is the error that its user accepts beyond that of rounding, as a share of the
    largest result: Winograd's method is in the space as far as it keeps to it, not at all for 0.
    """

    batch: int
    height: int
    width: int
    channels_in: int
    channels_out: int
    kernel: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    bias: bool = False
    residual: bool = False
    relu: bool = False
    dtype: str = "float32"
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        fields.check(self)
        check_tolerance("conv2d", self.tolerance)
        for what, count in ("channels_in", self.channels_in), ("channels_out", self.channels_out):
            if count % self.groups:
                raise ExpressionError(
                    f"conv2d with {what}={count} and groups={self.groups}: "
                    "the groups must divide the channels."
                )
        if min(self.out_height, self.out_width) < 1:
            raise ExpressionError(
                f"conv2d of {self.height} x {self.width} with kernel {self.kernel}, "
                f"pads {self.pads}, dilation {self.dilation}: the result would be empty."
            )

    @property
    def out_height(self) -> int:
        return self._out(0, self.height)

    @property
    def out_width(self) -> int:
        return self._out(1, self.width)

    def _out(self, d: int, size: int) -> int:
        reach = (self.kernel[d] - 1) * self.dilation[d] + 1
        return (size + self.pads[d] + self.pads[d + 2] - reach) // self.stride[d] + 1

    @property
    def name(self) -> str:
        text = (
            f"conv2d {self.batch}x{self.height}x{self.width}x{self.channels_in}"
            f" -> {self.channels_out}, {self.kernel[0]}x{self.kernel[1]} /{self.stride[0]}"
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
        channels = (g,) if g > 1 else ()
        x = te.tensor("X", (self.batch, self.height, self.width, *channels, ci), self.dtype)
        weight = mixed.weights(self.dtype)
        w = te.tensor("W", (*self.kernel, ci, self.channels_out), weight, constant=True)
        source = self._padded(x, channels, ci, fill) if any(self.pads) else x
        ky, kx = te.reduce_axis("ky", self.kernel[0]), te.reduce_axis("kx", self.kernel[1])
        c = te.reduce_axis("ci", ci)
        (sy, sx), (dy, dx) = self.stride, self.dilation
        if g > 1:
            return te.compute(
                "conv",
                (self.batch, self.out_height, self.out_width, g, co),
                lambda n, y, x, g, co: te.sum(
                    mixed.product(
                        source[n, y * sy + ky * dy, x * sx + kx * dx, g, c],
                        w[ky, kx, c, g * (self.channels_out // self.groups) + co],
                    ),
                    over=(ky, kx, c),
                ),
            )
        return te.compute(
            "conv",
            (self.batch, self.out_height, self.out_width, co),
            lambda n, y, x, co: te.sum(
                mixed.product(source[n, y * sy + ky * dy, x * sx + kx * dx, c], w[ky, kx, c, co]),
                over=(ky, kx, c),
            ),
        )

    def _padded(self, x: te.Tensor, channels: tuple[int, ...], ci: int, fill: int) -> te.Tensor:
        top, left, bottom, right = self.pads
        h, w = self.height, self.width

        def value(*at: te.Axis) -> Scalar:
            n, y, xx, *rest = at
            inside = (y >= top) & (y < h + top) & (xx >= left) & (xx < w + left)
            return te.select(inside, x[(n, y - top, xx - left, *rest)], fill)

        shape = (self.batch, h + top + bottom, w + left + right, *channels, ci)
        names = ("n", "y", "x", "g", "c") if channels else ("n", "y", "x", "c")
        return te.Tensor("pad", shape, self.dtype, False, stage_of(names, shape, value))

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        ways = ("direct", *(f"winograd{tile}" for tile in self._tiles()))
        way, knob = knob.branch("algorithm", ways)
        if way == "direct":
            return derive(s, knob, target)
        return winograd(s, knob, target, int(way[-1]), self.kernel, self.stride)

    def _tiles(self) -> list[int]:
        """Return the tiles with which Winograd's method applies, is exact enough and can pay."""
        plain = self.dilation == (1, 1) and self.groups == 1 and self.dtype == "float32"
        largest = max(self.out_height, self.out_width)
        wanted = offered(self.kernel, self.stride, self.channels_in, self.tolerance)
        return [m for m in wanted if plain and m <= largest + 1]


def check_tolerance(what: str, tolerance: float) -> None:
    """Refuse a tolerance that is no share of a result."""
    if not 0 <= tolerance < 1:
        raise ExpressionError(
            f"{what} with tolerance={tolerance!r}: give the error that an algorithm may add to "
            "that of rounding, as a share of the largest result, such as "
            f"{TOLERANCE:g}; 0 for none."
        )


def stage_of(names: tuple[str, ...], shape: tuple[int, ...], value: object) -> te.Stage:
    axes = tuple(te.Axis(n, e) for n, e in zip(names, shape, strict=True))
    return te.Stage(axes, value(*axes))  # type: ignore[operator]


def epilogue(
    stage: te.Tensor,
    channels: int,
    *,
    bias: bool,
    residual: bool,
    relu: bool,
    dtype: str,
    groups: int = 1,
    name: str = "out",
    bias_name: str = "B",
) -> te.Tensor:
    """Add bias and residual and apply ReLU to sums of `dtype`, as one elementwise stage, if any.

    The bias is of the type of the sums, the residual of that of the result.
    """
    dtype = mixed.result(dtype)
    if not (bias or residual or relu or dtype != stage.dtype):
        return stage
    b = te.tensor(bias_name, (channels,), stage.dtype, constant=True)
    r = te.tensor("R", stage.shape, dtype)
    assert stage.stage
    placed = stage.stage.at  # its axes are not its dimensions
    names = tuple(f"i{d}" if placed else a.name for d, a in enumerate(stage.stage.axes))
    names = names[: len(stage.shape)]

    def value(*at: te.Axis) -> Scalar:
        total: Scalar = stage[at]
        if bias:
            total = total + b[channel_of(at, channels, groups)]
        if residual:
            total = total + mixed.stored(r[at], stage.dtype)
        total = te.maximum(total, 0.0) if relu else total
        return mixed.stored(total, dtype)

    return te.Tensor(name, stage.shape, dtype, False, stage_of(names, stage.shape, value))


def channel_of(at: tuple[te.Axis, ...], channels: int, groups: int) -> Affine:
    """Return the number of the channel at a point of a result, over all groups."""
    return at[-1].affine if groups == 1 else at[-2] * (channels // groups) + at[-1]
