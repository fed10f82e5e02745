"""Elementwise work and the moving of data: ReLU, addition, transposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import tilewright.expr.tensor as te
from tilewright.expr.scalar import Scalar
from tilewright.schedule.schedule import Schedule
from tilewright.space.derive import derive
from tilewright.target import Target

if TYPE_CHECKING:
    from tilewright.space.knobs import Knobs


@dataclass(frozen=True)
class Elementwise:
    """`relu` of X, `add` of X and R, or `add_relu`: any shape, seen as one dimension."""

    kind: str
    size: int
    dtype: str = "float32"

    @property
    def name(self) -> str:
        return f"{self.kind} {self.size}"

    def expression(self) -> te.Tensor:
        x = te.tensor("X", (self.size,), self.dtype)
        r = te.tensor("R", (self.size,), self.dtype)

        def value(i: te.Axis) -> Scalar:
            total: Scalar = x[i] if self.kind == "relu" else x[i] + r[i]
            return total if self.kind == "add" else te.maximum(total, 0.0)

        return te.compute("out", (self.size,), value)

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        return derive(s, knob, target)


@dataclass(frozen=True)
class Transpose:
    """X with its dimensions in another order, as numpy.transpose does it."""

    shape: tuple[int, ...]
    order: tuple[int, ...]
    dtype: str = "float32"

    @property
    def name(self) -> str:
        return f"transpose {'x'.join(map(str, self.shape))} to {self.order}"

    def expression(self) -> te.Tensor:
        x = te.tensor("X", self.shape, self.dtype)
        shape = tuple(self.shape[d] for d in self.order)

        def value(*at: te.Axis) -> Scalar:
            return x[tuple(at[self.order.index(d)] for d in range(len(shape)))]

        return te.compute("out", shape, value)

    def space(self, s: Schedule, knob: Knobs, target: Target) -> Schedule:
        return derive(s, knob, target)
