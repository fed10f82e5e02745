"""Images and others at another size."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.movement import in_order
from tilewright.graph.operators.operator import Attributes, ByKernel, Work, ints, text
from tilewright.ops.resize import Resize as ResizeWork


class Resize(ByKernel):
    """X at `size`; mode, coordinates and rounding are those of `ops.Resize`."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        self.work(inputs, attributes)
        return Type(ints(attributes, "size"), inputs[0].dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        made = ResizeWork(
            X.shape, ints(attributes, "size"), text(attributes, "mode"),
            text(attributes, "coordinates"), text(attributes, "rounding"), X.dtype,
        )  # fmt: skip
        return Work(made, ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {**attributes, "size": in_order(ints(attributes, "size"), order)}
