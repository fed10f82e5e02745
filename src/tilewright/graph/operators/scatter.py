"""Writing elements and slices over a tensor, at places that are data."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph.ir import Type
from tilewright.graph.operators.movement import check_indices
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    one_type,
    refuse_unless,
    text,
)
from tilewright.ops import scatter


class ScatterElements(ByKernel):
    """X, with elements of U written over it at indices I along `axis`: inputs X, I, U.

    Of several that meet the last stays; with `kind` add, mul, max or min all are combined with what
    was there.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        X, indices, U = inputs
        check_indices(indices)
        self.work(inputs, attributes)
        refuse_unless(
            U.shape == indices.shape,
            f"updates of shape {U.shape} for indices of shape {indices.shape}: each has one.",
        )
        return Type(X.shape, one_type("a scatter", (X, U)))

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, indices, _ = inputs
        axis, kind = integer(attributes, "axis"), text(attributes, "kind")
        made = scatter.ScatterElements(X.shape, indices.shape, axis, kind, X.dtype, indices.dtype)
        return Work(made, ("X", "I", "U"))


class ScatterNd(ByKernel):
    """X, with slices U written over it at places I, of (.., depth), in its first dimensions."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        X, indices, U = inputs
        check_indices(indices)
        self.work(inputs, attributes)
        wanted = (*indices.shape[:-1], *X.shape[indices.shape[-1] :])
        refuse_unless(
            U.shape == wanted,
            f"updates of shape {U.shape} at indices of shape {indices.shape} in a tensor of shape "
            f"{X.shape}: they have the shape {wanted}.",
        )
        return Type(X.shape, one_type("a scatter", (X, U)))

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, indices, _ = inputs
        kind = text(attributes, "kind")
        made = scatter.ScatterNd(X.shape, indices.shape, kind, X.dtype, indices.dtype)
        return Work(made, ("X", "I", "U"))
