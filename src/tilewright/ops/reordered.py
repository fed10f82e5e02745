"""An operator that reads a tensor whose axes lie in memory in another order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.flat import flatten, restore
from tilewright.expr.parts import rebuild
from tilewright.expr.scalar import Load, Scalar
from tilewright.ops.around import Around


@dataclass(frozen=True)
class Reordered(Around):
    """The work of another operator, whose tensor `tensor` is given with its axes in `order`.

    As numpy.transpose counts them: axis i of what is given is axis `order[i]` of what `work` reads.
    An image with channels first is so read by a convolution that works channels last.
    """

    tensor: str
    order: tuple[int, ...]

    def __post_init__(self) -> None:
        shapes = {t.name: t.shape for t in self.work.expression().inputs}
        rank = len(shapes.get(self.tensor, ()))
        if self.tensor not in shapes or sorted(self.order) != list(range(rank)):
            raise ExpressionError(
                f"cannot read {self.tensor!r} of {self.work.name} in the order {self.order}: it "
                f"reads {', '.join(f'{name} {shape}' for name, shape in shapes.items())}; name one "
                "of them and each of its axes once."
            )

    @property
    def name(self) -> str:
        return f"{self.work.name} of {self.tensor} in order {self.order}"

    def expression(self) -> te.Tensor:
        parts: list[tuple[Any, ...]] = []
        for name, shape, dtype, constant, stage, *rest in flatten(self.work.expression()):
            if name == self.tensor:
                shape = tuple(shape[axis] for axis in self.order)
            if stage is not None:
                stage = replace(stage, value=self._changed(stage.value))
            parts.append((name, shape, dtype, constant, stage, *rest))
        return restore(parts)

    def _changed(self, value: Scalar) -> Scalar:
        if isinstance(value, te.Reduce):
            return replace(value, value=rebuild(value.value, self._moved))
        return rebuild(value, self._moved)

    def _moved(self, part: Scalar) -> Scalar:
        if not isinstance(part, Load) or part.buffer != self.tensor:
            return part
        index = tuple(part.index[axis] for axis in self.order)
        gathered = tuple((self.order.index(d), value) for d, value in part.gathered)
        return replace(part, index=index, gathered=tuple(sorted(gathered, key=lambda g: g[0])))
