"""Import the operators that read and write at indices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import fx

from tilewright.graph.ir import Shape
from tilewright.graph.torch.movement import cut
from tilewright.graph.torch.pointwise import Importer
from tilewright.graph.torch.source import Refusal, Source

LONG = 2048  # places of which each element is compared with every one

_KINDS = {
    "": "none", "add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max",
    "amin": "min",
}  # fmt: skip


def embedding(source: Source) -> str:
    return source.node("gather", source.value("weight"), source.value("indices"), axis=0)


def index_select(source: Source) -> str:
    axis = source.axis("dim", len(source.shape()))
    return source.node("gather", source.value(), source.value("index"), axis=axis)


def gather(source: Source) -> str:
    axis = source.axis("dim", len(source.shape()))
    return source.node("gather_elements", source.value(), source.value("index"), axis=axis)


def unfold(source: Source) -> str:
    """Take a window every so many elements of an axis; what is in it gets an axis at the end."""
    shape, size = source.shape(), source.argument("size")
    axis, step = source.axis("dimension", len(shape)), source.argument("step")
    starts = np.arange(0, shape[axis] - size + 1, step)
    taken = source.literal(starts[:, None] + np.arange(size), "taken")
    made = source.node("gather", source.value(), taken, axis=axis)
    rank = len(shape) + 1
    return _turned(source, made, (*(d for d in range(rank) if d != axis + 1), axis + 1))


def diagonal(source: Source) -> str:
    """Take the elements at equal places of two axes, which give way to one at the end."""
    shape, offset = source.shape(), source.argument("offset", 0)
    first, second = source.axes([source.argument(n, i) for i, n in enumerate(("dim1", "dim2"))],
                                len(shape))  # fmt: skip
    n, m = shape[first], shape[second]
    rows = np.arange(max(0, -offset), min(n, m - offset))
    rest = tuple(d for d in range(len(shape)) if d not in (first, second))
    value = _turned(source, source.value(), (*rest, first, second))
    value = source.reshaped(value, (*(shape[d] for d in rest), n * m))
    taken = source.literal(rows * m + rows + offset, "taken")
    return source.node("gather", value, taken, axis=len(rest))


def scatter(kind: str = "") -> Importer:
    """Return the importer of writing elements along an axis; an argument may say another kind."""

    def imported(source: Source) -> str:
        shape, places = source.shape(), source.shape("index")
        how = source.argument("reduce", kind)
        if how not in _KINDS or not source.argument("include_self", True):
            raise Refusal(f"it combines by {how}, or without what was there")
        if not shape or not places:
            raise Refusal("it writes to a single element")
        axis, dtype = source.axis("dim", len(shape)), source.dtype()
        _few(places[axis])
        if source.has("src"):
            given = source.cast(source.value("src"), dtype)
            for d, n in enumerate(places):
                given = cut(source, given, d, range(n))
        else:
            given = source.repeated(source.operand("value", dtype), places)
        return source.node(
            "scatter_elements", source.value(), source.value("index"), given, axis=axis,
            kind=_KINDS[how],
        )  # fmt: skip

    return imported


def index(source: Source) -> str:
    """Index axes: one by integers, several that lie together by known ones, or any by computed."""
    places = _Places(source)
    axes, first = places.axes, places.axes[0]
    if len(axes) == 1:
        return source.node("gather", source.value(), source.of(places.indices[0]), axis=first)
    known, shape = places.known(), source.shape()
    if known is not None and places.together:
        last = axes[-1] + 1
        flat = np.ravel_multi_index(tuple(np.broadcast_arrays(*known)), shape[first:last])
        joined = (*shape[:first], math.prod(shape[first:last]), *shape[last:])
        value = source.reshaped(source.value(), joined)
        at = source.literal(flat.astype(np.int64), "at")
        return source.node("gather", value, at, axis=first)
    front = _turned(source, source.value(), places.order)
    made = source.node("gather_nd", front, places.stacked(), shared=0)
    return _turned(source, made, places.behind)


def index_put(source: Source) -> str:
    """Write at indices, over what is there or added to it."""
    shape, dtype = source.shape(), source.dtype()
    adds = bool(source.argument("accumulate", False))
    if any(_is_mask(node) for node in source.raw("indices") if node is not None):
        return _put_where(source, adds)
    places = _Places(source)
    whole = [shape[d] for d in places.rest]
    if places.together:
        whole[places.axes[0] : places.axes[0]] = places.shape
    else:
        whole[:0] = places.shape
    given = source.repeated(source.cast(source.value("values"), dtype), whole)
    given = _turned(source, given, _inverse(places.behind))
    front = _turned(source, source.value(), places.order)
    known = places.known()
    if known is not None and not adds:
        made = _put_at(source, front, known, given, places.shape)
    else:
        _few(math.prod(places.shape))
        kind = "add" if adds else "none"
        made = source.node("scatter_nd", front, places.stacked(), given, kind=kind)
    return _turned(source, made, _inverse(places.order))


def _put_at(
    source: Source, front: str, known: Sequence[np.ndarray[Any, Any]], given: str, shape: Shape
) -> str:
    """Write at known places of the first axes: each element knows what is written to it."""
    whole = source.builder.shape(front)
    first, rest = whole[: len(known)], whole[len(known) :]
    last = np.full(first, -1, np.int64)
    last[tuple(known)] = np.arange(math.prod(shape)).reshape(shape)
    flat = source.reshaped(given, (math.prod(shape), *rest))
    new = source.node("gather", flat, source.literal(np.maximum(last, 0), "taken"), axis=0)
    written = (last >= 0).reshape(*first, *(1,) * len(rest))
    return source.map("select", source.literal(written, "written"), new, front)


def _put_where(source: Source, adds: bool) -> str:
    """Write where a mask is true what does not depend on how often it is."""
    indices, shape, dtype = source.raw("indices"), source.shape(), source.dtype()
    given = [i for i, node in enumerate(indices) if node is not None]
    if len(given) != 1:
        raise Refusal("it indexes by truths and by others")
    first = given[0]
    mask = source.of(indices[first])
    covered = source.builder.shape(mask)
    rest = len(shape) - first - len(covered)
    values = source.shape("values")
    full = (1,) * (first + 1 + rest - len(values)) + values
    if len(full) != first + 1 + rest or full[first] != 1:
        raise Refusal("it writes a value for each truth, of which there may be any number")
    new = source.reshaped(
        source.cast(source.value("values"), dtype),
        (*full[:first], *(1,) * len(covered), *full[first + 1 :]),
    )
    if adds:
        new = source.map("add", source.value(), new)
    here = source.reshaped(mask, (*(1,) * first, *covered, *(1,) * rest))
    return source.map("select", here, new, source.value())


class _Places:
    """Which axes of a tensor are indexed, and by what."""

    def __init__(self, source: Source) -> None:
        indices: list[Any] = list(source.raw("indices"))
        if any(_is_mask(node) for node in indices if node is not None):
            raise Refusal("it indexes by truths, of which there may be any number")
        self.source = source
        self.axes = tuple(d for d, node in enumerate(indices) if node is not None)
        self.indices = tuple(indices[d] for d in self.axes)
        self.rest = tuple(d for d in range(len(source.shape())) if d not in self.axes)
        self.shape = np.broadcast_shapes(
            *(source.builder.shape(source.of(node)) for node in self.indices)
        )

    @property
    def together(self) -> bool:
        return self.axes == tuple(range(self.axes[0], self.axes[-1] + 1))

    @property
    def order(self) -> Shape:
        """The tensor's axes, those that are indexed first."""
        return (*self.axes, *self.rest)

    @property
    def behind(self) -> Shape:
        """What PyTorch makes of a result whose first axes are those of the indices."""
        count, first = len(self.shape), self.axes[0] if self.together else 0
        rest = range(count, count + len(self.rest))
        return (*rest[:first], *range(count), *rest[first:])

    def known(self) -> tuple[np.ndarray[Any, Any], ...] | None:
        """Return the indices if all are constant, counted from the front."""
        arrays = [self.source.constant(node) for node in self.indices]
        extents = [self.source.shape()[d] for d in self.axes]
        made: list[np.ndarray[Any, Any]] = []
        for array, n in zip(arrays, extents, strict=True):
            if array is None:
                return None
            made.append(np.where(array < 0, array + n, array))
        return tuple(made)

    def stacked(self) -> str:
        """Return the indices of all axes, (*shape, axes)."""
        source = self.source
        each = [
            source.reshaped(
                source.repeated(source.cast(source.of(node), "int64"), self.shape),
                (*self.shape, 1),
            )
            for node in self.indices
        ]
        return each[0] if len(each) == 1 else source.node("concat", *each, axis=len(self.shape))


def _is_mask(node: Any) -> bool:
    return isinstance(node, fx.Node) and node.meta["val"].dtype in (torch.bool, torch.uint8)


def _few(count: int) -> None:
    if count > LONG:
        raise Refusal(
            f"it writes to {count} places, with all of which each element would be compared"
        )


def _turned(source: Source, value: str, order: Shape) -> str:
    if order == tuple(range(len(order))):
        return value
    return source.node("transpose", value, perm=order)


def _inverse(order: Shape) -> Shape:
    return tuple(order.index(d) for d in range(len(order)))
