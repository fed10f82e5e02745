"""The naive loop nest of an expression: one set of loops a stage, in order."""

from __future__ import annotations

from dataclasses import replace

from tilewright.expr.affine import Affine
from tilewright.expr.parts import substitute
from tilewright.expr.scalar import Scalar
from tilewright.expr.tensor import Axis, Reduce, Tensor, plain
from tilewright.loops.nodes import Block, Buffer, Loop, Nest, Node


def lower(output: Tensor) -> Nest:
    """Return the unscheduled nest of an expression.

    Loops are named after their axes. Where two stages use one name, the stage that reduces keeps
    it (the first stage, if none does) and the loops of the others are called `stage:axis`.
    """
    stages = output.stages
    buffers = [
        Buffer(t.name, t.shape, t.dtype, "constant" if t.constant else "input")
        for t in output.inputs
    ]
    buffers += [
        Buffer(t.name, t.shape, t.dtype, "output" if t is output else "workspace") for t in stages
    ]
    owner = _owners(stages)
    return Nest(output.name, tuple(buffers), tuple(_stage(t, owner) for t in stages))


def _owners(stages: tuple[Tensor, ...]) -> dict[str, str]:
    """Map each axis name to the stage whose loops bear it unchanged."""
    owner: dict[str, str] = {}
    for t in sorted(stages, key=lambda t: not (t.stage and t.stage.reduce_axes)):
        assert t.stage
        for axis in (*t.stage.axes, *t.stage.reduce_axes):
            owner.setdefault(axis.name, t.name)
    return owner


def _stage(t: Tensor, owner: dict[str, str]) -> Node:
    assert t.stage

    def name(axis: Axis) -> str:
        return axis.name if owner[axis.name] == t.name else f"{t.name}:{axis.name}"

    axes = (*t.stage.axes, *t.stage.reduce_axes)
    renamed = {axis.name: Affine(0, ((name(axis), 1),)) for axis in axes}
    value: Scalar = t.stage.value
    kind = value.kind if isinstance(value, Reduce) else None
    body = substitute(plain(value.value if isinstance(value, Reduce) else value), renamed)
    at = t.stage.at or tuple(axis.affine for axis in t.stage.axes)
    node: Node = Block(
        t.name,
        t.name,
        tuple(index.substitute(renamed) for index in at),
        body,
        kind,
        init=kind is not None,
        guards=tuple(
            replace(g, index=g.index.substitute(renamed)) for g in t.stage.outside(t.shape)
        ),
    )
    for axis in reversed(axes):
        node = Loop(name(axis), axis.extent, "serial", axis.reduce, (node,))
    return node
