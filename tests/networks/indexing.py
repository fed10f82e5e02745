"""Random nodes of indices, integers of eight bits, samples, and shapes that are computed."""

from __future__ import annotations

import numpy as np
from tests.networks.elementwise import ANY
from tests.networks.growing import FLOAT, Growing, Refused
from tests.networks.layers import window, within


def scatter(g: Growing) -> str:
    x = g.tensor(1, 2, 3)
    shape = g.shape(x)
    axis = g.pick.randrange(len(shape))
    count = g.pick.randint(1, shape[axis])
    small = tuple(g.pick.randint(1, n) if a != axis else count for a, n in enumerate(shape))
    every = np.broadcast_to(
        np.arange(shape[axis]), (*small[:axis], *small[axis + 1 :], shape[axis])
    )
    order = g.rng.permuted(every, axis=-1)[..., :count]  # no place twice
    places = np.ascontiguousarray(np.moveaxis(order, -1, axis))
    held = g.input(places) if g.chance(0.5) else g.constant(places, "int64")
    more = {"reduction": g.some("none", "add", "mul")} if g.opset >= 16 else {}
    op = "ScatterElements" if g.opset >= 11 else "Scatter"
    return g.node(op, [x, held, g.weight(*small)], axis=axis, **more)


def several(g: Growing) -> str:
    """Gather or scatter of slices."""
    x = g.tensor(2, 3)
    first, *rest = g.shape(x)
    if g.opset < 16:
        raise Refused("in newer operator sets")
    if g.chance(0.5):
        places = g.rng.integers(0, first, (g.some(1, 3), 1))
        return g.node("GatherND", [x, g.constant(places, "int64")])
    places = g.rng.permutation(first)[: g.pick.randint(1, first), None]
    more = {"reduction": g.some("none", "add")}
    updates = g.weight(len(places), *rest)
    return g.node("ScatterND", [x, g.constant(places, "int64"), updates], **more)


def one_hot(g: Growing) -> str:
    depth = g.some(2, 3, 7)
    places = g.input(g.rng.integers(-depth, depth, g.drawn(g.some(1, 2))))
    values = g.constant([-1.0, 2.5], FLOAT)
    return g.node("OneHot", [places, g.constant(depth, "int64"), values], axis=g.some(-1, 0, 1))


def embedding(g: Growing) -> str:
    rows, width = g.some(3, 11, 30), g.some(1, 7, 16)
    places = g.input(g.rng.integers(0, rows, g.drawn(2)))
    return g.node("Gather", [g.constant(g.numbers((rows, width))), places])


def quantized(g: Growing) -> str:
    """To eight bits and back, with what is computed between."""
    x, kind = g.tensor(), g.some("uint8", "int8")
    scale, zero = g.constant(g.some(0.05, 0.01, 1 / 3), FLOAT), g.constant(g.some(0, 0, 3), kind)
    made = g.node("QuantizeLinear", [x, scale, zero])
    if len(g.shape(made)) == 4 and kind == "uint8" and g.chance(0.5):
        channels = g.shape(made)[1]
        kernel = window(g, 2)
        weight = g.constant(g.rng.integers(-9, 9, (4, channels, *kernel["kernel_shape"])), "int8")
        return g.node("ConvInteger", [made, weight, zero], **kernel)
    if len(g.shape(made)) >= 2 and g.chance(0.6):
        other = g.constant(g.rng.integers(-99, 99, (g.shape(made)[-1], g.some(1, 5, 16))), "int8")
        return g.node("MatMulInteger", [made, other, zero])
    return g.node("DequantizeLinear", [made, scale, zero])


def sampled(g: Growing) -> str:
    if g.opset < 16:
        raise Refused("in newer operator sets")
    x = g.tensor(4)
    grid = g.input(np.asarray(g.rng.uniform(-1.2, 1.2, (g.shape(x)[0], 3, 5, 2)), g.float))
    modes = ("linear", "nearest", "cubic") if g.opset >= 20 else ("bilinear", "nearest", "bicubic")
    return g.node("GridSample", [x, grid], mode=g.some(*modes), align_corners=g.some(0, 1),
                  padding_mode=g.some("zeros", "border", "reflection"))  # fmt: skip


def sized(g: Growing) -> str:
    """Resizing to stated sizes."""
    if g.opset < 13:
        raise Refused("in newer operator sets")
    x = g.tensor(4)
    sizes = g.indices(*g.shape(x)[:2], g.some(1, 3, 8), g.some(2, 5, 9))
    return g.node("Resize", [x, "", "", sizes], mode=g.some("nearest", "linear"))


def by_shape(g: Growing) -> str:
    """A reshape whose sizes come from the shape of a value, as exporters write it."""
    x = g.tensor(2, 3, 4)
    shape = g.node("Shape", [x])
    first = g.node("Gather", [shape, g.indices(0)])
    return g.node("Reshape", [x, g.node("Concat", [first, g.indices(-1)], axis=0)])


def of_constants(g: Growing) -> str:
    """A weight that nodes make of constants."""
    x = g.tensor(2, 3)
    weight = g.node("Transpose", [g.constant(g.numbers((8, g.shape(x)[-1])))], perm=[1, 0])
    weight = g.node("Mul", [weight, g.constant(0.5, FLOAT)])
    return g.node("MatMul", [x, weight])


def unpooled(g: Growing) -> str:
    x = g.tensor(4)
    if any(n % 2 for n in g.shape(x)[2:]):
        raise Refused("places beyond what is made of it")
    square = within(g, x, {"kernel_shape": [2, 2], "strides": [2, 2]})
    made, places = g.several("MaxPool", [x], 2, **square)
    return g.node("MaxUnpool", [made, places], **square)


def with_places(g: Growing) -> str:
    x = g.tensor(3, 4)
    made = within(g, x, window(g, len(g.shape(x)) - 2))
    return g.some(*g.several("MaxPool", [x], 2, **made))


def short(g: Growing) -> str:
    """Work in float16."""
    made = g.node("Cast", [g.tensor()], to=10)
    made = g.node(g.some("Relu", "Sigmoid", "Abs", "Neg", "Tanh"), [made])
    made = g.node(g.some("Add", "Mul"), [made, made]) if g.chance(0.5) else made
    return g.node("Cast", [made], to=1)


def reversed_rows(g: Growing) -> str:
    x = g.tensor(2, 3)
    steps, batch = g.shape(x)[:2]
    lengths = g.constant(g.rng.integers(1, steps + 1, batch), "int64")
    return g.node("ReverseSequence", [x, lengths], time_axis=0, batch_axis=1)


def shifted(g: Growing) -> str:
    x = g.tensor(dtypes=("int64", "int32", "uint8"))
    return g.node("Mod", [x, g.constant(g.some(3, 7), g.values[x].dtype.name)])


def new_norm(g: Growing) -> str:
    x = g.tensor(2, 3, 4)
    if g.chance(0.5):
        return g.node("MeanVarianceNormalization", [x], axes=[0, len(g.shape(x)) - 1])
    return g.node("RMSNormalization", [x, g.weight(g.shape(x)[-1])])


def copied(g: Growing) -> str:
    op = g.some("Identity", "Identity", "Dropout")
    return g.node(op, [g.tensor(dtypes=ANY if op == "Identity" else (FLOAT,))])


INDEXING = (
    scatter, scatter, several, one_hot, embedding, quantized, quantized, sampled, sized, by_shape,
    of_constants, unpooled, with_places, short, reversed_rows, shifted, new_norm, copied,
)  # fmt: skip
