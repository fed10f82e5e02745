"""Elementwise work of any kind: a program over tensors that are repeated to a common shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields
from tilewright.ops.program import Program


@dataclass(frozen=True)
class Map:
    """A program of one element, of X0, X1, …, which are repeated to a common shape as NumPy does.

    Neighbouring dimensions in which each operand is as long as the result, or repeated, are seen as
    one; an operand is seen without the dimensions along which it is repeated.
    """

    program: Program
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ExpressionError(f"Map(program={self.program!r:.60}): give a Program.")
        if not len(self.shapes) == len(self.dtypes) == self.program.inputs:
            raise ExpressionError(
                f"map of {self.shapes} of {self.dtypes} by a program of {self.program.inputs} "
                "inputs: each input has a shape and a type."
            )
        try:
            np.broadcast_shapes(*self.shapes)
        except ValueError:
            shown = " and ".join(str(shape) for shape in self.shapes)
            raise ExpressionError(f"map of tensors of shapes {shown}, which do not fit.") from None

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*self.shapes)

    @property
    def name(self) -> str:
        shape = "x".join(map(str, self.shape)) or "scalar"
        return f"{summary(self.program)} {shape}{fields.of(self.program.typed(self.dtypes).dtype)}"

    def expression(self) -> te.Tensor:
        views, whole = aligned(self.shapes, self.shape)
        axes = tuple(te.Axis(f"i{d}", n) for d, n in enumerate(whole))
        values = [
            seen(te.tensor(f"X{i}", seen_as(view), dtype), view, axes)
            for i, (view, dtype) in enumerate(zip(views, self.dtypes, strict=True))
        ]
        return te.stage("out", axes, self.program(values))


def summary(program: Program) -> str:
    """Name a program by its functions, as in "sigmoid mul"."""
    names = [step.function for step in program.steps if step.function != "constant"]
    return " ".join(names[:6]) + " …" * (len(names) > 6) or "copy"


def aligned(
    shapes: Sequence[tuple[int, ...]], whole: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Merge neighbouring dimensions in which all operands behave alike.

    Return each operand with as many dimensions as the result, 1 where it is repeated.

    >>> aligned([(2, 8, 8, 3), (3,)], (2, 8, 8, 3))
    ([(128, 3), (1, 3)], (128, 3))
    """
    full = [(1,) * (len(whole) - len(shape)) + tuple(shape) for shape in shapes]
    groups: list[tuple[int, tuple[bool, ...]]] = []
    for d, extent in enumerate(whole):
        if extent == 1:
            continue
        there = tuple(shape[d] > 1 for shape in full)
        if groups and groups[-1][1] == there:
            groups[-1] = (groups[-1][0] * extent, there)
        else:
            groups.append((extent, there))
    merged = tuple(n for n, _ in groups) or (1,)
    views = [tuple(n if there[i] else 1 for n, there in groups) or (1,) for i in range(len(full))]
    return views, merged


def seen_as(view: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of an operand without the dimensions along which it is repeated."""
    return tuple(n for n in view if n > 1) or (1,)


def seen(tensor: te.Tensor, view: tuple[int, ...], axes: Sequence[te.Axis]) -> Scalar:
    """Return the element of an operand at a point of the result."""
    if prod(view) == 1:
        return tensor[0]
    at: tuple[Any, ...] = tuple(axis for n, axis in zip(view, axes, strict=True) if n > 1)
    return tensor[at]
