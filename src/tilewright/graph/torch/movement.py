"""Import the operators that move elements, repeat them or rename their axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from torch import fx

from tilewright.graph.torch.source import Refusal, Source


def reshape(source: Source) -> str:
    """Import whatever only renames axes: the result's shape says how."""
    ((shape, _),) = source.results
    return source.reshaped(source.value(), shape)


def restrided(source: Source) -> str:
    """Import what only says how axes of one element are stepped along."""
    traced = source.raw("self").meta["val"]
    size, strides = source.integers("size"), source.integers("stride")
    offset = source.argument("storage_offset", traced.storage_offset())
    steps = zip(size, strides, traced.stride(), strict=False)
    if size != tuple(traced.shape) or offset != traced.storage_offset():
        raise Refusal("it depends on where PyTorch puts its elements")
    if any(n > 1 and stride != was for n, stride, was in steps):
        raise Refusal("it depends on where PyTorch puts its elements")
    return source.value()


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
    """Join tensors; empty ones of one axis add nothing, as PyTorch has it."""
    ((shape, dtype),) = source.results
    nodes = [n for n in source.raw("tensors") if tuple(n.meta["val"].shape) != (0,)]
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


def embedding(source: Source) -> str:
    return source.node("gather", source.value("weight"), source.value("indices"), axis=0)


def index_select(source: Source) -> str:
    axis = source.axis("dim", len(source.shape()))
    return source.node("gather", source.value(), source.value("index"), axis=axis)


def gather(source: Source) -> str:
    axis = source.axis("dim", len(source.shape()))
    return source.node("gather_elements", source.value(), source.value("index"), axis=axis)


def index(source: Source) -> str:
    """Index axes that lie together: one by any integers, or several by known ones."""
    indices: list[Any] = list(source.raw("indices"))
    shape = source.shape()
    at = [d for d, i in enumerate(indices) if i is not None]
    first, last = at[0], at[-1]
    if at != list(range(first, last + 1)):
        raise Refusal("it indexes axes that do not lie together")
    if len(at) == 1 and source.builder.dtype(source.of(indices[first])) != "bool":
        return source.node("gather", source.value(), source.of(indices[first]), axis=first)
    known = [_known(source, indices[d], shape[d]) for d in at]
    places = np.ravel_multi_index(tuple(np.broadcast_arrays(*known)), shape[first : last + 1])
    joined = math.prod(shape[first : last + 1])
    flat = source.reshaped(source.value(), (*shape[:first], joined, *shape[last + 1 :]))
    return source.node("gather", flat, source.literal(places.astype(np.int64), "at"), axis=first)


def _known(source: Source, node: Any, extent: int) -> np.ndarray[Any, Any]:
    array = source.constant(node) if isinstance(node, fx.Node) else None
    if array is None or array.dtype.kind not in "iu":
        raise Refusal("it indexes several axes by what is computed, or by truths")
    return np.where(array < 0, array + extent, array)


def slice_scatter(source: Source) -> str:
    """Put a tensor in the place of a slice: what is before, it, and what is behind."""
    shape = source.shape()
    axis, n = source.axis("dim", len(shape)), shape[source.axis("dim", len(shape))]
    kept = range(n)[source.argument("start") : source.argument("end") : source.argument("step", 1)]
    if kept.step != 1:
        raise Refusal(f"it replaces every {kept.step}th element")
    return _replaced(source, source.value("src"), axis, kept)


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
