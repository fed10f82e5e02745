"""Import the reading of images between their pixels."""

from __future__ import annotations

import numpy as np

from tilewright.graph.onnx.source import Refusal, Source

_MODES = {"bilinear": "linear", "bicubic": "cubic"}


def grid_sample(source: Source) -> str:
    mode = source.attribute("mode", "linear")
    return source.node(
        "grid_sample",
        source.value(),
        source.value(1),
        mode=_MODES.get(mode, mode),
        padding=source.attribute("padding_mode", "zeros"),
        corners=source.attribute("align_corners", 0),
    )


def affine_grid(source: Source) -> str:
    """Move a grid of places by an affine map: products with the grid as it is."""
    theta, size = source.shape(), source.integers(1, "size")
    count = len(size) - 2
    if theta != (size[0], count, count + 1) or count not in (2, 3):
        raise Refusal(f"its map has the shape {theta}, for images of shape {size}")
    corners = source.attribute("align_corners", 0)
    lines = [np.linspace(-1, 1, n) if corners else (2 * np.arange(n) + 1) / n - 1 for n in size[2:]]
    grid = np.meshgrid(*lines, indexing="ij")[::-1]
    places = np.stack([*grid, np.ones(size[2:])], -1).reshape(1, -1, count + 1)
    literal = source.literal(places.astype(source.dtype()), "places")
    made = source.node(
        "matmul", literal, source.value(), part="moved", transpose_a=0, transpose_b=1
    )
    return source.node("reshape", made, shape=(size[0], *size[2:], count))


def roi_align(source: Source) -> str:
    samples = source.attribute("sampling_ratio", 0)
    if samples < 1:
        raise Refusal("its sampling_ratio is 0: how many samples it takes depends on its boxes")
    coordinates = source.attribute("coordinate_transformation_mode", _default(source))
    return source.node(
        "roi_align",
        source.value(),
        source.value(1),
        source.value(2),
        out=(source.attribute("output_height", 1), source.attribute("output_width", 1)),
        samples=samples,
        scale=source.attribute("spatial_scale", 1.0),
        kind="max" if source.attribute("mode", "avg") == "max" else "average",
        half=int(coordinates == "half_pixel"),
    )


def _default(source: Source) -> str:
    """Return what boxes meant before there was an attribute that says it."""
    return "half_pixel" if source.opset >= 16 else "output_half_pixel"
