"""Random nodes of numbers of eight bits, as quantized networks have them."""

from __future__ import annotations

import numpy as np
from tests.networks.growing import Growing, Refused
from tests.networks.layers import groups_of, window, within

# Products of these lie at halves, or nowhere near one: which way those go would not be said.
SCALES = (1 / 64, 1 / 8, 0.0173, 0.00931, 0.271)
BYTES = ("uint8", "int8")


def scale(g: Growing, *shape: int) -> str:
    return g.constant(g.rng.choice(SCALES, shape), "float32")


def zero(g: Growing, kind: str, *shape: int) -> str:
    low = 0 if kind == "uint8" else -20
    if g.chance(0.4):
        return g.constant(np.zeros(shape), kind)
    return g.constant(g.rng.integers(low, 150 if kind == "uint8" else 20, shape), kind)


def weights(g: Growing, kind: str, *shape: int) -> str:
    low = 0 if kind == "uint8" else -100
    return g.constant(g.rng.integers(low, 101, shape), kind)


def byte(g: Growing, *ranks: int) -> str:
    """Return a value of eight bits: one that is there, made of floats, or given."""
    there = [n for n, a in g.values.items() if a.dtype.name in BYTES and a.ndim in ranks]
    if there and g.chance(0.6):
        return g.some(*there)
    kind = g.some(*BYTES)
    if g.chance(0.3):
        kept = np.iinfo(kind)
        return g.input(g.rng.integers(kept.min, kept.max + 1, g.drawn(g.some(*ranks)), kind))
    x = g.tensor(*ranks)
    return g.node("QuantizeLinear", [x, scale(g), zero(g, kind)])


def qlinear_conv(g: Growing) -> str:
    x = byte(g, 3, 4)
    kind, channels = g.values[x].dtype.name, g.shape(x)[1]
    made = within(g, x, window(g, len(g.shape(x)) - 2))
    groups = groups_of(g, channels)
    filters = groups * g.some(1, 2, 3, 8, 16, 17)
    other = "int8" if kind == "int8" else g.some(*BYTES)
    each = (filters,) if g.chance(0.5) else ()
    nothing = g.constant(np.zeros(each), other)
    inputs = [
        *(x, scale(g), zero(g, kind)),
        *(weights(g, other, filters, channels // groups, *made["kernel_shape"]), scale(g, *each)),
        zero(g, other) if not each and g.chance(0.3) else nothing,
        *(g.constant(4.0, "float32"), zero(g, kind)),
    ]
    if g.chance(0.5):
        inputs.append(g.constant(g.rng.integers(-999, 999, filters), "int32"))
    return g.node("QLinearConv", inputs, group=groups, **made)


def qlinear_matmul(g: Growing) -> str:
    x = byte(g, 2, 3)
    kind, depth, width = g.values[x].dtype.name, g.shape(x)[-1], g.some(1, 3, 8, 16, 33)
    other = "int8" if kind == "int8" else g.some(*BYTES)
    y = weights(g, other, depth, width)
    each = (width,) if g.chance(0.3) else ()
    nothing = g.constant(np.zeros(each), other)
    return g.node(
        "QLinearMatMul",
        [
            *(x, scale(g), zero(g, kind), y, scale(g, *each)),
            *(nothing if each else zero(g, other), g.constant(4.0, "float32"), zero(g, kind)),
        ],
    )


def dequantized(g: Growing) -> str:
    """To floats, with numbers of each slice along an axis now and then."""
    x = byte(g, 2, 3, 4)
    kind, axis = g.values[x].dtype.name, g.pick.randrange(len(g.shape(x)))
    if g.opset < 13 or g.chance(0.5):
        return g.node("DequantizeLinear", [x, scale(g), zero(g, kind)])
    n = g.shape(x)[axis]
    return g.node("DequantizeLinear", [x, scale(g, n), zero(g, kind, n)], axis=axis)


def quantized_each(g: Growing) -> str:
    if g.opset < 13:
        raise Refused("one scale alone")
    x, kind = g.tensor(2, 3, 4), g.some(*BYTES)
    axis = g.pick.randrange(len(g.shape(x)))
    n = g.shape(x)[axis]
    return g.node("QuantizeLinear", [x, scale(g, n), zero(g, kind, n)], axis=axis)


def between_pairs(g: Growing) -> str:
    """A convolution of floats between what is made of bytes and made into bytes."""
    if g.opset < 13:
        raise Refused("one scale alone")
    x = byte(g, 4)
    kind, channels, filters = g.values[x].dtype.name, g.shape(x)[1], g.some(2, 8, 16)
    given = g.node("DequantizeLinear", [x, scale(g), zero(g, kind)])
    stored = weights(g, "int8", filters, channels, 3, 3)
    nothing = g.constant(np.zeros(filters), "int8")
    weight = g.node("DequantizeLinear", [stored, scale(g, filters), nothing], axis=0)
    made = g.node("Conv", [given, weight], pads=[1] * 4)
    made = g.node("Relu", [made]) if g.chance(0.5) else made
    return g.node("QuantizeLinear", [made, g.constant(4.0, "float32"), zero(g, kind)])


QUANTIZED = (
    qlinear_conv, qlinear_conv, qlinear_matmul, dequantized, dequantized, quantized_each,
    between_pairs,
)  # fmt: skip
