"""What recurrent cells do with the gates of each unit: a program of one element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops import fields
from tilewright.ops.map import summary
from tilewright.ops.program import Program


@dataclass(frozen=True)
class Gates:
    """A program of the gates of each unit: out (batch, hidden) of X0, X1, …

    Input i is (batch, gates[i], hidden), seen without its middle dimension for one gate, and
    without its first if `shared[i]`: it is the same for the whole batch. Values of the program are
    the gates of X0 in their order, then those of X1, and so on.
    """

    program: Program
    batch: int
    hidden: int
    gates: tuple[int, ...]
    shared: tuple[bool, ...]
    dtypes: tuple[str, ...]

    def __post_init__(self) -> None:
        given: Any = self.program
        counts = {len(self.gates), len(self.shared), len(self.dtypes)}
        if not isinstance(given, Program) or len(counts) > 1 or given.inputs != sum(self.gates):
            raise ExpressionError(
                f"gates {self.gates} of inputs that are shared {self.shared} and of {self.dtypes}: "
                "give one of each for every input, and a program of as many inputs as gates."
            )

    @property
    def name(self) -> str:
        made = self.program.typed(self._kinds()).dtype
        return f"{summary(self.program)} of gates {self.batch}x{self.hidden}{fields.of(made)}"

    def expression(self) -> te.Tensor:
        n, u = te.Axis("n", self.batch), te.Axis("u", self.hidden)
        values: list[Scalar] = []
        inputs = zip(self.gates, self.shared, self.dtypes, strict=True)
        for i, (count, shared, dtype) in enumerate(inputs):
            several = (count,) if count > 1 else ()
            shape = (*(() if shared else (self.batch,)), *several, self.hidden)
            tensor = te.tensor(f"X{i}", shape, dtype)
            first: tuple[Any, ...] = () if shared else (n,)
            for gate in range(count):
                values.append(tensor[(*first, *((gate,) if several else ()), u)])
        return te.stage("out", (n, u), self.program(values))

    def _kinds(self) -> list[str]:
        pairs = zip(self.gates, self.dtypes, strict=True)
        return [dtype for count, dtype in pairs for _ in range(count)]
