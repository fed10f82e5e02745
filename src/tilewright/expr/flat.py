"""A tensor as a list of its stages, which pickles however many there are.

Nested in each other, as each load holds its tensor, a hundred are too deep for Python's stack.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from tilewright.expr.parts import rebuild
from tilewright.expr.scalar import Load, Scalar
from tilewright.expr.tensor import Reduce, Stage, Tensor, plain, reach

Part: TypeAlias = tuple[Any, ...]  # the fields of a Tensor; loads in its stage name theirs


def flatten(output: Tensor) -> list[Part]:
    """Return every tensor that `output` needs, sources first, itself last."""
    parts: list[Part] = []
    for t in reach(output):
        stage = t.stage and replace(t.stage, value=_each(t.stage.value, plain))
        parts.append((t.name, t.shape, t.dtype, t.constant, stage, t.title, t.template))
    return parts


def restore(parts: list[Part]) -> Tensor:
    """Return the last tensor of a flat list."""
    made: dict[str, Tensor] = {}

    def link(part: Scalar) -> Scalar:
        return made[part.buffer][part.at] if isinstance(part, Load) else part

    for name, shape, dtype, constant, stage, title, template in parts:
        value = stage and _each(stage.value, lambda v: rebuild(v, link))
        linked = stage and Stage(stage.axes, value, stage.at)
        made[name] = Tensor(name, shape, dtype, constant, linked, title, template)
    return list(made.values())[-1]


def _each(value: Scalar, change: Any) -> Scalar:
    """Apply `change` to the value of a stage, inside of its reduction."""
    return replace(value, value=change(value.value)) if isinstance(value, Reduce) else change(value)
