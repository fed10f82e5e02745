"""The same work under other names: every tensor, axis and table called otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.expr.affine import Affine
from tilewright.expr.parts import rebuild
from tilewright.expr.scalar import Index, Load, Scalar, Table, Within
from tilewright.expr.tensor import Axis, Reduce, Stage, Tensor

Rename = Callable[[str], str]


def renamed(output: Tensor, tensors: Rename, axes: Rename) -> Tensor:
    """Return an expression that differs from `output` in names alone."""
    made: dict[str, Tensor] = {}
    for t in (*output.inputs, *output.stages):
        stage = None if t.stage is None else _stage(t.stage, made, axes)
        made[t.name] = replace(t, name=tensors(t.name), stage=stage, title="", template=None)
    return made[output.name]


def _stage(stage: Stage, made: dict[str, Tensor], axes: Rename) -> Stage:
    def axis(a: Axis) -> Axis:
        return Axis(axes(a.name), a.extent, a.reduce)

    def affine(index: Affine) -> Affine:
        return Affine.sum(index.constant, [(axes(name), step) for name, step in index.terms])

    def change(part: Scalar) -> Scalar:
        match part:
            case Load(buffer=buffer):
                at = (i if isinstance(i, Scalar) else affine(i) for i in part.at)
                return made[buffer][tuple(at)]
            case Table(index=index):
                return replace(part, name="another", index=tuple(map(affine, index)))
            case Index(index=index) | Within(index=index):
                return replace(part, index=affine(index))
            case _:
                return part

    value = stage.value
    if isinstance(value, Reduce):
        inner = rebuild(value.value, change)
        value = replace(value, axes=tuple(map(axis, value.axes)), value=inner)
    else:
        value = rebuild(value, change)
    return Stage(tuple(map(axis, stage.axes)), value, tuple(map(affine, stage.at)))


def backwards(output: Tensor) -> Tensor:
    """Return the same work with names that sort the other way round and clash where those do not.

    Every stage's axes are called by the names of the others: what is found by name is found wrong.
    """
    names = sorted({t.name for t in (*output.inputs, *output.stages)})
    swap = dict(zip(names, reversed(names), strict=True))
    axes = sorted({a.name for t in output.stages for a in _axes(t)})
    turn = dict(zip(axes, reversed(axes), strict=True))
    return renamed(output, swap.__getitem__, turn.__getitem__)


def _axes(t: Tensor) -> tuple[Axis, ...]:
    assert t.stage
    return (*t.stage.axes, *t.stage.reduce_axes)
