"""Import the operators that read at indices, and those that find or sort by value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.graph.ir import Shape
from tilewright.graph.onnx.source import Refusal, Source
from tilewright.ops.program import Program, Step


def gather(source: Source) -> str:
    axis = _axis(source)
    return source.node("gather", source.value(), source.value(1), axis=axis)


def gather_elements(source: Source) -> str:
    return source.node("gather_elements", source.value(), source.value(1), axis=_axis(source))


def gather_nd(source: Source) -> str:
    shared = source.attribute("batch_dims", 0)
    return source.node("gather_nd", source.value(), source.value(1), shared=shared)


def compress(source: Source) -> str:
    """Keep the slices, or with no axis the elements, that a constant condition names."""
    known = source.known(1)
    if known is None:
        raise Refusal(
            f"its condition {source.inputs[1]!r} is computed, so that the shape of what it makes "
            "depends on data, for which a compiled network has no room"
        )
    value, shape = source.value(), source.shape()
    flat = "axis" not in source.attributes
    axis = 0 if flat else _axis(source)
    if flat:
        value = source.reshaped(value, (int(np.prod(shape)),), "flat")
    (places,) = np.nonzero(known.reshape(-1))
    if not places.size or places[-1] >= source.builder.shape(value)[axis]:
        raise Refusal(f"its condition keeps {places.size} of a tensor of shape {shape}")
    return source.node("gather", value, source.literal(places, "places"), axis=axis)


def tensor_scatter(source: Source) -> str:
    """Write along an axis from a place on that each batch has; `circular` begins again at 0."""
    past, update = source.shape(), source.shape(1)
    (axis,) = source.axes([source.attribute("axis", -2)], len(past))
    if not axis:
        raise Refusal("its axis is that of the batch")
    mode, n, count = source.attribute("mode", "linear"), past[axis], update[axis]
    if mode not in ("linear", "circular"):
        raise Refusal(f"its mode {mode!r} is none of linear and circular")
    places = source.literal(np.arange(n).reshape(1, n), "places")
    if source.has(2):
        begin = source.reshaped(source.value(2), (past[0], 1), "begin")
    else:
        begin = source.literal(np.zeros((1, 1), np.int64), "begin")
    steps = [Step("sub", (0, 1))]
    if mode == "circular":
        steps += [Step("constant", (), (n, "int64")), Step("mod", (2, 3))]
    since = source.map(Program(2, tuple(steps)), places, begin, part="since")
    if not source.has(2):
        since = source.node(
            "slice", since, part="each", start=(0, 0), count=(past[0], n), step=(0, 1)
        )
    new = _along(source, source.value(1), axis, since)
    number = Step("constant", (), (count, "int64"))
    zero = Step("constant", (), (0, "int64"))
    inside = (zero, number, Step("less_equal", (1, 0)), Step("less", (0, 2)), Step("and", (3, 4)))
    here = source.map(Program(1, inside), since, part="inside")
    spread = (past[0], *(n if d == axis else 1 for d in range(1, len(past))))
    here = source.reshaped(here, spread, "there")
    return source.map("select", here, new, source.value())


def reverse_sequence(source: Source) -> str:
    """Turn round the first elements along the time, as many as each batch says."""
    shape = source.shape()
    batch, time = source.attribute("batch_axis", 1), source.attribute("time_axis", 0)
    if sorted((batch, time)) != [0, 1] or len(shape) < 2:
        raise Refusal(f"its batch axis {batch} and time axis {time} are not 0 and 1")
    times, n = shape[time], shape[batch]
    if source.shape(1) != (n,):
        raise Refusal(f"its lengths have the shape {source.shape(1)}, not {(n,)}")
    lengths = source.reshaped(source.value(1), (n, 1), "lengths")
    places = source.literal(np.arange(times).reshape(1, times), "places")
    steps = (
        Step("cast", (1,), ("int64",)), Step("sub", (2, 0)), Step("constant", (), (1, "int64")),
        Step("sub", (3, 4)), Step("less", (0, 2)), Step("select", (6, 5, 0)),
    )  # fmt: skip
    at = source.map(Program(2, steps), places, lengths, part="at")
    value = source.value()
    if not batch:
        return _along(source, value, 1, at, part="")
    order = (1, 0, *range(2, len(shape)))
    value = source.node("transpose", value, part="batches", perm=order)
    value = _along(source, value, 1, at)
    return source.node("transpose", value, perm=order)


def _along(source: Source, value: str, axis: int, at: str, part: str = "new") -> str:
    """Return the slices of a value along an axis, at indices (batch, n) that each batch has."""
    rank = len(source.builder.shape(value))
    order = (0, axis, *(d for d in range(1, rank) if d != axis))
    if axis != 1:
        value = source.node("transpose", value, part="front", perm=order)
    rows = source.reshaped(at, (*source.builder.shape(at), 1), "rows")
    last = part if axis == 1 else "taken"
    value = source.node("gather_nd", value, rows, part=last, shared=1)
    if axis == 1:
        return value
    back = tuple(order.index(d) for d in range(rank))
    return source.node("transpose", value, part=part, perm=back)


def scan(kind: str) -> Callable[[Source], str]:
    """Return the importer of running sums or products along a constant axis."""

    def imported(source: Source) -> str:
        (axis,) = source.axes([int(source.number(1, "axis"))], len(source.shape()))
        return source.node(
            "scan", source.value(), kind=kind, axis=axis,
            exclusive=source.attribute("exclusive", 0), reverse=source.attribute("reverse", 0),
        )  # fmt: skip

    return imported


def arg(least: int) -> Callable[[Source], str]:
    """Return the importer of where the greatest or the least element is."""

    def imported(source: Source) -> str:
        shape, keep = source.shape(), source.attribute("keepdims", 1)
        (axis,) = source.axes([source.attribute("axis", 0)], len(shape))
        last = source.attribute("select_last_index", 0)
        part = "" if keep else "kept"
        made = source.node("argmax", source.value(), part=part, axis=axis, least=least, last=last)
        return made if keep else source.reshaped(made, (*shape[:axis], *shape[axis + 1 :]))

    return imported


def hardmax(source: Source) -> str:
    """One at the first greatest element, and zero elsewhere; old sets see a matrix."""
    shape, dtype = source.shape(), source.dtype()
    old = source.opset < 13
    (axis,) = source.axes([source.attribute("axis", 1 if old else -1)], len(shape))
    value = source.value()
    rows = (int(np.prod(shape[:axis])), int(np.prod(shape[axis:])))
    seen = rows if old else shape
    value = source.reshaped(value, seen, "rows")
    axis = 1 if old else axis
    place = source.node("argmax", value, part="place", axis=axis, least=0, last=0)
    number = source.literal(_range(seen[axis], axis, len(seen)), "numbers")
    steps = (Step("equal", (0, 1)), Step("cast", (2,), (dtype,)))
    made = source.map(Program(2, steps), place, number, part="" if seen == shape else "matrix")
    return source.reshaped(made, shape)


def one_hot(source: Source) -> str:
    """The second of two values at each index along a new axis, and the first elsewhere."""
    shape, depth = source.shape(), int(source.number(1, "depth"))
    if depth < 1 or source.shape(2) != (2,):
        raise Refusal(f"its depth is {depth}, and its values are of shape {source.shape(2)}")
    rank = len(shape) + 1
    (axis,) = source.axes([source.attribute("axis", -1)], rank)
    places = source.reshaped(source.value(), (*shape[:axis], 1, *shape[axis:]), "places")
    numbers = source.literal(_range(depth, axis, rank), "numbers")
    off, on = (_single(source, 2, i) for i in range(2))
    steps = (
        Step("cast", (0,), ("int64",)), Step("constant", (), (depth, "int64")),
        Step("add", (4, 5)), Step("equal", (4, 1)), Step("equal", (6, 1)), Step("or", (7, 8)),
        Step("select", (9, 2, 3)),
    )  # fmt: skip
    return source.map(Program(4, steps), places, numbers, on, off)


def _single(source: Source, index: int, at: int) -> str:
    """Return one element of a vector as a scalar."""
    known = source.known(index)
    if known is not None:
        return source.literal(known[at], f"value{at}")
    made = source.node(
        "slice", source.value(index), part=f"one{at}", start=(at,), count=(1,), step=(1,)
    )
    return source.reshaped(made, (), f"value{at}")


def _range(n: int, axis: int, rank: int) -> np.ndarray:
    shape: Shape = tuple(n if d == axis else 1 for d in range(rank))
    return np.arange(n).reshape(shape)


def _axis(source: Source) -> int:
    (axis,) = source.axes([source.attribute("axis", 0)], len(source.shape()))
    return axis
