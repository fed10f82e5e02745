"""Import the operators that write at indices.

At constant indices each element of the result knows what is written to it, which is gathered: no
index is compared with any place. Only where several are to be combined at one place are they.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.scatter import KINDS

Places = np.ndarray[Any, Any]


def scatter_elements(source: Source) -> str:
    """Write elements, each at a place of its own along an axis."""
    kind, shape = source.attribute("reduction", "none"), source.shape()
    (axis,) = source.axes([source.attribute("axis", 0)], len(shape))
    places, updates = _known(source, kind), source.shape(2)
    last = None
    if places is not None and places.shape == updates and _within(updates, shape, axis):
        rows = np.indices(updates).reshape(len(shape), -1)
        rows[axis] = places.reshape(-1)
        last = _last(rows.T, shape, kind != "none")
    if last is None:
        given = (source.value(i) for i in range(3))
        return source.node("scatter_elements", *given, axis=axis, kind=kind)
    return _gathered(source, kind, last, math.prod(updates))


def scatter_nd(source: Source) -> str:
    """Write slices, each at a place of the first dimensions."""
    kind, shape = source.attribute("reduction", "none"), source.shape()
    places = _known(source, kind)
    last, count = None, 0
    if places is not None:
        *counts, depth = places.shape or (0,)
        count = math.prod(counts)
        if not 1 <= depth <= len(shape) or source.shape(2) != (*places.shape[:-1], *shape[depth:]):
            raise Refusal(
                f"updates of shape {source.shape(2)} at indices of shape {places.shape} do not fit "
                f"a tensor of shape {shape}"
            )
        last = _last(places.reshape(-1, depth), shape[:depth], kind != "none")
    if last is None:
        return source.node("scatter_nd", *(source.value(i) for i in range(3)), kind=kind)
    return _gathered(source, kind, last, count)


def _known(source: Source, kind: str) -> Places | None:
    """Return constant indices; None where there are none, or the general operator refuses them."""
    places = source.known(1)
    if places is None or places.dtype.kind != "i":
        return None
    return places if kind == "none" or (kind in KINDS and source.dtype() != "bool") else None


def _within(small: tuple[int, ...], shape: tuple[int, ...], axis: int) -> bool:
    """Return whether updates are in no dimension but the axis longer than what they go to."""
    return len(small) == len(shape) and all(
        m <= n or d == axis for d, (m, n) in enumerate(zip(small, shape, strict=True))
    )


def _last(rows: Places, shape: tuple[int, ...], combines: bool) -> Places | None:
    """Return for each place the number of the last row that names it, -1 if none does.

    None where several rows are to be combined at one place. Rows outside of the shape are written
    nowhere.
    """
    rows = np.where(rows < 0, rows + shape, rows)
    (numbers,) = np.nonzero(np.all((rows >= 0) & (rows < shape), axis=1))
    flat = np.ravel_multi_index(tuple(rows[numbers].T), shape)
    if combines and np.unique(flat).size < flat.size:
        return None
    last = np.full(math.prod(shape), -1, np.int64)
    np.maximum.at(last, flat, numbers)
    return last.reshape(shape)


def _gathered(source: Source, kind: str, last: Places, count: int) -> str:
    """Write `count` updates, each to the places that have its number."""
    x = source.value()
    rest = source.shape()[last.ndim :]
    written = (last >= 0).reshape(*last.shape, *(1,) * len(rest))
    rows = source.reshaped(source.value(2), (count, *rest), "updates")
    taken = source.literal(np.maximum(last, 0), "taken")
    new = source.node("gather", rows, taken, part="new", axis=0)
    if kind != "none":
        new = source.map(kind, x, new, part="combined")
    return source.map("select", source.literal(written, "written"), new, x)
