"""Images and others at another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.movement import in_order
from tilewright.graph.operators.operator import Attributes, ByKernel, Work, ints, number, text
from tilewright.ops.resize import Resize as ResizeWork


class Resize(ByKernel):
    """X at `size`; mode, coordinates, rounding and all others are those of `ops.Resize`.

    Of `regions` the starts of all dimensions come first, then their ends.
    """

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        self.work(inputs, attributes)
        return Type(ints(attributes, "size"), inputs[0].dtype)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        (X,), regions = inputs, _numbers(attributes, "regions")
        count = len(X.shape)
        made = ResizeWork(
            X.shape, ints(attributes, "size"), text(attributes, "mode"),
            text(attributes, "coordinates"), text(attributes, "rounding"), X.dtype,
            _numbers(attributes, "scales"),
            tuple(zip(regions[:count], regions[count:], strict=True)),
            number(attributes, "cubic"), bool(attributes["exclude_outside"]),
            bool(attributes["antialias"]),
        )  # fmt: skip
        return Work(made, ("X",))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        count = len(order)
        moved: dict[str, Any] = {"size": in_order(ints(attributes, "size"), order)}
        scales, regions = _numbers(attributes, "scales"), _numbers(attributes, "regions")
        if scales:
            moved["scales"] = tuple(scales[axis] for axis in order)
        if regions:
            moved["regions"] = tuple(regions[axis + k] for k in (0, count) for axis in order)
        return {**attributes, **moved}


def _numbers(attributes: Attributes, name: str) -> tuple[float, ...]:
    value: Any = attributes[name]
    assert isinstance(value, tuple), (name, value)
    return tuple(float(each) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
