"""Import the operators that move elements, repeat them or rename their axes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tilewright.graph.ir import Shape
from tilewright.graph.torch.source import Refusal, Source

MAX_MOVED = 1 << 24  # elements whose places are told one by one


def reshape(source: Source) -> str:
    """Import whatever only renames axes: the result's shape says how."""
    ((shape, _),) = source.results
    return source.reshaped(source.value(), shape)


def restrided(source: Source) -> str:
    """Import what reads the memory of a tensor in another way, by where it lay when traced."""
    traced = source.raw("self").meta["val"]
    size, strides = source.integers("size"), source.integers("stride")
    offset = source.argument("storage_offset", traced.storage_offset())
    steps = zip(size, strides, traced.stride(), strict=False)
    alike = size == tuple(traced.shape) and offset == traced.storage_offset()
    if alike and all(n == 1 or stride == was for n, stride, was in steps):
        return source.value()
    if max(math.prod(size), traced.numel()) > MAX_MOVED:
        raise Refusal(f"it rearranges {traced.numel()} elements to {math.prod(size)}")
    lies = _memory(tuple(traced.shape), traced.stride(), traced.storage_offset())
    asked = _memory(size, strides, offset)
    places = np.full(max(int(lies.max()), int(asked.max())) + 1, -1)
    places[lies.reshape(-1)] = np.arange(lies.size)
    taken = places[asked]
    if taken.min() < 0:
        raise Refusal("it reads memory that is not its tensor's")
    flat = source.reshaped(source.value(), (traced.numel(),))
    return source.node("gather", flat, source.literal(taken, "taken"), axis=0)


def _memory(shape: Shape, strides: Shape, offset: int) -> NDArray[np.int64]:
    """Return where the elements of a tensor lie."""
    made = np.full(shape, offset, np.int64)
    for d, (n, stride) in enumerate(zip(shape, strides, strict=True)):
        made += (np.arange(n) * stride).reshape(-1, *(1,) * (len(shape) - d - 1))
    return made


def permute(source: Source) -> str:
    order = source.axes(source.integers("dims"), len(source.shape()))
    return source.node("transpose", source.value(), perm=order)


def swap(source: Source) -> str:
    """Swap two axes; those of a matrix if none are named."""
    rank = len(source.shape())
    if rank < 2:
        return source.value()
    a, b = (source.axis(n, rank) if source.has(n) else i for i, n in enumerate(("dim0", "dim1")))
    order = list(range(rank))
    order[a], order[b] = b, a
    return source.node("transpose", source.value(), perm=tuple(order))


def expand(source: Source) -> str:
    ((shape, _),) = source.results
    return source.repeated(source.value(), shape)


def repeat(source: Source) -> str:
    times, shape = source.integers("repeats"), source.shape()
    full = (1,) * (len(times) - len(shape)) + shape
    pairs = [e for n in full for e in (1, n)]
    whole = [e for t, n in zip(times, full, strict=True) for e in (t, n)]
    made = source.repeated(source.reshaped(source.value(), pairs), whole)
    return source.reshaped(made, [t * n for t, n in zip(times, full, strict=True)])


def cat(source: Source) -> str:
    """Join tensors; empty ones add nothing."""
    ((shape, dtype),) = source.results
    nodes = [n for n in source.raw("tensors") if 0 not in n.meta["val"].shape]
    values = [source.cast(source.of(node), dtype) for node in nodes]
    axis = source.axis("dim", len(shape))
    return values[0] if len(values) == 1 else source.node("concat", *values, axis=axis)


def slice_(source: Source) -> str:
    shape = source.shape()
    axis = source.axis("dim", len(shape))
    start, end = source.argument("start"), source.argument("end")
    kept = range(shape[axis])[start : end : source.argument("step", 1)]
    return cut(source, source.value(), axis, kept)


def cut(source: Source, value: str, axis: int, kept: range) -> str:
    """Return the elements at some indices of one axis."""
    shape = source.builder.shape(value)
    if kept == range(shape[axis]):
        return value
    if not kept:
        raise Refusal("it makes a tensor without elements")
    rank = len(shape)
    start = tuple(kept.start if d == axis else 0 for d in range(rank))
    count = tuple(len(kept) if d == axis else n for d, n in enumerate(shape))
    step = tuple(kept.step if d == axis and len(kept) > 1 else 1 for d in range(rank))
    return source.node("slice", value, start=start, count=count, step=step)


def select(source: Source) -> str:
    shape = source.shape()
    axis, index = source.axis("dim", len(shape)), source.argument("index", 0)
    index += shape[axis] if index < 0 else 0
    made = cut(source, source.value(), axis, range(index, index + 1))
    return source.reshaped(made, (*shape[:axis], *shape[axis + 1 :]))


def split(source: Source) -> tuple[str, ...]:
    """Cut into parts along an axis, as large as the results are."""
    axis, start = source.axis("dim", len(source.shape())), 0
    made: list[str] = []
    for shape, _ in source.results:
        made.append(cut(source, source.value(), axis, range(start, start + shape[axis])))
        start += shape[axis]
    return tuple(made)


def unbind(source: Source) -> tuple[str, ...]:
    axis = source.axis("dim", len(source.shape()))
    parts = (
        cut(source, source.value(), axis, range(i, i + 1)) for i, _ in enumerate(source.results)
    )
    return tuple(source.reshaped(p, s) for p, (s, _) in zip(parts, source.results, strict=True))


def flip(source: Source) -> str:
    made, shape = source.value(), source.shape()
    for axis in source.axes(source.integers("dims"), len(shape)):
        made = cut(source, made, axis, range(shape[axis])[::-1])
    return made


def pad(source: Source) -> str:
    """Add elements around; numbers below zero take some away first."""
    return _padded(source, source.integers("pad"), "constant", source.argument("value", 0))


def reflect(source: Source) -> str:
    return _padded(source, source.integers("padding"), "reflect", 0)


def replicate(source: Source) -> str:
    return _padded(source, source.integers("padding"), "edge", 0)


def _padded(source: Source, pads: tuple[int, ...], mode: str, value: float) -> str:
    """Pad from the last axis on: two numbers for each."""
    made, shape = source.value(), source.shape()
    before, behind = [0] * len(shape), [0] * len(shape)
    for i in range(len(pads) // 2):
        axis = len(shape) - 1 - i
        first, last = pads[2 * i : 2 * i + 2]
        kept = range(shape[axis])[max(0, -first) : shape[axis] - max(0, -last)]
        made = cut(source, made, axis, kept)
        before[axis], behind[axis] = max(0, first), max(0, last)
    if not any(before) and not any(behind):
        return made
    return source.node(
        "pad", made, mode=mode, before=tuple(before), behind=tuple(behind), value=value
    )


def slice_scatter(source: Source) -> str:
    """Put a tensor in the place of a slice: what is before, it, and what is behind."""
    shape = source.shape()
    axis, n = source.axis("dim", len(shape)), shape[source.axis("dim", len(shape))]
    kept = range(n)[source.argument("start") : source.argument("end") : source.argument("step", 1)]
    if kept.step != 1:
        return _interleaved(source, axis, kept)
    return _replaced(source, source.value("src"), axis, kept)


def _interleaved(source: Source, axis: int, kept: range) -> str:
    """Replace every so manieth element along an axis."""
    shape, dtype = source.shape(), source.dtype()
    here, taken = np.zeros(shape[axis], bool), np.zeros(shape[axis], np.int64)
    here[kept], taken[kept] = True, np.arange(len(kept))
    src = source.cast(source.value("src"), dtype)
    new = source.node("gather", src, source.literal(taken, "taken"), axis=axis)
    spread = here.reshape(-1, *(1,) * (len(shape) - axis - 1))
    return source.map("select", source.literal(spread, "here"), new, source.value())


def select_scatter(source: Source) -> str:
    shape = source.shape()
    axis, at = source.axis("dim", len(shape)), source.argument("index", 0)
    at += shape[axis] if at < 0 else 0
    full = (*shape[:axis], 1, *shape[axis + 1 :])
    return _replaced(source, source.reshaped(source.value("src"), full), axis, range(at, at + 1))


def _replaced(source: Source, src: str, axis: int, kept: range) -> str:
    n = source.shape()[axis]
    parts = [
        cut(source, source.value(), axis, around)
        for around in (range(kept.start), range(kept.stop, n))
        if around
    ]
    parts.insert(1 if kept.start else 0, source.cast(src, source.dtype()))
    return parts[0] if len(parts) == 1 else source.node("concat", *parts, axis=axis)
