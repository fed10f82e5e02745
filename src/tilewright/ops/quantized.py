"""Integer operators whose sums are scaled to real numbers, or rounded to 8 bits again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import tilewright.expr.tensor as te
from tilewright import dtypes
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields, mixed
from tilewright.ops.conv import Conv
from tilewright.ops.conv2d import Conv2d, channel_of, stage_of
from tilewright.ops.dense import Dense
from tilewright.ops.depthwise import Depthwise

Sums: TypeAlias = Conv | Conv2d | Dense | Depthwise


@dataclass(frozen=True)
class Requantized:
    """A convolution or dense layer of 8-bit integers, its int32 sums scaled by S (channels,).

    With `to` float32 the result is sum * S; with uint8 or int8 that is rounded, halves to even,
    `zero_point` is added, and what the type cannot hold becomes its least or greatest value, as
    ONNX's QLinearConv does with weights whose zero point is 0. The operator's bias (int32) is added
    to the sum before, its ReLU applied after scaling.

    `input_zero_point` is the number in X that stands for 0, and what padding is filled with. It
    adds itself times the sum of a channel's weights to each of its sums; B, which is then always
    there, takes that away again: `bias(weights, of the operator)` makes it.
    """

    of: Sums
    to: str = "uint8"
    zero_point: int = 0
    input_zero_point: int = 0

    def __post_init__(self) -> None:
        fields.check(self)
        if not isinstance(self.of, Sums):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(
                f"cannot requantize {self.of!r}: it takes a Conv, Conv2d, Dense or Depthwise."
            )
        if self.of.dtype not in ("uint8", "int8") or getattr(self.of, "residual", False):
            raise ExpressionError(
                f"cannot requantize {self.of!r}: it takes an operator of "
                "uint8 or int8 without residual, as in Dense(8, 64, 64, dtype='uint8')."
            )
        if self.to not in ("float32", "uint8", "int8"):
            raise ExpressionError(
                f"cannot requantize {self.of.name} to {self.to!r}: it is float32, uint8 or int8."
            )
        if not _holds(self.to, self.zero_point) or (self.to == "float32" and self.zero_point):
            raise ExpressionError(
                f"cannot requantize {self.of.name} to {self.to} with zero_point "
                f"{self.zero_point}: it is a number of that type, and 0 for float32."
            )
        if not _holds(self.of.dtype, self.input_zero_point):
            raise ExpressionError(
                f"cannot requantize {self.of.name} with input_zero_point "
                f"{self.input_zero_point}: it is a number of that type."
            )

    @property
    def name(self) -> str:
        return f"{self.of.name} to {self.to}"

    def expression(self) -> te.Tensor:
        fill = self.input_zero_point
        total = self.of.sums() if isinstance(self.of, Dense) else self.of.sums(fill)
        channels, groups = self._channels
        b = te.tensor("B", (channels,), total.dtype, constant=True)
        scale = te.tensor("S", (channels,), "float32", constant=True)

        def value(*at: te.Axis) -> Scalar:
            channel = channel_of(at, channels, groups)
            added = total[at] + b[channel] if self.of.bias or fill else total[at]
            real = te.cast("float32", added) * scale[channel]
            real = te.maximum(real, 0.0) if self.of.relu else real
            if self.to == "float32":
                return real
            return mixed.rounded(real, self.to, self.zero_point)

        assert total.stage
        names = tuple(axis.name for axis in total.stage.axes)
        made = stage_of(names, total.shape, value)
        return te.Tensor("out", total.shape, self.to, False, made)

    def bias(self, weights: NDArray[Any], of: NDArray[Any] | int = 0) -> NDArray[np.int32]:
        """Return B: the operator's own bias, less what the zero point of X adds to each channel.

        >>> Requantized(Dense(1, 2, 2, dtype="int8"), input_zero_point=3).bias(
        ...     np.array([[1, 2], [10, 20]], np.int8), np.array([100, 100])
        ... )
        array([67, 34], dtype=int32)
        """
        added = weights.reshape(-1, self._channels[0]).sum(0, dtype=np.int64)
        return np.asarray(of - self.input_zero_point * added).astype(np.int32)

    @property
    def _channels(self) -> tuple[int, int]:
        """How many channels the result has, and in how many groups."""
        match self.of:
            case Dense():
                return self.of.features_out, 1
            case Depthwise():
                many = self.of.multiplier
                return self.of.channels * many, self.of.channels if many > 1 else 1
            case _:
                return self.of.channels_out, self.of.groups


def _holds(dtype: str, number: int) -> bool:
    return dtypes.number(number, dtype) is not None
