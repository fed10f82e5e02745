"""Random layers of images that the cache next to a core does not hold."""

from __future__ import annotations

from tests.networks.growing import Growing

MOST = 4_000_000  # elements of a value
NODES = 3


def begin(g: Growing) -> None:
    """Give a network an image of one to three megabytes, of uneven size."""
    g.most = MOST
    g.input(g.numbers((1, g.some(3, 4, 8), g.some(224, 255, 301), g.some(256, 317))))


def last(g: Growing) -> str:
    return next(n for n in reversed(g.values) if g.values[n].ndim == 4)


def conv(g: Growing) -> str:
    x, kernel = last(g), g.some(1, 3, 3, 5)
    weight = g.weight(g.some(4, 8, 16), g.shape(x)[1], kernel, kernel)
    stride = g.some(1, 1, 2)
    return g.node("Conv", [x, weight], pads=[kernel // 2] * 4, strides=[stride] * 2)


def depthwise(g: Growing) -> str:
    x = last(g)
    channels = g.shape(x)[1]
    return g.node("Conv", [x, g.weight(channels, 1, 3, 3)], group=channels, pads=[1] * 4)


def pool(g: Growing) -> str:
    op = g.some("MaxPool", "AveragePool")
    return g.node(op, [last(g)], kernel_shape=[2, 2], strides=[g.some(1, 2)] * 2)


def joined(g: Growing) -> str:
    x = last(g)
    other = g.node("Relu", [x])
    if g.chance(0.5):
        return g.node("Add", [x, other])
    return g.node("Concat", [x, other], axis=1)


def moved(g: Growing) -> str:
    return g.node("Transpose", [last(g)], perm=g.some([0, 2, 3, 1], [0, 1, 3, 2], [0, 3, 2, 1]))


def mean(g: Growing) -> str:
    return g.node("GlobalAveragePool", [last(g)])


def rows(g: Growing) -> str:
    return g.node("Softmax", [last(g)], axis=3)


LARGE = (conv, conv, conv, depthwise, pool, joined, moved, mean, rows)
