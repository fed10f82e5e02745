"""Images read between their pixels, at places that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from tilewright.graph.ir import Type
from tilewright.graph.operators.operator import (
    Attributes,
    ByKernel,
    Work,
    integer,
    ints,
    number,
    refuse_unless,
    text,
)
from tilewright.ops import sample as works


class GridSample(ByKernel):
    """X (n, c, *size) at places G (n, *out, dimensions); attributes mode, padding and corners."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        X, G = inputs
        refuse_unless(
            len(X.shape) == len(G.shape) >= 3
            and X.shape[0] == G.shape[0]
            and G.shape[-1] == len(X.shape) - 2
            and X.dtype == G.dtype,
            f"a grid of {G.dtype} and shape {G.shape} has no place in an image of {X.dtype} and "
            f"shape {X.shape}.",
        )
        self.work(inputs, attributes)
        return Type((*X.shape[:2], *G.shape[1:-1]), X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, G = inputs
        made = works.GridSample(
            X.shape[0], X.shape[1], X.shape[2:], G.shape[1:-1], text(attributes, "mode"),
            text(attributes, "padding"), bool(attributes["corners"]), X.dtype,
        )  # fmt: skip
        return Work(made, ("X", "G"))


class RoiAlign(ByKernel):
    """X (n, c, height, width) in boxes (r, 4) of the images (r,), as `ops.sample.RoiAlign`."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        X, boxes, images = inputs
        refuse_unless(
            len(X.shape) == 4 and len(images.shape) == 1 and "int" in images.dtype
            and boxes.shape == (*images.shape, 4) and X.dtype == boxes.dtype,
            f"boxes of shape {boxes.shape} of images of shape {images.shape} have no place in an "
            f"image of shape {X.shape}.",
        )  # fmt: skip
        self.work(inputs, attributes)
        return Type((boxes.shape[0], X.shape[1], *ints(attributes, "out")), X.dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        X, boxes, images = inputs
        n, c, *size = X.shape
        size, out = cast(Any, (tuple(size), ints(attributes, "out")))
        made = works.RoiAlign(
            n, c, size, boxes.shape[0], out, integer(attributes, "samples"),
            number(attributes, "scale"), text(attributes, "kind"), bool(attributes["half"]),
            X.dtype, images.dtype,
        )  # fmt: skip
        return Work(made, ("X", "R", "N"))
