"""Which operator of `ops` does the work of each node of an optimized graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from tilewright.errors import ExpressionError, ModelError
from tilewright.graph.ir import Node, Shape, Type
from tilewright.graph.meaning import seen
from tilewright.graph.operators import OPERATORS
from tilewright.ops.fused import Operand, fused
from tilewright.ops.reordered import Reordered
from tilewright.ops.varying import Varying
from tilewright.tuning.task import Operator


@dataclass(frozen=True)
class Bound:
    """The operator that computes a node, and for each of its tensors a value, or an array."""

    operator: Operator
    given: Mapping[str, str | np.ndarray]


def bound(node: Node, types: Mapping[str, Type], tolerance: float) -> Bound:
    """Return what computes a node that is no view of another value."""
    operands = seen([types[name] for name in node.operands], node.reads)
    try:
        work = OPERATORS[node.op].work(operands, node.attributes)
        kernel = _tolerant(work.kernel, tolerance)
        given = {**dict(zip(work.names, node.operands, strict=True)), **work.extra}
        varying = _varying(kernel, dict(zip(work.names, operands, strict=True)))
        if varying:
            kernel = Varying(kernel, varying)
        for i, perm in node.reads:
            kernel = _reordered(kernel, work.names[i], operands[i].shape, perm)
        if node.then is not None:
            extras = [types[name] for name in node.extras]
            views = [viewed(t.shape, node.output.shape, shape_of(kernel)) for t in extras]
            operands_after = tuple(
                Operand(_there(view, node), t.dtype, t.constant)
                for view, t in zip(views, extras, strict=True)
            )
            kernel = fused(kernel, node.then, operands_after)
            given |= {f"E{i}": name for i, name in enumerate(node.extras, 1)}
    except (ExpressionError, NotImplementedError) as error:
        raise ModelError(f"cannot compile {node.name!r} ({node.op}): {error}") from None
    return Bound(kernel, given)


def can_follow(node: Node, types: Mapping[str, Type], extras: Sequence[Shape]) -> bool:
    """Whether operands of these shapes can be read where a node's elements are made."""
    operands = seen([types[name] for name in node.operands], node.reads)
    try:
        work = OPERATORS[node.op].work(operands, node.attributes)
    except (ExpressionError, NotImplementedError):
        return False
    whole = shape_of(work.kernel)
    return all(viewed(shape, node.output.shape, whole) is not None for shape in extras)


def can_read(node: Node, types: Mapping[str, Type], operand: int, perm: Shape) -> bool:
    """Whether a node's kernel can read an operand in another order of its axes."""
    operands = seen([types[name] for name in node.operands], node.reads)
    try:
        work = OPERATORS[node.op].work(operands, node.attributes)
        _reordered(work.kernel, work.names[operand], operands[operand].shape, perm)
    except (ExpressionError, NotImplementedError, ModelError):
        return False
    return True


def _reordered(kernel: Any, tensor: str, shape: Shape, perm: Shape) -> Reordered:
    """Return a kernel that reads a tensor of `shape` as a transposition by `perm` left it.

    Each dimension that the kernel sees stands for some of the shape's, which must lie together.
    """
    view = next(t.shape for t in kernel.expression().inputs if t.name == tensor)
    places: list[int] = []  # where each dimension of the view lies in memory
    i = 0
    for mine, theirs in _groups(shape, view):
        axes = [perm[d] for d in range(i, i + mine) if shape[d] > 1]
        i += mine
        sizes = [n for n in view[len(places) : len(places) + theirs] if n > 1]
        if len(sizes) > 1 or any(b - a != 1 for a, b in pairwise(axes)):
            raise ModelError(f"{kernel.name} cannot read {tensor!r} in the order {perm}.")
        places += [axes[0] if axes else len(perm)] * theirs
    order = tuple(sorted(range(len(view)), key=lambda d: (places[d], d)))
    return Reordered(kernel, tensor, order)


def viewed(shape: Shape, whole: Shape, view: Shape) -> Shape | None:
    """Return the shape of an operand where a result of shape `whole` is seen as `view`.

    It has the extents of the view, or 1 where it is repeated; None if it cannot be seen so.

    >>> viewed((8,), (2, 3, 8), (6, 8)), viewed((2, 1, 1), (2, 3, 8), (6, 8))
    ((1, 8), None)
    """
    full = (1,) * (len(whole) - len(shape)) + tuple(shape)
    made: list[int] = []
    i = 0
    for group in _groups(whole, view):
        mine = [d for d in range(i, i + group[0]) if whole[d] > 1]
        i += group[0]
        theirs = view[len(made) : len(made) + group[1]]
        if all(full[d] == whole[d] for d in mine):
            made += theirs
        elif all(full[d] == 1 for d in mine):
            made += [1] * len(theirs)
        else:
            return None
    return tuple(made)


def _groups(whole: Shape, view: Shape) -> list[tuple[int, int]]:
    """Return how many dimensions of one shape are the same elements as how many of the other."""
    groups: list[tuple[int, int]] = []
    i = j = 0
    while i < len(whole) or j < len(view):
        a, b, left, right = 1, 1, i, j
        while True:
            if i < len(whole) and (a <= b or j == len(view)):
                a, i = a * whole[i], i + 1
            elif j < len(view):
                b, j = b * view[j], j + 1
            if a == b and (i > left or j > right):
                break
        groups.append((i - left, j - right))
    return groups


@lru_cache(maxsize=4096)
def shape_of(kernel: Any) -> Shape:
    """Return the shape that an operator's result has in its expression."""
    shape: Shape = kernel.expression().shape
    return shape


def _tolerant(kernel: Any, tolerance: float) -> Any:
    return replace(kernel, tolerance=tolerance) if hasattr(kernel, "tolerance") else kernel


def _varying(kernel: Any, types: Mapping[str, Type]) -> tuple[str, ...]:
    """Return the tensors that an operator takes for constant, but the graph computes."""
    inputs = kernel.expression().inputs
    return tuple(
        t.name for t in inputs if t.constant and t.name in types and not types[t.name].constant
    )


def _there(view: Shape | None, node: Node) -> Shape:
    if view is None:
        raise ModelError(f"cannot compile {node.name!r}: an operand does not fit what it follows.")
    return view
