"""Import Fourier transforms of a known length: products with a matrix, of windows convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source

Array = np.ndarray[Any, Any]
MAX_MATRIX = 1 << 26  # numbers of the matrix that a transform is


def dft(source: Source) -> str:
    """Transform along an axis; complex numbers are pairs along the last one."""
    shape = source.shape()
    stated = source.attribute("axis", 1) if source.opset < 20 else -2
    if source.opset >= 20 and source.has(2):
        stated = int(source.number(2, "axis"))
    (axis,) = source.axes((stated,), len(shape))
    if len(shape) < 2 or axis == len(shape) - 1:
        raise Refusal(f"it goes along axis {axis} of {shape}, of which the last is of pairs")
    pairs, size = _pairs(shape), shape[axis]
    inverse, half = source.attribute("inverse", 0), source.attribute("onesided", 0)
    length = 2 * (size - 1) if inverse and half else size
    if source.has(1):
        length = int(source.number(1, "dft_length"))
    matrix, out = _matrix(_transform(length, bool(inverse), bool(half)), size, length, pairs)
    others = tuple(d for d in range(len(shape) - 1) if d != axis)
    perm = (*others, axis, len(shape) - 1)
    rest = tuple(shape[d] for d in others)
    moved = source.node("transpose", source.value(), perm=perm, part="last")
    rows = source.reshaped(moved, (*rest, size * pairs) if rest else (1, size * pairs), "rows")
    weights = source.literal(matrix.astype(source.dtype()), "waves")
    product = source.node("matmul", rows, weights, part="product", transpose_a=0, transpose_b=0)
    whole = source.reshaped(product, (*rest, *out), "pairs")
    back = tuple(perm.index(d) for d in range(len(shape)))
    return source.node("transpose", whole, perm=back)


def stft(source: Source) -> str:
    """Transform windows of a signal: a convolution whose filters are the waves."""
    shape = source.shape()
    if len(shape) != 3:
        raise Refusal(f"its signal has the shape {shape}, not of a batch, a length and pairs")
    batch, size, pairs = *shape[:2], _pairs(shape)
    step = int(source.number(1, "frame_step"))
    length = source.shape(2)[0] if source.has(2) else size
    if source.has(3):
        length = int(source.number(3, "frame_length"))
    if step < 1 or not 1 <= length <= size or (source.has(2) and source.shape(2) != (length,)):
        raise Refusal(f"it takes frames of {length}, {step} apart, of a signal of {size}")
    half = bool(source.attribute("onesided", 1))
    matrix, (count, _) = _matrix(_transform(length, False, half), length, length, pairs)
    filters = matrix.reshape(length, pairs, 2 * count).transpose(2, 1, 0)
    weights = source.literal(np.ascontiguousarray(filters, source.dtype()), "waves")
    if source.has(2):
        window = source.known(2)
        if window is not None:
            weights = source.literal((filters * window).astype(source.dtype()), "windowed")
        else:
            weights = source.map("mul", weights, source.value(2), part="windowed")
    signal = source.node("transpose", source.value(), perm=(0, 2, 1), part="signal")
    made = source.node(
        "conv_first", signal, weights, part="frames", strides=(step,), pads=(0, 0),
        dilations=(1,), groups=1,
    )  # fmt: skip
    frames = source.builder.shape(made)[2]
    split = source.node("reshape", made, part="pairs", shape=(batch, count, 2, frames))
    return source.node("transpose", split, perm=(0, 3, 1, 2))


def _pairs(shape: Shape) -> int:
    if shape[-1] not in (1, 2):
        raise Refusal(f"its input has the shape {shape}, whose last axis is not of 1 or 2 parts")
    return shape[-1]


def _transform(length: int, inverse: bool, half: bool) -> Callable[[Array], Array]:
    if not inverse:
        count = length // 2 + 1 if half else length
        return lambda rows: np.fft.fft(rows, length, axis=-1)[:, :count]
    return lambda rows: (np.fft.irfft if half else np.fft.ifft)(rows, length, axis=-1)


def _matrix(
    transform: Callable[[Array], Array], size: int, length: int, pairs: int
) -> tuple[Array, Shape]:
    """Return what a transform does to each part of each number, and the shape of a row of it."""
    if length < 1 or 4 * size * length > MAX_MATRIX:
        raise Refusal(f"a transform of {size} numbers to the length {length}: it is a matrix here")
    basis = np.eye(size)
    parts = [transform(basis * unit) for unit in (1.0, 1j)[:pairs]]
    made: Any = np.stack(parts, axis=1).reshape(size * pairs, -1)
    if not np.iscomplexobj(made):
        return made, (made.shape[1], 1)
    return np.stack([made.real, made.imag], -1).reshape(len(made), -1), (made.shape[1], 2)
