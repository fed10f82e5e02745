"""Import convolutions that read each pixel where data say, deformable ones."""

from __future__ import annotations

import math

import numpy as np

from tilewright.graph.onnx.images import each, image, pads_of, per_channel
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Draft


def deform_conv(source: Source) -> str:
    """Read an image at every tap of every place, weigh that, and multiply with the filters."""
    batch, channels, *size = image(source)
    weights, offset = source.shape(1), source.shape(2)
    kernel, taps, dims = weights[2:], math.prod(weights[2:]), len(size)
    parts, groups = source.attribute("offset_group", 1), source.attribute("group", 1)
    out = offset[2:]
    fits = len(kernel) == dims == len(out) and offset[:2] == (batch, parts * taps * dims)
    if dims > 2 or not fits or channels % parts or channels != weights[1] * groups:
        raise Refusal(
            f"offsets of shape {offset} in {parts} groups, filters of shape {weights} in {groups} "
            f"and an image of shape {source.shape()} do not fit, or have more than two dimensions"
        )
    grid = _grid(source, (batch * parts, taps, dims, *out), kernel, tuple(size))
    groups_first = (batch * parts, channels // parts, *size)
    read = source.node(
        "grid_sample", source.reshaped(source.value(), groups_first, "parts"), grid, part="read",
        mode="linear", padding="zeros", corners=0,
    )  # fmt: skip
    if source.has(4):
        read = source.reshaped(read, (batch, parts, channels // parts, taps, *out), "taps")
        mask = source.reshaped(source.value(4), (batch, parts, 1, taps, *out), "mask")
        read = source.map("mul", read, mask, part="weighed")
    columns = source.reshaped(read, (batch, channels * taps, *out), "columns")
    filters = source.reshaped(
        source.value(1), (weights[0], weights[1] * taps, *(1,) * dims), "filters"
    )
    ones = (1,) * dims
    made = source.node(
        "conv_first", columns, filters, part="sums" if source.has(3) else "", strides=ones,
        pads=(0,) * 2 * dims, dilations=ones, groups=groups,
    )  # fmt: skip
    return source.map("add", made, per_channel(source, 3)) if source.has(3) else made


def _grid(
    source: Source, shape: tuple[int, ...], kernel: tuple[int, ...], size: tuple[int, ...]
) -> str:
    """Return the places of taps, as a grid for `grid_sample`: the last dimension first."""
    count, taps, dims, *out = shape
    strides, dilations = each(source, "strides"), each(source, "dilations")
    pads = pads_of(source, kernel, strides, dilations)
    places = np.zeros((taps, dims, *out))
    for d in range(dims):
        tap = np.indices(kernel)[d].reshape(taps, *(1,) * dims) * dilations[d]
        places[:, d] = np.indices(out)[d] * strides[d] - pads[d] + tap
    across = (dims, *(1,) * dims)
    scale = np.reshape([2.0 / n for n in size], across)
    shift = np.reshape([1.0 / n - 1.0 for n in size], across)
    draft = Draft(3)
    draft("add", draft("mul", 0, 1), 2)
    dtype = source.dtype(2)
    made = source.map(
        draft.program,
        source.reshaped(source.value(2), shape, "offsets"),
        source.literal(scale.astype(dtype), "scale"),
        source.literal((places * scale + shift).astype(dtype), "places"),
        part="moved",
    )
    axes = tuple(range(3, 3 + dims))
    turned = source.node("transpose", made, perm=(0, 1, *axes, 2), part="turned")
    whole = (count, taps * out[0], *out[1:], dims)
    flat, zero = source.reshaped(turned, whole, "grid"), (0,) * (1 + dims)
    return source.node(
        "slice", flat, part="reversed", start=(*zero, dims - 1), count=whole,
        step=(*(1 for _ in zero), -1),
    )  # fmt: skip
