"""Random groups of nodes as networks have them, which the passes look for."""

from __future__ import annotations

import math

import numpy as np
from tests.networks.elementwise import operand
from tests.networks.growing import FLOAT, LARGEST, Growing
from tests.networks.layers import batch_norm, conv, winograd


def activation(g: Growing, x: str) -> str:
    if g.chance(0.3):
        return g.node("Mul", [x, g.node("Sigmoid", [x])])
    return g.node(g.some("Relu", "Tanh", "Sigmoid", "LeakyRelu", "Softplus"), [x])


def normalised(g: Growing, x: str) -> str:
    channels = g.shape(x)[1]
    variance = g.constant(g.rng.uniform(0.05, 3, channels), FLOAT)
    names = [g.constant(g.numbers((channels,))) for _ in range(3)]
    return g.node("BatchNormalization", [x, *names, variance])


def convolved(g: Growing) -> str:
    """Convolution, normalisation, activation: some of them, now and then in another order."""
    if g.chance(0.2):
        batch_norm(g)
    x = g.some(conv, conv, winograd)(g)
    x = normalised(g, x) if g.chance(0.7) else x
    return activation(g, x) if g.chance(0.7) else x


def residual(g: Growing) -> str:
    x = g.tensor(4, 4, 3)
    channels, count = g.shape(x)[1], len(g.shape(x)) - 2
    made = g.node("Conv", [x, g.weight(channels, channels, *[3] * count)], pads=[1] * 2 * count)
    made = normalised(g, made) if g.chance(0.5) else made
    made = activation(g, made) if g.chance(0.3) else made
    joined = g.node(g.some("Add", "Add", "Sub", "Mul"), g.some([made, x], [x, made]))
    return activation(g, joined) if g.chance(0.6) else joined


def padded(g: Growing) -> str:
    x = g.tensor(4)
    pads = [0, 0, g.some(0, 1), g.some(0, 1, 2), 0, 0, g.some(0, 1), g.some(0, 2)]
    x = g.node("Pad", [x], pads=pads) if g.opset < 11 else g.node("Pad", [x, g.indices(*pads)])
    weight = g.weight(g.some(2, 5, 8), g.shape(x)[1], g.some(1, 3), g.some(1, 2, 3))
    return g.node("Conv", [x, weight], strides=[g.some(1, 2)] * 2)


def gate(g: Growing) -> str:
    """Squeeze and excite."""
    x = g.tensor(4)
    channels = g.shape(x)[1]
    few = g.node("GlobalAveragePool", [x])
    few = g.node("Relu", [g.node("Conv", [few, g.weight(g.some(1, 3), channels, 1, 1)])])
    few = g.node("Sigmoid", [g.node("Conv", [few, g.weight(channels, g.shape(few)[1], 1, 1)])])
    return g.node("Mul", [x, few])


def layer_norm(g: Growing) -> str:
    """As exporters spell it."""
    x, axes = g.tensor(2, 3), [-1]

    def mean(of: str) -> str:
        if g.opset >= 18:
            return g.node("ReduceMean", [of, g.indices(*axes)])
        return g.node("ReduceMean", [of], axes=axes if g.opset >= 11 else [len(g.shape(x)) - 1])

    centred = g.node("Sub", [x, mean(x)])
    spread = g.node("Pow", [centred, g.constant(2.0, FLOAT)])
    root = g.node("Sqrt", [g.node("Add", [mean(spread), g.constant(1e-5, FLOAT)])])
    made = g.node("Div", [centred, root])
    return g.node("Add", [g.node("Mul", [made, operand(g, made)]), operand(g, made)])


def gelu(g: Growing) -> str:
    x = g.tensor()
    inner = g.node("Erf", [g.node("Div", [x, g.constant(math.sqrt(2), FLOAT)])])
    one = g.node("Add", [inner, g.constant(1.0, FLOAT)])
    return g.node("Mul", [g.node("Mul", [x, one]), g.constant(0.5, FLOAT)])


def attention(g: Growing) -> str:
    x = g.tensor(3)
    batch, rows, width = g.shape(x)
    heads = g.some(*(n for n in range(1, width + 1) if width % n == 0))

    def head() -> str:
        made = g.node("MatMul", [x, g.weight(width, width)])
        made = g.node("Reshape", [made, g.indices(batch, rows, heads, width // heads)])
        return g.node("Transpose", [made], perm=[0, 2, 1, 3])

    q, v = head(), head()
    k = g.node("Transpose", [head()], perm=[0, 1, 3, 2])
    scores = g.node("Mul", [g.node("MatMul", [q, k]), g.constant(width**-0.5, FLOAT)])
    if g.chance(0.4):
        scores = g.node("Add", [scores, operand(g, scores)])
    made = g.node("MatMul", [g.node("Softmax", [scores], axis=3), v])
    made = g.node("Transpose", [made], perm=[0, 2, 1, 3])
    return g.node("Reshape", [made, g.indices(batch, rows, width)])


def masked(g: Growing) -> str:
    """Rows of which some elements do not count."""
    x = g.tensor(2, 3, 4)
    shape = g.shape(x)[-2:] if g.chance(0.5) else g.shape(x)[-1:]
    held = g.rng.random(shape) < 0.6
    held[..., g.pick.randrange(shape[-1])] = True
    low = g.some(-np.inf, -1e4, float(np.finfo(g.float).min))
    if g.opset >= 9 and g.chance(0.5):
        names = [g.constant(held), x, g.constant(low, FLOAT)]
    else:
        names = [x, g.constant(np.where(held, 0, low), FLOAT)]
    g.bound = np.inf
    try:
        scores = g.node("Where" if len(names) == 3 else "Add", names)
    finally:
        g.bound = LARGEST
    return g.node("Softmax", [scores], axis=len(g.shape(x)) - 1)


def shuffle(g: Growing) -> str:
    """Channels in another order, by way of a further dimension."""
    x = g.tensor(4)
    n, channels, *size = g.shape(x)
    groups = g.some(*(k for k in range(1, channels + 1) if channels % k == 0))
    made = g.node("Reshape", [x, g.indices(n, groups, channels // groups, *size)])
    made = g.node("Transpose", [made], perm=[0, 2, 1, 3, 4])
    return g.node("Reshape", [made, g.indices(n, channels, *size)])


def dense(g: Growing) -> str:
    x = g.tensor(2, 3)
    made = g.node("MatMul", [x, g.weight(g.shape(x)[-1], g.some(1, 3, 8, 17, 32))])
    made = g.node("Add", [made, operand(g, made)])
    return activation(g, made) if g.chance(0.7) else made


def between(g: Growing) -> str:
    """Work in another order of the dimensions."""
    x = g.tensor(4)
    made = g.node("Transpose", [x], perm=[0, 2, 3, 1])
    made = g.node("Add", [made, operand(g, made)]) if g.chance(0.6) else activation(g, made)
    return g.node("Transpose", [made], perm=g.some([0, 3, 1, 2], [0, 3, 2, 1]))


BLOCKS = (
    convolved, convolved, convolved, residual, residual, padded, gate, layer_norm, gelu, attention,
    masked, masked, shuffle, dense, dense, between,
)  # fmt: skip
