"""Sums of products in Einstein's notation."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph.ir import Type
from tilewright.graph.operators.operator import Attributes, ByKernel, Work, one_type, text
from tilewright.ops.einsum import Einsum as EinsumWork


class Einsum(ByKernel):
    """The product of the inputs summed over the letters of `equation` that the result has not."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        dtype = one_type("einsum", inputs)
        return Type(self.work(inputs, attributes).kernel.expression().shape, dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        shapes = tuple(t.shape for t in inputs)
        made = EinsumWork(text(attributes, "equation"), shapes, inputs[0].dtype)
        return Work(made, tuple(f"X{i}" for i in range(len(inputs))))
