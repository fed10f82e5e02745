"""Import convolutions and their transposes, and what the importers of images share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source


def conv(source: Source) -> str:
    kernel, strides, dilations = _window(source)
    pads = pads_of(source, kernel, strides, dilations)
    return _sums(source, "conv_first", strides=strides, pads=pads, dilations=dilations)


def transposed_conv(source: Source) -> str:
    kernel, strides, dilations = _window(source)
    more = source.attribute("output_padding", (0,) * len(kernel))
    pads, more = _pads_of_result(source, kernel, strides, dilations, more)
    return _sums(
        source, "transposed_conv_first", strides=strides, pads=pads, dilations=dilations,
        output_padding=more,
    )  # fmt: skip


def _window(source: Source) -> tuple[Shape, Shape, Shape]:
    """Return the kernel of a convolution, its strides and its dilations."""
    shape, weights = image(source), source.shape(1)
    if len(weights) != len(shape):
        raise Refusal(f"its weights have the shape {weights}, its input {shape}")
    kernel = source.attribute("kernel_shape", weights[2:])
    if kernel != weights[2:]:
        raise Refusal(f"kernel_shape {kernel} is not that of its weights {weights}")
    return kernel, each(source, "strides"), each(source, "dilations")


def _sums(source: Source, operator: str, **window: Any) -> str:
    """Make the node of a convolution, and one that adds the bias, if any."""
    data, weights, groups = source.value(0), source.value(1), _groups(source)
    if not source.has(2):
        return source.node(operator, data, weights, **window, groups=groups)
    made = source.node(operator, data, weights, part="sums", **window, groups=groups)
    return source.map("add", made, per_channel(source, 2))


def columns_to_image(source: Source) -> str:
    """Add up patches where they overlap: the transpose of a convolution that moves each tap."""
    X, size, kernel = source.shape(), source.integers(1, "image"), source.integers(2, "block")
    count = len(size)
    strides, dilations = (source.attribute(name, (1,) * count) for name in ("strides", "dilations"))
    pads = source.attribute("pads", (0,) * 2 * count)
    if len(kernel) != count or not 1 <= count <= 3 or len(X) != 3 or X[1] % math.prod(kernel):
        raise Refusal(f"blocks of {kernel} of an image of {size} in columns of shape {X}")
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    padded = [n + pads[d] + pads[d + count] for d, n in enumerate(size)]
    blocks = [(n - r) // s + 1 for n, r, s in zip(padded, reach, strides, strict=True)]
    if math.prod(blocks) != X[2]:
        raise Refusal(f"an image of {size} has {math.prod(blocks)} blocks, its input {X[2]}")
    left = [n - r - (b - 1) * s for n, r, b, s in zip(padded, reach, blocks, strides, strict=True)]
    taps, channels = math.prod(kernel), X[1] // math.prod(kernel)
    given = source.reshaped(source.value(), (*X[:2], *blocks), part="blocks")
    one = np.tile(np.eye(taps, dtype=source.dtype()), (channels, 1))
    weights = source.literal(one.reshape(X[1], 1, *kernel), "taps")
    # What no block reaches is behind: taken from the padding, or added to the result.
    behind = [pads[d + count] - left[d] for d in range(count)]
    more = tuple(max(0, -b) for b in behind)
    return source.node(
        "transposed_conv_first", given, weights, strides=strides, dilations=dilations,
        pads=(*pads[:count], *(max(0, b) for b in behind)), output_padding=more, groups=channels,
    )  # fmt: skip


def per_channel(source: Source, index: int) -> str:
    """Return an input of one element a channel so that it is repeated over an image."""
    shape = source.shape(index)
    if len(shape) != 1:
        raise Refusal(f"its input {source.inputs[index]!r} has the shape {shape}, not one axis")
    full = (*shape, *(1,) * (len(source.shape()) - 2))
    return source.reshaped(source.value(index), full, part=f"input{index}")


def image(source: Source, most: int | None = 5) -> Shape:
    """Return the shape of the input, an image of one to three dimensions in a batch."""
    shape = source.shape()
    if not 3 <= len(shape) <= (most or len(shape)):
        raise Refusal(f"its input has the shape {shape}, which is no image in a batch")
    return shape


def each(source: Source, name: str) -> Shape:
    """Return an attribute of one number for each dimension of the image."""
    count = len(source.shape()) - 2
    given = source.attribute(name, (1,) * count)
    if len(given) != count or min(given) < 1:
        raise Refusal(f"{name} {given} are not {count} positive numbers")
    return given


def pads_of(source: Source, kernel: Shape, strides: Shape, dilations: Shape) -> Shape:
    """Return the padding as top, left, bottom, right, automatic padding worked out.

    SAME makes ceil(size / stride) windows. Strides beyond the window may need less than the image:
    that the last element is not read is all the same, but with more left over onnxruntime (1.32)
    fails to pool, and its convolutions begin elsewhere than others, so such nodes are refused.
    """
    mode = _automatic(source)
    if mode == "VALID":
        return (0,) * (2 * len(kernel))
    if mode == "NOTSET":
        return _stated(source)
    before: list[int] = []
    after: list[int] = []
    for axis, size in enumerate(source.shape()[2:]):
        steps = -(-size // strides[axis]) - 1
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        total = steps * strides[axis] + reach - size
        if total < -1:
            raise Refusal(
                f"auto_pad {mode} with strides {strides} beyond the window {kernel} leaves open "
                "which elements are read; state pads instead"
            )
        total = max(0, total)
        small, large = total // 2, total - total // 2
        before.append(large if mode == "SAME_LOWER" else small)
        after.append(small if mode == "SAME_LOWER" else large)
    return (*before, *after)


def _pads_of_result(
    source: Source, kernel: Shape, strides: Shape, dilations: Shape, more: Shape
) -> tuple[Shape, Shape]:
    """Return what is taken from the result of a transposed convolution, and what is added behind.

    An output that is asked to be larger than what the input reaches has zeros behind.
    """
    mode, size = _automatic(source), source.shape()[2:]
    stated = source.attribute("output_shape", ())[-len(size) :]
    if mode == "VALID" and not stated:
        return (0,) * (2 * len(kernel)), more
    if mode == "NOTSET" and not stated:
        return _stated(source), more
    wanted = stated or tuple(n * s for n, s in zip(size, strides, strict=True))
    if len(wanted) != len(size) or len(more) != len(size):
        raise Refusal(f"output_shape {wanted} and output_padding {more} of {len(size)} dimensions")
    behind: list[int] = []
    before: list[int] = []
    after: list[int] = []
    for axis, n in enumerate(size):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        total = strides[axis] * (n - 1) + more[axis] + reach - wanted[axis]
        behind.append(more[axis] + max(0, -total))
        total = max(0, total)
        small, large = total // 2, total - total // 2
        before.append(small if mode == "SAME_UPPER" else large)
        after.append(large if mode == "SAME_UPPER" else small)
    return (*before, *after), tuple(behind)


def _automatic(source: Source) -> str:
    mode = source.attribute("auto_pad", "NOTSET")
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise Refusal(f"auto_pad {mode!r} is none of NOTSET, VALID, SAME_UPPER and SAME_LOWER")
    return mode


def _stated(source: Source) -> Shape:
    count = 2 * (len(source.shape()) - 2)
    pads = source.attribute("pads", (0,) * count)
    if len(pads) != count or min(pads) < 0:
        raise Refusal(f"pads {pads} are not {count} that are not negative")
    return pads


def _groups(source: Source) -> int:
    groups = source.attribute("group", 1)
    if groups < 1:
        raise Refusal(f"its channels cannot be in {groups} groups")
    return groups
