"""What recurrent cells do beside their products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.graph.ir import Type
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    ints,
    refuse_unless,
)
from tilewright.ops.gates import Gates as GatesWork
from tilewright.ops.program import Program


class Gates(ByKernel):
    """A program of the gates of each unit: (batch, `hidden`) of inputs (batch, gates * hidden).

    `gates` says how many each input holds, of which the first axis may be 1: it is then the same
    for the whole batch.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        gates, hidden = ints(attributes, "gates"), integer(attributes, "hidden")
        shapes = [t.shape for t in inputs]
        batch = max((shape[0] for shape in shapes if len(shape) == 2), default=0)
        fits = len(gates) == len(inputs) and all(
            shape in ((batch, count * hidden), (1, count * hidden))
            for shape, count in zip(shapes, gates, strict=True)
        )
        refuse_unless(fits, f"gates {gates} of {hidden} units cannot be tensors of {shapes}.")
        kinds = [t.dtype for t, count in zip(inputs, gates, strict=True) for _ in range(count)]
        program: Any = attributes["program"]
        assert isinstance(program, Program)
        return Type((batch, hidden), program.typed(kinds).dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        program: Any = attributes["program"]
        batch, hidden = self.infer(inputs, attributes).shape
        shared = tuple(t.shape[0] < batch for t in inputs)
        kinds = tuple(t.dtype for t in inputs)
        made = GatesWork(program, batch, hidden, ints(attributes, "gates"), shared, kinds)
        return Work(made, tuple(f"X{i}" for i in range(len(inputs))))
