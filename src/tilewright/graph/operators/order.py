"""What depends on the order of elements: running totals, and the greatest of them sorted."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.operator import Attributes, ByKernel, Work, integer, text
from tilewright.ops import scan, sort


class Scan(ByKernel):
    """Sums or products (`kind`: sum or prod) of X up to each place along `axis`.

    `exclusive` and `reverse` are 0 or 1.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        self.work(inputs, attributes)
        return Type(inputs[0].shape, inputs[0].dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        exclusive, reverse = bool(attributes["exclusive"]), bool(attributes["reverse"])
        kind, axis = text(attributes, "kind"), integer(attributes, "axis")
        return Work(scan.Scan(kind, X.shape, axis, exclusive, reverse, X.dtype), ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {**attributes, "axis": order.index(integer(attributes, "axis"))}


class TopK(ByKernel):
    """The indices, in int64, of the `count` greatest elements along `axis`, in order.

    With `least` (0 or 1) of the least.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        (X,), axis = inputs, integer(attributes, "axis")
        self.work(inputs, attributes)
        count = integer(attributes, "count")
        return Type((*X.shape[:axis], count, *X.shape[axis + 1 :]), "int64")

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,) = inputs
        count, axis = integer(attributes, "count"), integer(attributes, "axis")
        return Work(sort.TopK(X.shape, count, axis, bool(attributes["least"]), X.dtype), ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return {**attributes, "axis": order.index(integer(attributes, "axis"))}
