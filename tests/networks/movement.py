"""Random nodes that move elements: shapes, transpositions, slices, joins, gathers, images."""

from __future__ import annotations

import numpy as np
from tests.networks.elementwise import ANY
from tests.networks.growing import FLOAT, Growing


def reshape(g: Growing) -> str:
    x = g.tensor(dtypes=ANY)
    shape = list(g.parts(g.values[x].size, g.some(1, 2, 3, 3, 4, 4)))
    if g.chance(0.4):
        shape[g.pick.randrange(len(shape))] = -1
    return g.node("Reshape", [x, g.indices(*shape)])


def flatten(g: Growing) -> str:
    x = g.tensor(dtypes=ANY)
    return g.node("Flatten", [x], axis=g.pick.randint(0, len(g.shape(x))))


def transpose(g: Growing) -> str:
    x = g.tensor(2, 3, 4, 5, dtypes=ANY)
    order = list(range(len(g.shape(x))))
    g.pick.shuffle(order)
    if g.chance(0.3):
        order = [0, *range(2, len(order)), 1]
    return g.node("Transpose", [x], perm=order)


def _axes(g: Growing, op: str, x: str, axes: list[int]) -> str:
    if g.opset >= 13:
        return g.node(op, [x, g.indices(*axes)])
    return g.node(op, [x], axes=axes)


def squeeze(g: Growing) -> str:
    x = g.tensor(dtypes=ANY)
    shape = g.shape(x)
    ones = [axis for axis, n in enumerate(shape) if n == 1]
    if ones:
        return _axes(g, "Squeeze", x, ones if g.chance(0.5) else [g.some(*ones)])
    return _axes(g, "Unsqueeze", x, sorted(g.pick.sample(range(len(shape) + 1), 1)))


def concat(g: Growing) -> str:
    x = g.tensor(1, 2, 3, 4, 4, dtypes=ANY)
    shape = g.shape(x)
    axis = g.pick.randrange(len(shape))
    near = [
        name
        for name, array in g.values.items()
        if array.dtype == g.values[x].dtype
        and array.ndim == len(shape)
        and array.shape[:axis] + array.shape[axis + 1 :] == shape[:axis] + shape[axis + 1 :]
    ]
    names = [x, *(g.some(*near) for _ in range(g.some(0, 1, 1, 2)))]
    if g.values[x].dtype == g.float and g.chance(0.3):
        names.append(g.weight(*shape[:axis], g.some(1, 2, 3), *shape[axis + 1 :]))
    g.pick.shuffle(names)
    return g.node("Concat", names, axis=axis - len(shape) * (g.opset >= 11 and g.chance(0.3)))


def split(g: Growing) -> str:
    x = g.tensor(1, 2, 3, 4, dtypes=ANY)
    axis = g.pick.randrange(len(g.shape(x)))
    extent = g.shape(x)[axis]
    cuts = sorted(g.pick.sample(range(1, extent), min(extent - 1, g.some(1, 1, 2))))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, extent], strict=True)]
    if g.opset >= 13:
        return g.some(*g.several("Split", [x, g.indices(*sizes)], len(sizes), axis=axis))
    return g.some(*g.several("Split", [x], len(sizes), axis=axis, split=sizes))


def cut(g: Growing) -> str:
    x = g.tensor(1, 2, 3, 4, dtypes=ANY)
    shape = g.shape(x)
    axes = sorted(g.pick.sample(range(len(shape)), g.pick.randint(1, min(2, len(shape)))))
    starts = [g.pick.randrange(shape[a]) for a in axes]
    ends = [g.some(s + 1, shape[a], shape[a] + 5, s + 3) for s, a in zip(starts, axes, strict=True)]
    if g.opset < 10:
        return g.node("Slice", [x], axes=axes, starts=starts, ends=ends)
    steps = [g.some(1, 1, 2, 3) for _ in axes]
    for i, axis in enumerate(axes):
        if g.chance(0.25):  # backwards
            starts[i], ends[i], steps[i] = shape[axis] - 1, -shape[axis] - 1, g.some(-1, -2)
    return g.node("Slice", [x, *(g.indices(*of) for of in (starts, ends, axes, steps))])


def gather(g: Growing) -> str:
    x = g.tensor(1, 2, 3, 4, dtypes=ANY)
    axis = g.pick.randrange(len(g.shape(x)))
    extent = g.shape(x)[axis]
    low = -extent if g.opset >= 11 else 0
    places = g.rng.integers(low, extent, g.some((), (1,), (3,), (2, 2), (5,)))
    if g.chance(0.4):
        return g.node("Gather", [x, g.input(places)], axis=axis)
    return g.node("Gather", [x, g.constant(places, "int64")], axis=axis)


def gather_elements(g: Growing) -> str:
    x = g.tensor(1, 2, 3)
    axis = g.pick.randrange(len(g.shape(x)))
    shape = tuple(g.some(1, n) if a != axis else g.some(1, 2, 5) for a, n in enumerate(g.shape(x)))
    places = g.rng.integers(0, g.shape(x)[axis], shape)
    held = g.input(places) if g.chance(0.5) else g.constant(places, "int64")
    return g.node("GatherElements", [x, held], axis=axis)


def pad(g: Growing) -> str:
    x = g.tensor(1, 2, 3, 4)
    shape = g.shape(x)
    mode = g.some("constant", "constant", "reflect", "edge")
    most = [n - 1 if mode == "reflect" else 3 for n in shape] * 2
    pads = [g.pick.randint(0, min(2, n)) if g.chance(0.5) else 0 for n in most]
    if mode == "constant" and g.chance(0.2):
        pads[-1] = -1 if shape[-1] > 1 else 0
    value = g.some(0.0, 0.0, 0.5, -2.0)
    if g.opset < 11:
        return g.node("Pad", [x], mode=mode, pads=pads, value=value)
    return g.node("Pad", [x, g.indices(*pads), g.constant(value, FLOAT)], mode=mode)


def expand(g: Growing) -> str:
    x = g.tensor(1, 2, 3, dtypes=ANY)
    shape = [n if n > 1 else g.some(1, 2, 3) for n in g.shape(x)]
    if g.chance(0.5):
        return g.node("Tile", [x, g.indices(*(g.some(1, 1, 2, 3) for _ in shape))])
    return g.node("Expand", [x, g.indices(*g.some([], [2], [3, 1]), *shape)])


def resize(g: Growing) -> str:
    x = g.tensor(4)
    scales = [1.0, 1.0, *(g.some(1.0, 2.0, 3.0, 0.5, 1.5) for _ in range(2))]
    held = g.constant(scales, "float32")
    mode = g.some("nearest", "nearest", "linear", "cubic")
    if g.opset < 10:
        return g.node("Upsample", [x, held], mode=g.some("nearest", "linear"))
    if g.opset < 11:
        return g.node("Resize", [x, held], mode=g.some("nearest", "linear"))
    way = g.some("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    return g.node("Resize", [x, "", held], mode=mode, coordinate_transformation_mode=way)


def blocks(g: Growing) -> str:
    x = g.tensor(4)
    size = g.some(2, 3)
    if g.shape(x)[1] % size**2 == 0:
        more = {"mode": g.some("DCR", "CRD")} if g.opset >= 11 else {}
        return g.node("DepthToSpace", [x], blocksize=size, **more)
    return g.node("SpaceToDepth", [x], blocksize=size)


def top(g: Growing) -> str:
    x = g.tensor(1, 2, 3)
    axis = g.pick.randrange(len(g.shape(x)))
    count = g.pick.randint(1, g.shape(x)[axis])
    if len(np.unique(g.values[x])) < g.values[x].size:
        return g.node("Identity", [x])  # which of equals comes first is not said
    if g.opset < 10:
        return g.some(*g.several("TopK", [x], 2, axis=axis, k=count))
    return g.some(*g.several("TopK", [x, g.indices(count)], 2, axis=axis))


def triangle(g: Growing) -> str:
    return g.node("Trilu", [g.tensor(2, 3)], upper=g.some(0, 1))


MOVEMENT = (
    reshape, reshape, reshape, flatten, transpose, transpose, transpose, squeeze, squeeze, concat,
    concat, concat, split, split, cut, cut, cut, gather, gather_elements, pad, pad, expand, resize,
    blocks, top, triangle,
)  # fmt: skip
