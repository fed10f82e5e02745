"""Import the operators on images: convolution, pooling, resizing."""

from __future__ import annotations

import numpy as np

from tilewright import dtypes
from tilewright.graph.ir import Shape
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


def max_pool(source: Source) -> tuple[str]:
    """Import the first result, the greatest elements; nothing computes their places."""
    return (_pool(source, "max", source.integers("dilation"), 0),)


def average_pool(source: Source) -> str:
    if source.argument("divisor_override") is not None:
        raise Refusal("it divides by a number of its own")
    return _pool(source, "average", (1,), int(source.argument("count_include_pad", True)))


def _pool(source: Source, kind: str, gaps: Shape, counted: int) -> str:
    shape, ((out, _), *_) = source.shape(), source.results
    size = _dimensions(source)
    if len(shape) != size + 2:
        raise Refusal(f"it pools a tensor of shape {shape}, which is no batch of images")
    kernel = source.integers("kernel_size", size)
    strides = source.integers("stride", size) or kernel
    pads, dilations = source.integers("padding", size), gaps * (size if len(gaps) == 1 else 1)
    # What the last windows of ceil_mode reach beyond the padding.
    ends = ((o - 1) * s + (k - 1) * d + 1 for o, s, k, d in
            zip(out[2:], strides, kernel, dilations, strict=True))  # fmt: skip
    overhang = tuple(max(0, e - n - 2 * p) for e, n, p in zip(ends, shape[2:], pads, strict=True))
    return source.node(
        "pool_first", source.value(), kind=kind, kernel=kernel, strides=strides,
        pads=(*pads, *pads), dilations=dilations, overhang=overhang, count_include_pad=counted,
    )  # fmt: skip


def _dimensions(source: Source) -> int:
    """Return of how many dimensions the images are, which the operator's name says."""
    return int(next(c for c in reversed(source.operator) if c.isdigit()))


def adaptive_average_pool(source: Source) -> str:
    """Average to a size: over all, over windows of one size, or by products where they differ."""
    shape, ((out, dtype),) = source.shape(), source.results
    if len(shape) != 4:
        raise Refusal(f"it pools a tensor of shape {shape}, which is no batch of images")
    size, wanted = shape[2:], out[2:]
    if wanted == (1, 1):
        return source.node("reduce", source.value(), kind="mean", axes=(2, 3))
    if all(n % m == 0 for n, m in zip(size, wanted, strict=True)):
        kernel = tuple(n // m for n, m in zip(size, wanted, strict=True))
        return source.node(
            "pool_first", source.value(), kind="average", kernel=kernel, strides=kernel,
            pads=(0,) * 4, dilations=(1, 1), overhang=(0, 0), count_include_pad=0,
        )  # fmt: skip
    rows, columns = (
        source.literal(_shares(n, m).astype(dtypes.numpy(dtype)), "shares")
        for n, m in zip(size, wanted, strict=True)
    )
    made = source.node("matmul", source.value(), columns, transpose_a=0, transpose_b=1)
    return source.node("matmul", rows, made, transpose_a=0, transpose_b=0)


def _shares(n: int, m: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return how much of each of n elements each of m averages is, as PyTorch cuts windows."""
    made = np.zeros((m, n))
    for i in range(m):
        window = slice(i * n // m, -(-(i + 1) * n // m))
        made[i, window] = 1 / (window.stop - window.start)
    return made


def nearest(source: Source) -> str:
    return _resized(source, "nearest", "asymmetric")


def linear(source: Source) -> str:
    corners = source.argument("align_corners")
    return _resized(source, "linear", "align_corners" if corners else "half_pixel")


def _resized(source: Source, mode: str, coordinates: str) -> str:
    """Resize by the ratio of the sizes; PyTorch may be told of another, which is refused."""
    name = "input" if source.has("input") else "self"
    shape, ((out, _),) = source.shape(name), source.results
    factors = source.argument("scale_factors") or [
        source.argument(n) for n in ("scales", "scales_h", "scales_w") if source.has(n)
    ]
    for n, m, factor in zip(shape[2:], out[2:], factors, strict=False):
        if factor is not None and n * factor != m:
            raise Refusal(f"it makes {m} elements of {n} by the factor {factor}")
    return source.node(
        "resize", source.value(name), size=out, mode=mode, coordinates=coordinates,
        rounding="floor",
    )  # fmt: skip
