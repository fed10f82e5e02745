"""An operator and what is done to each element of its result, as one piece of work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import tilewright.expr.tensor as te
from tilewright.errors import ExpressionError
from tilewright.expr.scalar import Scalar
from tilewright.ops.around import Around
from tilewright.ops.map import seen, seen_as, summary
from tilewright.ops.program import Program


class Work(Protocol):
    """An operator, as a task takes it."""

    @property
    def name(self) -> str: ...

    def expression(self) -> te.Tensor: ...


@dataclass(frozen=True, slots=True)
class Operand:
    """What a program reads beside the result: in each dimension of that as long, or 1."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    constant: bool = False


@dataclass(frozen=True)
class Fused(Around):
    """The result of `work`, and then a program of its elements and of operands E1, E2, ….

    Operand 0 of the program is an element of the result; operand i is E of that number, seen
    without the dimensions along which it is repeated. The space is that of `work`.
    """

    program: Program
    operands: tuple[Operand, ...] = ()

    def __post_init__(self) -> None:
        if self.program.inputs != 1 + len(self.operands):
            raise ExpressionError(
                f"a program of {self.program.inputs} inputs after {self.work.name} was given "
                f"{len(self.operands)} operands; the result of the work is its first input."
            )
        shape = self.work.expression().shape
        for operand in self.operands:
            if len(operand.shape) != len(shape) or any(
                n not in (1, whole) for n, whole in zip(operand.shape, shape, strict=True)
            ):
                raise ExpressionError(
                    f"an operand of shape {operand.shape} does not fit {self.work.name}, which "
                    f"makes {shape}: give it as many extents, each that of the result, or 1."
                )

    @property
    def name(self) -> str:
        return f"{self.work.name} +{summary(self.program)}"

    def expression(self) -> te.Tensor:
        """Return the stages of the work, the last of which applies the program, or is followed."""
        made: te.Tensor = self.work.expression()
        stage = made.stage
        assert stage is not None
        reduces = isinstance(stage.value, te.Reduce)
        if not reduces and not stage.at:
            axes, value = stage.axes, stage.value
            return te.stage(made.name, axes, self._applied(value, axes))
        names = [f"i{d}" if stage.at else axis.name for d, axis in enumerate(stage.axes)]
        axes = tuple(te.Axis(n, e) for n, e in zip(names, made.shape, strict=False))
        taken = {t.name for t in te.reach(made)}
        name = "out" if "out" not in taken else "fused"
        return te.stage(name, axes, self._applied(made[axes], axes))

    def _applied(self, value: Scalar, axes: tuple[te.Axis, ...]) -> Scalar:
        values = [value]
        for number, operand in enumerate(self.operands, 1):
            shape = seen_as(operand.shape)
            tensor = te.tensor(f"E{number}", shape, operand.dtype, constant=operand.constant)
            values.append(seen(tensor, operand.shape, axes))
        return self.program(values)


def fused(work: Work, program: Program, operands: tuple[Operand, ...] = ()) -> Fused:
    """Fuse a program behind work that may have one already."""
    if not isinstance(work, Fused):
        return Fused(work, program, operands)
    both = work.program.followed_by(program)
    return replace(work, program=both, operands=(*work.operands, *operands))
