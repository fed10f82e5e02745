"""Import the operators that move blocks of pixels to channels and back, and cut images out."""

from __future__ import annotations

from tilewright.graph.onnx.images import image
from tilewright.graph.onnx.source import Refusal, Source


def depth_to_space(source: Source) -> str:
    (n, c, h, w), b = _plane(source), source.attribute("blocksize", 1)
    mode = source.attribute("mode", "DCR")
    if b < 1 or c % b**2 or mode not in ("DCR", "CRD"):
        raise Refusal(f"blocks of {b} in mode {mode!r} of {c} channels")
    depth = c // b**2
    if mode == "DCR":
        split, order = (n, b, b, depth, h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, order = (n, depth, b, b, h, w), (0, 1, 4, 2, 5, 3)
    parts = source.reshaped(source.value(), split, part="split")
    moved = source.node("transpose", parts, part="moved", perm=order)
    return source.node("reshape", moved, shape=(n, depth, h * b, w * b))


def space_to_depth(source: Source) -> str:
    (n, c, h, w), b = _plane(source), source.attribute("blocksize", 1)
    mode = source.attribute("mode", "DCR")
    if b < 1 or h % b or w % b or mode not in ("DCR", "CRD"):
        raise Refusal(f"blocks of {b} in mode {mode!r} of an image of {h} x {w}")
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    parts = source.reshaped(source.value(), (n, c, h // b, b, w // b, b), part="split")
    moved = source.node("transpose", parts, part="moved", perm=order)
    return source.node("reshape", moved, shape=(n, c * b * b, h // b, w // b))


def center_crop_pad(source: Source) -> str:
    """Cut the middle out of long axes, and put short ones into the middle of zeros."""
    shape, wanted = source.shape(), source.integers(1, "shape")
    axes = source.axes(source.attribute("axes", tuple(range(len(shape)))), len(shape))
    if len(wanted) != len(axes) or min(wanted, default=1) < 1:
        raise Refusal(f"its shape {wanted} does not say how long each of {len(axes)} axes is")
    target = list(shape)
    for axis, extent in zip(axes, wanted, strict=True):
        target[axis] = extent
    count = tuple(min(a, b) for a, b in zip(shape, target, strict=True))
    start = tuple((a - b) // 2 for a, b in zip(shape, count, strict=True))
    before = tuple((b - a) // 2 for a, b in zip(count, target, strict=True))
    behind = tuple(b - a - f for a, b, f in zip(count, target, before, strict=True))
    made = source.value()
    if count != shape:
        part = "cut" if any((*before, *behind)) else ""
        step = (1,) * len(shape)
        made = source.node("slice", made, part=part, start=start, count=count, step=step)
    if not any((*before, *behind)):
        return made
    return source.node("pad", made, before=before, behind=behind, mode="constant", value=0.0)


def _plane(source: Source) -> tuple[int, int, int, int]:
    n, c, *size = image(source)
    if len(size) != 2:
        raise Refusal(f"its input has the shape {source.shape()}, which is no plane image")
    return n, c, size[0], size[1]
