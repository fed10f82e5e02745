"""Import pooling, over windows and over whole images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.images import each, image, pads_of
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step


def max_pool(source: Source) -> str | tuple[str, ...]:
    windows = _windows(source)
    if len(source.outputs) < 2 or not source.outputs[1]:
        return _pooled(source, source.value(), "max", windows)
    made = _pooled(source, source.value(), "max", windows)
    columns = source.attribute("storage_order", 0)
    places = source.node("pool_places", source.value(), part="places", columns=columns, **windows)
    return made, places


def max_unpool(source: Source) -> str:
    """Put elements back to where a pooling found them, among zeros."""
    shape = image(source)
    if source.shape(1) != shape:
        raise Refusal(f"places of shape {source.shape(1)} of elements of shape {shape}")
    kernel, strides = each(source, "kernel_shape"), each(source, "strides")
    count, pads = len(kernel), source.attribute("pads", (0,) * 2 * len(kernel))
    size = tuple(
        (n - 1) * strides[d] + kernel[d] - pads[d] - pads[d + count]
        for d, n in enumerate(shape[2:])
    )
    pooled = (*shape[:2], *size)
    wanted = source.integers(2, "output shape") if source.has(2) else pooled
    behind = tuple(b - a for a, b in zip(pooled, wanted, strict=False))
    if min(size) < 1 or len(wanted) != len(pooled) or min(behind) < 0:
        raise Refusal(f"an output of shape {wanted}, less than the {pooled} that was pooled")
    zeros = source.literal(np.zeros(math.prod(pooled), source.dtype()), "zeros")
    flat = (math.prod(shape),)
    places = source.reshaped(source.value(1), flat, part="places")
    given = source.reshaped(source.value(), flat, part="given")
    made = source.node("scatter_elements", zeros, places, given, part="flat", axis=0, kind="none")
    part = "pooled" if any(behind) else ""
    made = source.node("reshape", made, part=part, shape=pooled)
    if not part:
        return made
    before = (0,) * len(pooled)
    return source.node("pad", made, before=before, behind=behind, mode="constant", value=0.0)


def average_pool(source: Source) -> str:
    counted = source.attribute("count_include_pad", 0)
    return _pooled(source, source.value(), "average", _windows(source), counted)


def lp_pool(source: Source) -> str:
    """Sums of powers, and their root."""
    power, windows = float(source.attribute("p", 2)), _windows(source)
    powers = source.map(power_of(power, source.dtype()), source.value(), part="powers")
    total = _pooled(source, powers, "sum", windows, part="total")
    return source.map(root_of(power, source.dtype()), total)


def global_max_pool(source: Source) -> str:
    return _over_image(source, source.value(), "max")


def global_average_pool(source: Source) -> str:
    return _over_image(source, source.value(), "mean")


def global_lp_pool(source: Source) -> str:
    power = float(source.attribute("p", 2))
    powers = source.map(power_of(power, source.dtype()), source.value(), part="powers")
    return source.map(root_of(power, source.dtype()), _over_image(source, powers, "sum", "total"))


def power_of(power: float, dtype: str) -> Program:
    """Return the program of |x| to a power."""
    if power == 1:
        return Program.of("abs")
    if power == 2:
        return Program(1, (Step("mul", (0, 0)),))
    return Program(
        1, (Step("abs", (0,)), Step("constant", (), (power, dtype)), Step("pow", (1, 2)))
    )


def root_of(power: float, dtype: str) -> Program:
    """Return the program of x to one over a power, for x of at least 0."""
    if power == 1:
        return Program.of("identity")
    if power == 2:
        return Program.of("sqrt")
    return Program(1, (Step("constant", (), (1 / power, dtype)), Step("pow", (0, 1))))


def _over_image(source: Source, value: str, kind: str, part: str = "") -> str:
    rank = len(image(source, most=None))
    return source.node("reduce", value, part=part, kind=kind, axes=tuple(range(2, rank)))


def _pooled(
    source: Source, value: str, kind: str, windows: dict[str, Shape], counted: int = 0,
    part: str = "",
) -> str:  # fmt: skip
    given: dict[str, Any] = {"kind": kind, "count_include_pad": counted, **windows}
    return source.node("pool_first", value, part=part, **given)


def _windows(source: Source) -> Any:
    """Return the attributes that say where the windows are."""
    size = image(source)[2:]
    kernel, strides, dilations = (
        each(source, name) for name in ("kernel_shape", "strides", "dilations")
    )
    pads, overhang = pads_of(source, kernel, strides, dilations), (0,) * len(size)
    if source.attribute("ceil_mode", 0) and source.attribute("auto_pad", "NOTSET") == "NOTSET":
        overhang = _overhang(size, kernel, strides, pads, dilations)
    reach = [d * (taps - 1) + 1 for taps, d in zip(kernel, dilations, strict=True)]
    if any(pad >= taps for pad, taps in zip(pads, (*reach, *reach), strict=True)):
        raise Refusal(f"pads {pads} as large as the window {kernel}")
    return {
        "kernel": kernel,
        "strides": strides,
        "pads": pads,
        "dilations": dilations,
        "overhang": overhang,
    }


def _overhang(
    size: Shape, kernel: Shape, strides: Shape, pads: Shape, dilations: Shape
) -> tuple[int, ...]:
    """Return the further padding behind for the last windows that ceil_mode asks for.

    A window that would begin behind the image and its leading padding is left out.
    """
    more: list[int] = []
    for axis in range(len(size)):
        reach = dilations[axis] * (kernel[axis] - 1) + 1
        padded = size[axis] + pads[axis] + pads[axis + len(size)]
        last = math.ceil((padded - reach) / strides[axis])
        if last * strides[axis] >= size[axis] + pads[axis]:
            last -= 1
        more.append(max(0, last * strides[axis] + reach - padded))
    return tuple(more)
