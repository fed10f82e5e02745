"""Operators of every family at random: small shapes, odd, prime, one, and what does not divide.

`pick` chooses one of several values, by hypothesis or by a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.ops.activation import (
    Activation,
    Celu,
    Clip,
    Elu,
    Gelu,
    HardSigmoid,
    HardSwish,
    LeakyRelu,
    Mish,
    Selu,
    Shrink,
    Sigmoid,
    Silu,
    Softplus,
    Softsign,
    Tanh,
    ThresholdedRelu,
)
from tilewright.ops.conv import Conv
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.depthwise import Depthwise, DepthwisePointwise
from tilewright.ops.elementwise import Transpose
from tilewright.ops.gather import Gather, GatherElements
from tilewright.ops.matmul import Matmul
from tilewright.ops.movement import Concat, Pad, Slice
from tilewright.ops.recurrent import GruCell, LstmCell
from tilewright.ops.resize import Resize
from tilewright.ops.taps import COORDINATES, ROUNDINGS
from tilewright.ops.transposed import TransposedConv
from tilewright.tuning.task import Operator

Pick = Callable[[Any], Any]
CHANNELS = (1, 2, 3, 5, 7, 8, 16, 17, 24, 33)
FLAG = (False, True)
FLOATS = ("float32", "float32", "float32", "float64", "float16", "bfloat16")
NUMBERS = (*FLOATS, "uint8", "int8")


def matmul(pick: Pick) -> Matmul:
    batch = tuple(pick((1, 2, 3)) for _ in range(pick((0, 0, 1, 2))))
    sides = [pick((None, tuple(n if pick(FLAG) else 1 for n in batch))) for _ in range(2)]
    return Matmul(
        pick((1, 2, 5, 7, 13, 16, 29)), pick((1, 3, 8, 17, 32)), pick((1, 2, 7, 16, 19, 48, 61)),
        batch, sides[0], sides[1], pick(FLAG), pick(FLAG), pick(("", "A", "B")), pick(FLAG),
        pick(FLAG), pick(NUMBERS),
    )  # fmt: skip


def _window(pick: Pick, count: int) -> dict[str, tuple[int, ...]]:
    return {
        "kernel": tuple(pick((1, 2, 3, 4)) for _ in range(count)),
        "stride": tuple(pick((1, 1, 2, 3)) for _ in range(count)),
        "dilation": tuple(pick((1, 1, 2, 3)) for _ in range(count)),
        "pads": tuple(pick((0, 0, 1, 2)) for _ in range(2 * count)),
    }


def _size(pick: Pick, count: int, window: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    kernel, dilation, pads = window["kernel"], window["dilation"], window["pads"]
    least = [
        max(1, (kernel[d] - 1) * dilation[d] + 1 - pads[d] - pads[d + count]) for d in range(count)
    ]
    more = {1: (0, 1, 2, 7, 12, 30), 2: (0, 1, 2, 6, 11), 3: (0, 1, 3)}[count]
    return tuple(n + pick(more) for n in least)


def conv(pick: Pick) -> Conv:
    count, groups = pick((1, 2, 3)), pick((1, 1, 2, 3))
    window = _window(pick, count)
    size = _size(pick, count, window)
    few = (1, 2, 3, 5) if count == 3 else (1, 2, 5, 8, 17)
    return Conv(
        pick((1, 2)), size, groups * pick(few), groups * pick(few), **window, groups=groups,
        bias=pick(FLAG), residual=pick(FLAG), relu=pick(FLAG), dtype=pick(NUMBERS),
    )  # fmt: skip


def conv2d(pick: Pick) -> Conv2d:
    window: Any = _window(pick, 2)
    height, width = _size(pick, 2, window)
    groups = pick((1, 1, 2, 5, 16))
    ci, co = pick((1, 2, 3)), pick((1, 1, 2, 3))
    if groups == 1:
        ci, co = pick(CHANNELS), pick(CHANNELS)
    return Conv2d(
        pick((1, 2)), height, width, groups * ci, groups * co, **window, groups=groups,
        bias=pick(FLAG), residual=pick(FLAG), relu=pick(FLAG), dtype=pick(NUMBERS),
    )  # fmt: skip


def transposed(pick: Pick) -> TransposedConv:
    count, groups = pick((1, 2, 2, 3)), pick((1, 1, 2, 3))
    few = (1, 2, 3) if count == 3 else (1, 2, 5, 8, 17)
    while True:
        window = _window(pick, count)
        size = tuple(pick((1, 2, 3, 5) if count > 1 else (1, 2, 3, 7, 12)) for _ in range(count))
        most = [max(s, d) for s, d in zip(window["stride"], window["dilation"], strict=True)]
        more = tuple(pick(tuple(range(n))) for n in most)
        out = [
            (size[d] - 1) * window["stride"][d] + (window["kernel"][d] - 1) * window["dilation"][d]
            + 1 + more[d] - window["pads"][d] - window["pads"][d + count]
            for d in range(count)
        ]  # fmt: skip
        if min(out) >= 1:
            break
    return TransposedConv(
        pick((1, 2)), size, groups * pick(few), groups * pick(few), **window, output_padding=more,
        groups=groups, bias=pick(FLAG), relu=pick(FLAG), dtype=pick(NUMBERS),
    )  # fmt: skip


def depthwise(pick: Pick) -> Depthwise:
    window: Any = _window(pick, 2)
    height, width = _size(pick, 2, window)
    return Depthwise(
        pick((1, 2)), height, width, pick(CHANNELS), **window, multiplier=pick((1, 1, 2, 3, 17)),
        bias=pick(FLAG), relu=pick(FLAG), dtype=pick(NUMBERS),
    )  # fmt: skip


def depthwise_pointwise(pick: Pick) -> DepthwisePointwise:
    window: Any = _window(pick, 2)
    height, width = _size(pick, 2, window)
    return DepthwisePointwise(
        pick((1, 2)), height, width, pick(CHANNELS), pick(CHANNELS), **window, bias=pick(FLAG),
        relu=pick(FLAG), dtype=pick(NUMBERS),
    )  # fmt: skip


def lstm(pick: Pick) -> LstmCell:
    return LstmCell(
        pick((1, 2, 3, 7)), pick((1, 5, 16, 17)), pick((1, 3, 8, 16, 19)), pick(FLAG), pick(FLAG),
        pick(FLOATS),
    )  # fmt: skip


def gru(pick: Pick) -> GruCell:
    return GruCell(
        pick((1, 2, 3, 7)), pick((1, 5, 16, 17)), pick((1, 3, 8, 16, 19)), pick(FLAG), pick(FLAG),
        pick(FLOATS),
    )  # fmt: skip


def _shape(pick: Pick, extents: tuple[int, ...] = (1, 2, 3, 5, 8, 17)) -> tuple[int, ...]:
    return tuple(pick(extents) for _ in range(pick((1, 2, 2, 3, 4))))


def concat(pick: Pick) -> Concat:
    shape = _shape(pick, (1, 2, 3, 5, 8))
    axis = pick(tuple(range(len(shape))))
    lengths = [pick((1, 2, 3, 7, 16)) for _ in range(pick((1, 2, 2, 3, 4)))]
    return Concat(
        tuple((*shape[:axis], n, *shape[axis + 1 :]) for n in lengths), axis, pick(NUMBERS)
    )


def cut(pick: Pick) -> Slice:
    shape = _shape(pick)
    cuts = [
        pick((slice(None), slice(None, None, -1), slice(n // 2, None), slice(None, None, 2),
              slice(n - 1, None, -3), slice(n // 3, n, 3)))
        for n in shape
    ]  # fmt: skip
    return Slice.of(shape, *cuts, dtype=pick(NUMBERS))


def pad(pick: Pick) -> Pad:
    shape, mode = _shape(pick, (1, 2, 3, 5, 8)), pick(("constant", "edge", "reflect"))
    most = [n - 1 if mode == "reflect" else 4 for n in shape]
    sides = [tuple(min(pick((0, 0, 1, 2, 4)), n) for n in most) for _ in range(2)]
    dtype = pick(NUMBERS)
    value = pick((0.0, 1.5, float("-inf")) if dtype in FLOATS else (0, 5))
    return Pad(shape, sides[0], sides[1], mode, value, dtype)


def gather(pick: Pick) -> Gather:
    shape = _shape(pick)
    indices = tuple(pick((1, 2, 3, 7, 16, 17)) for _ in range(pick((0, 1, 1, 2))))
    return Gather(
        shape, indices, pick(tuple(range(-len(shape), len(shape)))),
        index_dtype=pick(("int64", "int32")),
    )  # fmt: skip


def gather_elements(pick: Pick) -> GatherElements:
    shape = _shape(pick)
    axis = pick(tuple(range(len(shape))))
    lengths = [pick((n, n, max(1, n // 2))) for n in shape]
    lengths[axis] = pick((1, 2, 5, 16, 19))
    return GatherElements(shape, tuple(lengths), axis, index_dtype=pick(("int64", "int32")))


def resize(pick: Pick) -> Resize:
    shape = _shape(pick, (1, 2, 3, 5, 8))
    size = tuple(pick((n, n, 2 * n, 3 * n, max(1, n // 2), 1, 7, 13)) for n in shape)
    mode, dtypes = pick((("nearest", NUMBERS), ("linear", FLOATS), ("cubic", FLOATS)))
    coordinates = pick(COORDINATES)
    antialias, inside = (mode != "nearest" and pick((False, False, True)) for _ in range(2))
    return Resize(
        shape, size, mode, coordinates, pick(ROUNDINGS), pick(dtypes), antialias=antialias,
        exclude_outside=inside,
    )  # fmt: skip


def activation(pick: Pick) -> Activation:
    every = (
        Gelu(), Gelu(tanh=True), Silu(), Silu(1.702), Sigmoid(), Tanh(), HardSigmoid(),
        HardSwish(), LeakyRelu(0.1), Elu(0.7), Clip(0.0, 6.0), Clip(-0.5), Clip(None, 0.5), Clip(),
        Selu(), Celu(0.7), Softplus(), Softsign(), Mish(), ThresholdedRelu(0.3), Shrink(0.4, 0.4),
        Shrink(0.25),
    )  # fmt: skip
    functions = tuple(pick(every) for _ in range(pick((1, 1, 2, 3))))
    return Activation(functions, pick((1, 2, 15, 16, 17, 64, 97, 1000)), pick(FLOATS))


def transpose(pick: Pick) -> Transpose:
    shape = _shape(pick)
    order = list(range(len(shape)))
    turned: list[int] = []
    while order:
        turned.append(order.pop(pick(tuple(range(len(order))))))
    return Transpose(shape, tuple(turned), pick(NUMBERS))


def dense(pick: Pick) -> Dense:
    sizes = (1, 3, 8, 13, 32)
    return Dense(
        pick(sizes), pick(sizes), pick(CHANNELS), pick(FLAG), pick(FLAG), pick(FLAG), pick(NUMBERS)
    )


FAMILIES: tuple[Callable[[Pick], Operator], ...] = (
    matmul, matmul, conv, conv, conv2d, transposed, transposed, depthwise, depthwise_pointwise,
    lstm, gru, concat, cut, pad, resize, resize, activation, transpose, dense, gather,
    gather_elements,
)  # fmt: skip


def operator(pick: Pick) -> Operator:
    """Return an operator of any family."""
    return pick(FAMILIES)(pick)
