"""Import the operators on images: convolution, pooling, resizing."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from tilewright import dtypes
from tilewright.graph.ir import Attribute, Shape
from tilewright.graph.torch.pointwise import Importer
from tilewright.graph.torch.source import Refusal, Source


def convolution(source: Source) -> str:
    """Import a convolution or its transpose, with its bias."""
    shape, weights = source.shape("input"), source.shape("weight")
    size = len(weights) - 2
    if len(shape) != len(weights) or not 1 <= size <= 3:
        raise Refusal(f"it convolves a tensor of shape {shape} by one of {weights}")
    strides, pads, dilations = (
        source.integers(name, size) for name in ("stride", "padding", "dilation")
    )
    window = {"strides": strides, "pads": (*pads, *pads), "dilations": dilations}
    given = source.value("input"), source.value("weight")
    groups = source.argument("groups")
    if source.argument("transposed"):
        more = source.integers("output_padding", size)
        made = source.node(
            "transposed_conv_first", *given, groups=groups, output_padding=more, **window
        )
    else:
        made = source.node("conv_first", *given, groups=groups, **window)
    if not source.has("bias"):
        return made
    return source.map("add", made, per_channel(source, "bias", size))


def per_channel(source: Source, name: str, size: int) -> str:
    """Return a tensor of one element a channel so that it is repeated over an image."""
    return source.reshaped(source.value(name), (*source.shape(name), *(1,) * size))


def max_pool(source: Source) -> tuple[str, str]:
    """Import the greatest elements, and their places in each image, seen flat."""
    return _greatest(source, _windows(source, source.integers("dilation")))


def _greatest(source: Source, windows: Mapping[str, Attribute]) -> tuple[str, str]:
    value, ((out, _), _) = _batch(source), source.results
    made = source.node("pool_first", value, kind="max", **windows)
    places = source.node("pool_places", value, columns=0, **windows)
    size = source.number(math.prod(source.builder.shape(value)[2:]), "int64", "size")
    return source.reshaped(made, out), source.reshaped(source.map("mod", places, size), out)


def _batch(source: Source) -> str:
    """Return the images that are pooled; one by itself is a batch of one."""
    shape, count = source.shape(), _dimensions(source)
    if len(shape) not in (count + 1, count + 2):
        raise Refusal(f"it pools a tensor of shape {shape}, which is no batch of images")
    return source.reshaped(source.value(), (1,) * (count + 2 - len(shape)) + shape)


def adaptive_max_pool(source: Source) -> tuple[str, str]:
    """Import the greatest elements of windows of one size."""
    windows = _even(source)
    if windows is None:
        raise Refusal(f"it makes {source.results[0][0]} of {source.shape()} by windows that differ")
    return _greatest(source, windows)


def average_pool(source: Source) -> str:
    windows = _windows(source, (1,))
    divisor = source.argument("divisor_override")
    windows["count_include_pad"] = int(source.argument("count_include_pad", True))
    kind = "average" if divisor is None else "sum"
    made = source.node("pool_first", _batch(source), kind=kind, **windows)
    made = source.reshaped(made, source.results[0][0])
    if divisor is None:
        return made
    return source.map("div", made, source.number(divisor, source.dtype(), "divisor"))


def _windows(source: Source, gaps: Shape) -> dict[str, Attribute]:
    size = _dimensions(source)
    shape, out = source.shape()[-size:], source.results[0][0][-size:]
    kernel = source.integers("kernel_size", size)
    strides = source.integers("stride", size) or kernel
    pads, dilations = source.integers("padding", size), gaps * (size if len(gaps) == 1 else 1)
    # What the last windows of ceil_mode reach beyond the padding.
    ends = ((o - 1) * s + (k - 1) * d + 1 for o, s, k, d in
            zip(out, strides, kernel, dilations, strict=True))  # fmt: skip
    overhang = tuple(max(0, e - n - 2 * p) for e, n, p in zip(ends, shape, pads, strict=True))
    return {
        "kernel": kernel, "strides": strides, "pads": (*pads, *pads), "dilations": dilations,
        "overhang": overhang, "count_include_pad": 0,
    }  # fmt: skip


def _dimensions(source: Source) -> int:
    """Return of how many dimensions the images are, which the operator's name says."""
    return int(next(c for c in reversed(source.operator) if c.isdigit()))


def adaptive_average_pool(source: Source) -> str:
    """Average to a size: over all, over windows of one size, or by products where they differ."""
    windows, shape, ((out, dtype),) = _even(source), source.shape(), source.results
    size, wanted = shape[2:], out[2:]
    if max(wanted) == 1:
        return source.node("reduce", source.value(), kind="mean", axes=tuple(range(2, len(shape))))
    if windows is not None:
        return source.node("pool_first", source.value(), kind="average", **windows)
    if len(size) != 2:
        raise Refusal(f"it makes {out} of {shape} by windows that differ")
    rows, columns = (
        source.literal(_shares(n, m).astype(dtypes.numpy(dtype)), "shares")
        for n, m in zip(size, wanted, strict=True)
    )
    made = source.node("matmul", source.value(), columns, transpose_a=0, transpose_b=1)
    return source.node("matmul", rows, made, transpose_a=0, transpose_b=0)


def _even(source: Source) -> dict[str, Attribute] | None:
    """Return the windows of one size that make a size of another; None if they differ."""
    shape, (out, _) = source.shape(), source.results[0]
    count = _dimensions(source)
    if len(shape) != count + 2:
        raise Refusal(f"it pools a tensor of shape {shape}, which is no batch of images")
    if any(n % m for n, m in zip(shape[2:], out[2:], strict=True)):
        return None
    kernel = tuple(n // m for n, m in zip(shape[2:], out[2:], strict=True))
    return {
        "kernel": kernel, "strides": kernel, "pads": (0,) * 2 * count, "dilations": (1,) * count,
        "overhang": (0,) * count, "count_include_pad": 0,
    }  # fmt: skip


def _shares(n: int, m: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return how much of each of n elements each of m averages is, as PyTorch cuts windows."""
    made = np.zeros((m, n))
    for i in range(m):
        window = slice(i * n // m, -(-(i + 1) * n // m))
        made[i, window] = 1 / (window.stop - window.start)
    return made


def nearest(source: Source) -> str:
    return _resized(source, "nearest", "asymmetric", "floor")


def nearest_exact(source: Source) -> str:
    return _resized(source, "nearest", "half_pixel", "round_prefer_ceil")


def between(mode: str, antialias: int = 0) -> Importer:
    """Return the importer of a resizing that reads between elements; `mode` is ours."""

    def imported(source: Source) -> str:
        corners = "align_corners" if source.argument("align_corners") else "half_pixel"
        cubic = -0.5 if antialias else -0.75
        return _resized(source, mode, corners, "floor", antialias=antialias, cubic=cubic)

    return imported


def grid_sample(source: Source) -> str:
    """Read an image between its pixels, at places that are data."""
    modes, paddings = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
    return source.node(
        "grid_sample", source.value("input"), source.value("grid"),
        mode=modes[source.argument("interpolation_mode")],
        padding=paddings[source.argument("padding_mode")],
        corners=int(source.argument("align_corners")),
    )  # fmt: skip


def _resized(source: Source, mode: str, coordinates: str, rounding: str, *, cubic: float = 0.0,
    antialias: int = 0) -> str:  # fmt: skip
    """Resize by the ratio of the sizes; PyTorch may be told of another, which is refused."""
    name = "input" if source.has("input") else "self"
    shape, ((out, _),) = source.shape(name), source.results
    factors = source.argument("scale_factors") or [
        source.argument(n) for n in ("scales", "scales_d", "scales_h", "scales_w") if source.has(n)
    ]
    for n, m, factor in zip(shape[2:], out[2:], factors, strict=False):
        if factor is not None and n * factor != m:
            raise Refusal(f"it makes {m} elements of {n} by the factor {factor}")
    return source.node(
        "resize", source.value(name), size=out, mode=mode, coordinates=coordinates,
        rounding=rounding, scales=(), regions=(), cubic=cubic,
        exclude_outside=antialias, antialias=antialias,
    )  # fmt: skip
