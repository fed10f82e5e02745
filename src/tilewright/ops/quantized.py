"""Integer operators whose sums are scaled to real numbers, or rounded to 8 bits again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops.conv2d import Conv2d, channel_of, stage_of
from tilewright.ops.dense import Dense


@dataclass(frozen=True)
class Requantized:
    """A convolution or dense layer of 8-bit integers, its int32 sums scaled by S (channels,).

    With `to` float32 the result is sum * S; with uint8 or int8 that is rounded, halves to even,
    `zero_point` is added, and what the type cannot hold becomes its least or greatest value, as
    ONNX's QLinearConv does with data and weights whose own zero points are 0. The operator's bias
    (int32) is added to the sum before, its ReLU applied after scaling.
    """

    of: Conv2d | Dense
    to: str = "uint8"
    zero_point: int = 0

    def __post_init__(self) -> None:
        if self.of.dtype not in ("uint8", "int8") or self.of.residual:
            raise ExpressionError(
                f"cannot requantize {self.of.name} of {self.of.dtype}: it takes an operator of "
                "uint8 or int8 without residual, as in Dense(8, 64, 64, dtype='uint8')."
            )
        if self.to not in ("float32", "uint8", "int8"):
            raise ExpressionError(
                f"cannot requantize {self.of.name} to {self.to!r}: it is float32, uint8 or int8."
            )
        zero = dtypes.number(self.zero_point, self.to)
        if zero is None or (self.to == "float32" and self.zero_point):
            raise ExpressionError(
                f"cannot requantize {self.of.name} to {self.to} with zero_point "
                f"{self.zero_point}: it is a number of that type, and 0 for float32."
            )

    @property
    def name(self) -> str:
        return f"{self.of.name} of {self.of.dtype} to {self.to}"

    def expression(self) -> te.Tensor:
        total, channels = self.of.sums(), self.channels
        b = te.tensor("B", (channels,), total.dtype, constant=True)
        scale = te.tensor("S", (channels,), "float32", constant=True)
        groups = self.of.groups if isinstance(self.of, Conv2d) else 1

        def value(*at: te.Axis) -> Scalar:
            channel = channel_of(at, channels, groups)
            added = total[at] + b[channel] if self.of.bias else total[at]
            real = te.cast("float32", added) * scale[channel]
            real = te.maximum(real, 0.0) if self.of.relu else real
            return real if self.to == "float32" else self._rounded(real)

        assert total.stage
        names = tuple(axis.name for axis in total.stage.axes)
        made = stage_of(names, total.shape, value)
        return te.Tensor("out", total.shape, self.to, False, made)

    @property
    def channels(self) -> int:
        return self.of.channels_out if isinstance(self.of, Conv2d) else self.of.features_out

    def _rounded(self, real: Scalar) -> Scalar:
        """Saturate before the conversion, which is only defined for what the type holds."""
        info = np.iinfo(self.to)
        whole = te.rint(real) + float(self.zero_point) if self.zero_point else te.rint(real)
        held = te.minimum(te.maximum(whole, float(info.min)), float(info.max))
        return te.cast(self.to, held)
