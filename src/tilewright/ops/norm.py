"""Normalisation by mean and variance: layer, group and instance norm; RMS norm without the mean.

The variance is that of the differences from the mean, in a second pass over the row, which stays in
the cache: nothing cancels, whatever the mean is. If rounding moves the mean by d, the variance is
off by d^2, beside its own rounding. With lanes that add up n / m elements each, d is at most
(n / m + log2(m)) * 2^-24 * mean(|X|) in float32, and a 64th of that for m = 64. Short floats are
widened when they are loaded, and only the result is rounded to them; S and B are float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.affine import Affine
from tilewright.expr.scalar import Scalar
from tilewright.expr.tensor import Reduce
from tilewright.ops import fields, mixed

At = Callable[[Sequence[te.Axis], Sequence[te.Axis]], tuple[te.Axis, ...]]
"""How a tensor is indexed by the axes of its rows, and those inside of a row."""


@dataclass(frozen=True)
class LayerNorm:
    """(X - mean) / sqrt(variance + epsilon) * S + B over all axes from `axis` on.

    X is seen as (rows, features); S and B, of `features` elements, are there if asked for.
    """

    shape: tuple[int, ...]
    axis: int = -1
    scale: bool = True
    bias: bool = True
    epsilon: float = 1e-5
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        _check("layer_norm", self.shape, self.axis, self.dtype)

    @property
    def name(self) -> str:
        return _named("layer_norm", self)

    def expression(self) -> te.Tensor:
        rows, features = _features(self.shape, self.axis)
        x = te.tensor("X", (rows, features), self.dtype)
        mean, scale = _moments(x, (rows,), (features,), lambda o, r: (*o, *r), self.epsilon)
        return _scaled(
            lambda o, z: (mixed.wide(x[o, z]) - mean[o]) * scale[o],
            (rows, features), features, lambda _, z: z, self.dtype, (self.scale, self.bias),
        )  # fmt: skip


@dataclass(frozen=True)
class RmsNorm:
    """X / sqrt(mean(X^2) + epsilon) * S over all axes from `axis` on; seen as by `LayerNorm`."""

    shape: tuple[int, ...]
    axis: int = -1
    scale: bool = True
    epsilon: float = 1e-5
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        _check("rms_norm", self.shape, self.axis, self.dtype)

    @property
    def name(self) -> str:
        return _named("rms_norm", self)

    def expression(self) -> te.Tensor:
        rows, features = _features(self.shape, self.axis)
        x = te.tensor("X", (rows, features), self.dtype)
        k = te.reduce_axis("k", features)
        total = te.compute(
            "squares", (rows,), lambda o: te.sum(mixed.product(x[o, k], x[o, k]), over=k)
        )
        scale = te.compute(
            "scale", (rows,), lambda o: _inverse_root(total[o] * (1.0 / features) + self.epsilon)
        )
        return _scaled(
            lambda o, z: mixed.wide(x[o, z]) * scale[o],
            (rows, features), features, lambda _, z: z, self.dtype, (self.scale, False),
        )  # fmt: skip


@dataclass(frozen=True)
class GroupNorm:
    """Normalise groups of channels of each image, then scale and shift each channel by S and B.

    X is (batch, groups, channels of a group, pixels), or with `channels_last` (batch, pixels,
    groups, channels of a group). As many groups as channels are instance norm, one is layer norm.
    """

    batch: int
    channels: int
    pixels: int
    groups: int
    scale: bool = True
    bias: bool = True
    channels_last: bool = False
    epsilon: float = 1e-5
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("group_norm", self.dtype)
        if self.channels % self.groups:
            raise ExpressionError(
                f"group_norm of {self.channels} channels in {self.groups} groups: "
                "groups must divide the channels."
            )

    @property
    def name(self) -> str:
        order = "channels last" if self.channels_last else "channels first"
        size = f"{self.batch}x{self.channels}x{self.pixels}"
        return f"group_norm {size} in {self.groups} groups, {order}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        each = self.channels // self.groups
        rows, inside = (self.batch, self.groups), (each, self.pixels)
        if self.channels_last:
            shape = (self.batch, self.pixels, self.groups, each)
        else:
            shape = (self.batch, self.groups, each, self.pixels)
        x = te.tensor("X", shape, self.dtype)

        def at(o: Sequence[te.Axis], r: Sequence[te.Axis]) -> tuple[te.Axis, ...]:
            (n, g), (c, p) = o, r
            return (n, p, g, c) if self.channels_last else (n, g, c, p)

        mean, scale = _moments(x, rows, inside, at, self.epsilon)

        def value(*i: te.Axis) -> Scalar:
            n, g = (i[0], i[2]) if self.channels_last else i[:2]
            return (mixed.wide(x[i]) - mean[n, g]) * scale[n, g]

        def channel(*i: te.Axis) -> Affine:
            g, c = i[2:] if self.channels_last else i[1:3]
            return g * each + c

        extras = (self.scale, self.bias)
        return _scaled(value, shape, self.channels, channel, self.dtype, extras)


@dataclass(frozen=True)
class InstanceNorm:
    """Normalise each channel of each image over its pixels: `GroupNorm` with groups of one."""

    batch: int
    channels: int
    pixels: int
    scale: bool = True
    bias: bool = True
    channels_last: bool = False
    epsilon: float = 1e-5
    dtype: str = "float32"

    def __post_init__(self) -> None:
        fields.check(self)
        mixed.check_float("instance_norm", self.dtype)

    @property
    def name(self) -> str:
        order = "channels last" if self.channels_last else "channels first"
        size = f"{self.batch}x{self.channels}x{self.pixels}"
        return f"instance_norm {size}, {order}{fields.of(self.dtype)}"

    def expression(self) -> te.Tensor:
        return GroupNorm(
            self.batch, self.channels, self.pixels, self.channels, self.scale, self.bias,
            self.channels_last, self.epsilon, self.dtype,
        ).expression()  # fmt: skip


def _named(what: str, norm: LayerNorm | RmsNorm) -> str:
    shape, axis = "x".join(map(str, norm.shape)), norm.axis % len(norm.shape)
    return f"{what} {shape} from {axis}{fields.of(norm.dtype)}"


def _check(what: str, shape: tuple[int, ...], axis: int, dtype: str) -> None:
    mixed.check_float(what, dtype)
    if not -len(shape) <= axis < len(shape):
        raise ExpressionError(
            f"{what} of {'x'.join(map(str, shape))} from axis {axis}: give one from {-len(shape)} "
            f"to {len(shape) - 1}."
        )


def _features(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
    axis %= len(shape)
    return prod(shape[:axis]), prod(shape[axis:])


def _moments(
    x: te.Tensor, rows: tuple[int, ...], inside: tuple[int, ...], at: At, epsilon: float
) -> tuple[te.Tensor, te.Tensor]:
    """Return the mean of each row, and one over its standard deviation."""
    share = 1.0 / prod(inside)
    j = [te.reduce_axis(f"j{d}", n) for d, n in enumerate(inside)]
    k = [te.reduce_axis(f"k{d}", n) for d, n in enumerate(inside)]

    def square(*o: te.Axis) -> Reduce:
        apart = mixed.wide(x[at(o, k)]) - mean[o]
        return te.sum(apart * apart, over=k)

    total = te.compute("total", rows, lambda *o: te.sum(mixed.wide(x[at(o, j)]), over=j))
    mean = te.compute("mean", rows, lambda *o: total[o] * share)
    squares = te.compute("squares", rows, square)
    return mean, te.compute("scale", rows, lambda *o: _inverse_root(squares[o] * share + epsilon))


def _inverse_root(value: Scalar) -> Scalar:
    return 1.0 / te.sqrt(value)


def _scaled(
    value: Callable[..., Scalar],
    shape: tuple[int, ...],
    channels: int,
    channel: Callable[..., te.IndexLike],
    dtype: str,
    extras: tuple[bool, bool],
) -> te.Tensor:
    """Return the last stage: a value times S plus B of its channel, where these are asked for."""
    s, b = (te.tensor(name, (channels,), mixed.sums(dtype), constant=True) for name in "SB")

    def scaled(*i: te.Axis) -> Scalar:
        made = value(*i)
        if extras[0]:
            made = made * s[channel(*i)]
        made = made + b[channel(*i)] if extras[1] else made
        return mixed.stored(made, dtype)

    return te.compute("out", shape, scaled)
