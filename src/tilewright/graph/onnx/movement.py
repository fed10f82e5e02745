"""Import the operators that move elements or rename their axes."""

from __future__ import annotations

import math

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source


def reshape(source: Source) -> str:
    shape = source.shape()
    asked = list(source.integers(1, "shape"))
    if asked.count(-1) > 1 or min(asked, default=0) < -1:
        raise Refusal(f"it asks for the shape {tuple(asked)}, where at most one extent may be -1")
    if not source.attribute("allowzero", 0):
        asked = [shape[i] if e == 0 and i < len(shape) else e for i, e in enumerate(asked)]
    if -1 in asked:
        rest = -math.prod(asked)
        asked[asked.index(-1)] = math.prod(shape) // rest if rest > 0 else 0
    return _reshape(source, tuple(asked))


def flatten(source: Source) -> str:
    shape = source.shape()
    axis = source.attribute("axis", 1)
    axis += len(shape) if axis < 0 else 0
    if not 0 <= axis <= len(shape):
        raise Refusal(f"its axis {source.attribute('axis', 1)} is none of shape {shape}")
    return _reshape(source, (math.prod(shape[:axis]), math.prod(shape[axis:])))


def squeeze(source: Source) -> str:
    shape = source.shape()
    axes = source.numbers("axes", 1)
    gone = {i for i, e in enumerate(shape) if e == 1}
    if axes is not None:
        asked = set(source.axes(axes, len(shape)))
        if not asked <= gone:
            raise Refusal(f"it removes axes {axes} of a tensor of shape {shape}")
        gone = asked
    return _reshape(source, tuple(e for i, e in enumerate(shape) if i not in gone))


def unsqueeze(source: Source) -> str:
    shape = list(source.shape())
    axes = source.numbers("axes", 1) or ()
    for axis in sorted(source.axes(axes, len(shape) + len(axes))):
        shape.insert(axis, 1)
    return _reshape(source, tuple(shape))


def gather(source: Source) -> str:
    (axis,) = source.axes([source.attribute("axis", 0)], len(source.shape()))
    return source.node("gather", source.value(), source.value(1), axis=axis)


def transpose(source: Source) -> str:
    reverse = tuple(reversed(range(len(source.shape()))))
    return source.node("transpose", source.value(), perm=source.attribute("perm", reverse))


def _reshape(source: Source, shape: Shape) -> str:
    return source.node("reshape", source.value(), shape=shape)
