"""Operators that compute nothing: they move, rename, repeat or choose elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    ints,
    one_type,
    refuse_unless,
    text,
)
from tilewright.ops import elementwise, gather, movement


class Reshape(ByKernel):
    """The elements of X in their order, as an array of `shape`; it shares the memory of X."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        shape = ints(attributes, "shape")
        refuse_unless(
            math.prod(shape) == math.prod(inputs[0].shape),
            f"a tensor of shape {inputs[0].shape} cannot be reshaped to {shape}.",
        )
        return Type(shape, inputs[0].dtype)

    def compute(
        self, arrays: Sequence[np.ndarray], inputs: Sequence[Type], attributes: Attributes
    ) -> np.ndarray:
        return arrays[0].reshape(ints(attributes, "shape"))


class Transpose(ByKernel):
    """Axis i of the output is axis `perm[i]` of X."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        perm, shape = ints(attributes, "perm"), inputs[0].shape
        refuse_unless(
            sorted(perm) == list(range(len(shape))),
            f"{perm} is no order of the axes of a tensor of shape {shape}.",
        )
        return Type(tuple(shape[axis] for axis in perm), inputs[0].dtype)

    def compute(
        self, arrays: Sequence[np.ndarray], inputs: Sequence[Type], attributes: Attributes
    ) -> np.ndarray:
        return arrays[0].transpose(ints(attributes, "perm"))

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        shape, perm = merged_order(inputs[0].shape, ints(attributes, "perm"))
        return Work(elementwise.Transpose(shape, perm, inputs[0].dtype), ("X",))


def merged_order(shape: Shape, perm: Shape) -> tuple[Shape, Shape]:
    """Return a transposition of fewer axes that moves the elements alike.

    Axes that stay neighbours are merged, and those of one element left out.

    >>> merged_order((1, 8, 4, 4), (0, 2, 3, 1))
    ((8, 16), (1, 0))
    """
    groups: list[list[int]] = []
    for axis in perm:
        if shape[axis] == 1:
            continue
        between = range(groups[-1][-1] + 1, axis) if groups else range(0)
        follows = bool(groups) and axis > groups[-1][-1] and all(shape[a] == 1 for a in between)
        if follows:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    firsts = sorted(group[0] for group in groups)
    extents = {group[0]: math.prod(shape[a] for a in group) for group in groups}
    merged = tuple(extents[first] for first in firsts) or (1,)
    return merged, tuple(firsts.index(group[0]) for group in groups) or (0,)


class Concat(ByKernel):
    """The inputs, one behind the other along `axis`."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        axis, first = integer(attributes, "axis"), inputs[0].shape
        rest = {(*t.shape[:axis], -1, *t.shape[axis + 1 :]) for t in inputs}
        shown = " and ".join(str(t.shape) for t in inputs)
        refuse_unless(
            0 <= axis < len(first) and len(rest) == 1,
            f"tensors of shapes {shown} cannot be joined along axis {axis}.",
        )
        total = sum(t.shape[axis] for t in inputs)
        return Type((*first[:axis], total, *first[axis + 1 :]), one_type("concat", inputs))

    def compute(
        self, arrays: Sequence[np.ndarray], inputs: Sequence[Type], attributes: Attributes
    ) -> np.ndarray:
        return np.concatenate(arrays, integer(attributes, "axis"))

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        axis = integer(attributes, "axis")
        shapes = tuple(
            (math.prod(t.shape[:axis]), t.shape[axis] * math.prod(t.shape[axis + 1 :]))
            for t in inputs
        )
        made = movement.Concat(shapes, 1, inputs[0].dtype)
        return Work(made, tuple(f"X{i}" for i in range(len(inputs))))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {"axis": order.index(integer(attributes, "axis"))}


class Slice(ByKernel):
    """In each dimension `count` elements of X from `start` on, `step` apart, also backwards."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        self.work(inputs, attributes)  # refuses what lies outside
        return Type(ints(attributes, "count"), inputs[0].dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        start, count, step = (ints(attributes, name) for name in ("start", "count", "step"))
        return Work(movement.Slice(inputs[0].shape, start, count, step, inputs[0].dtype), ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {
            name: in_order(ints(attributes, name), order) for name in ("start", "count", "step")
        }


class Pad(ByKernel):
    """X with `before` and `behind` more elements in each dimension.

    `mode` is "constant" (they are `value`), "edge" or "reflect".
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        self.work(inputs, attributes)
        sides = zip(ints(attributes, "before"), inputs[0].shape, ints(attributes, "behind"),
                    strict=True)  # fmt: skip
        return Type(tuple(map(sum, sides)), inputs[0].dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        before, behind = ints(attributes, "before"), ints(attributes, "behind")
        value, X = attributes["value"], inputs[0]
        assert isinstance(value, int | float)
        made = movement.Pad(X.shape, before, behind, text(attributes, "mode"), value, X.dtype)
        return Work(made, ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        moved = {name: in_order(ints(attributes, name), order) for name in ("before", "behind")}
        return {**attributes, **moved}


def in_order(values: Shape, order: Shape) -> Shape:
    return tuple(values[axis] for axis in order)


class Gather(ByKernel):
    """Slices of X along `axis`, at indices in the place of it: X, then integers of any shape.

    One below zero counts from the end, and one beyond either end is that end.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X, indices), axis = inputs, integer(attributes, "axis")
        refuse_unless(0 <= axis < len(X.shape), f"a tensor of shape {X.shape} has no axis {axis}.")
        check_indices(indices)
        return Type((*X.shape[:axis], *indices.shape, *X.shape[axis + 1 :]), X.dtype)

    def compute(
        self, arrays: Sequence[np.ndarray], inputs: Sequence[Type], attributes: Attributes
    ) -> np.ndarray:
        (X, indices), axis = arrays, integer(attributes, "axis")
        n = X.shape[axis]
        return np.take(X, np.clip(indices, -n, n - 1), axis)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, indices = inputs
        axis = integer(attributes, "axis")
        return Work(gather.Gather(X.shape, indices.shape, axis, X.dtype, indices.dtype), ("X", "I"))


class GatherElements(ByKernel):
    """Elements of X at their own places along `axis`: X, then integers of the result's shape."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        check_indices(inputs[1])
        self.work(inputs, attributes)
        return Type(inputs[1].shape, inputs[0].dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, indices = inputs
        axis = integer(attributes, "axis")
        made = gather.GatherElements(X.shape, indices.shape, axis, X.dtype, indices.dtype)
        return Work(made, ("X", "I"))


class GatherNd(ByKernel):
    """Slices of X at places in the dimensions behind the first `shared`, which both have.

    Integers (*shared, .., depth) say where in the `depth` dimensions behind the first; the result
    is (*shared, .., the other dimensions of X).
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X, indices), shared = inputs, integer(attributes, "shared")
        check_indices(indices)
        self.work(inputs, attributes)
        rest = X.shape[shared + indices.shape[-1] :]
        return Type((*indices.shape[:-1], *rest), X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, indices = inputs
        shared = integer(attributes, "shared")
        made = gather.GatherNd(X.shape, indices.shape, shared, X.dtype, indices.dtype)
        return Work(made, ("X", "I"))


def check_indices(indices: Type) -> None:
    refuse_unless(
        "int" in indices.dtype, f"indices are of type {indices.dtype}; they must be integers."
    )
