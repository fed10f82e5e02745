"""An operator whose weights are given at run time: nothing of it is packed ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tilewright.expr.tensor as te
from tilewright.expr.flat import flatten, restore


@dataclass(frozen=True)
class Varying:
    """The work of another operator, in which the tensors named are inputs and no constants."""

    work: Any
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.work.name} +varying {' '.join(self.names)}"

    def expression(self) -> te.Tensor:
        return restore(
            [
                (name, shape, dtype, constant and name not in self.names, *rest)
                for name, shape, dtype, constant, *rest in flatten(self.work.expression())
            ]
        )
