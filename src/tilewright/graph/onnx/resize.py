"""Import the resizing of images and others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step
from tilewright.ops.taps import Row


def resize(source: Source) -> str:
    """Resize-10 has scales alone; later ones a region, scales or sizes, and many attributes."""
    if source.count == 2 and "coordinate_transformation_mode" not in source.attributes:
        return _old(source, _floats(source, 1, "scales"))
    shape = source.shape()
    axes = source.axes(source.attribute("axes", tuple(range(len(shape)))), len(shape))
    size, scales = _asked(source, axes)
    coordinates = source.attribute("coordinate_transformation_mode", "half_pixel")
    regions: tuple[float, ...] = ()
    if coordinates == "tf_crop_and_resize":
        given = _floats(source, 1, "roi")
        if len(given) != 2 * len(axes):
            raise Refusal(f"its roi {given} does not hold two numbers for each of {len(axes)} axes")
        each = {axis: (given[i], given[i + len(axes)]) for i, axis in enumerate(axes)}
        every = [each.get(axis, (0.0, 1.0)) for axis in range(len(shape))]
        regions = (*(start for start, _ in every), *(end for _, end in every))
    mode = source.attribute("mode", "nearest")
    made = _resized(
        source, size, scales, mode, coordinates,
        source.attribute("nearest_mode", "round_prefer_floor"),
        regions=regions, cubic=source.attribute("cubic_coeff_a", -0.75),
        exclude_outside=source.attribute("exclude_outside", 0),
        antialias=source.attribute("antialias", 0),
        part="inside" if regions else "",
    )  # fmt: skip
    return _extrapolated(source, made, size, scales, regions) if regions else made


def upsample(source: Source) -> str:
    if source.has(1):
        return _old(source, _floats(source, 1, "scales"))
    stated = source.attribute("scales", (1.0,))
    if "scales" not in source.attributes:
        wide = (source.attribute("height_scale", 1.0), source.attribute("width_scale", 1.0))
        stated = (1.0, 1.0, *wide)
    return _old(source, stated)


def _old(source: Source, scales: Sequence[float]) -> str:
    """Resize as the old operators did: from the first corner, to the element below."""
    mode = {"bilinear": "linear"}.get(given := source.attribute("mode", "nearest"), given)
    shape = source.shape()
    if len(scales) != len(shape):
        raise Refusal(f"its scales {tuple(scales)} are not one for each of {len(shape)} axes")
    size = tuple(math.floor(n * scale) for n, scale in zip(shape, scales, strict=True))
    return _resized(source, size, tuple(scales), mode, "asymmetric", "floor")


def _asked(source: Source, axes: Shape) -> tuple[Shape, tuple[float, ...]]:
    """Return the size that is asked for, and the scales for which it is."""
    shape = source.shape()
    if source.has(2) and (scales := _floats(source, 2, "scales")):
        if len(scales) != len(axes):
            raise Refusal(f"its scales {scales} are not one for each of {len(axes)} axes")
        each = dict(zip(axes, scales, strict=True))
        every = tuple(each.get(axis, 1.0) for axis in range(len(shape)))
        return tuple(math.floor(n * scale) for n, scale in zip(shape, every, strict=True)), every
    sizes = source.integers(3, "sizes")
    if len(sizes) != len(axes):
        raise Refusal(f"its sizes {sizes} are not one for each of {len(axes)} axes")
    policy = source.attribute("keep_aspect_ratio_policy", "stretch")
    wanted = dict(zip(axes, sizes, strict=True))
    if policy == "stretch":
        return tuple(wanted.get(axis, n) for axis, n in enumerate(shape)), ()
    if policy not in ("not_larger", "not_smaller"):
        raise Refusal(f"keep_aspect_ratio_policy {policy!r} is none that there is")
    ratios = [wanted[axis] / shape[axis] for axis in axes]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    size = tuple(int(scale * n + 0.5) if axis in axes else n for axis, n in enumerate(shape))
    return size, tuple(scale if axis in axes else 1.0 for axis in range(len(shape)))


def _resized(
    source: Source, size: Shape, scales: tuple[float, ...], mode: str, coordinates: str,
    rounding: str, *, regions: tuple[float, ...] = (), cubic: float = -0.75,
    exclude_outside: int = 0, antialias: int = 0, part: str = "",
) -> str:  # fmt: skip
    if min(size, default=1) < 1:
        raise Refusal(f"it makes a tensor of shape {size}, which is empty")
    return source.node(
        "resize", source.value(), part=part, size=size, mode=mode, coordinates=coordinates,
        rounding=rounding, scales=scales, regions=regions, cubic=cubic,
        exclude_outside=exclude_outside, antialias=antialias,
    )  # fmt: skip


def _extrapolated(
    source: Source, made: str, size: Shape, scales: tuple[float, ...], regions: tuple[float, ...]
) -> str:
    """Put the extrapolation value where an element lies outside of the image."""
    shape, count = source.shape(), len(size)
    masks: list[Any] = []
    for d in range(count):
        row = Row(
            shape[d], size[d], "linear", "tf_crop_and_resize", "floor",
            scales[d] if scales else 0.0, region=(regions[d], regions[d + count]),
        )  # fmt: skip
        outside = np.array(row.outside())
        if outside.any():
            masks.append(outside.reshape([-1 if axis == d else 1 for axis in range(count)]))
    dtype = source.dtype()
    literal = Step("constant", (), (source.attribute("extrapolation_value", 0.0), dtype))
    program = Program(2, (literal, Step("select", (0, 2, 1))))
    for d, mask in enumerate(masks):
        last = d == len(masks) - 1
        given = source.literal(mask, f"outside{d}")
        made = source.map(program, given, made, part="" if last else f"filled{d}")
    return made


def _floats(source: Source, index: int, what: str) -> tuple[float, ...]:
    """Return the constant input `index`, a list of numbers."""
    array = source.constant(index, what)
    if array.dtype.kind != "f" or array.ndim > 1:
        raise Refusal(f"its {what} is {array.dtype} of shape {array.shape}, no numbers")
    return tuple(float(each) for each in np.atleast_1d(array))
