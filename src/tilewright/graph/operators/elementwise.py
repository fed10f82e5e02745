"""Work on each element by itself, of tensors that are repeated to a common shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.errors import ExpressionError
from tilewright.graph.ir import Shape, Type
from tilewright.graph.operators.operator import Attributes, ByKernel, Work, refuse_unless
from tilewright.ops.map import Map
from tilewright.ops.program import Program


class Elementwise(ByKernel):
    """The attribute `program` of the elements of its inputs, as NumPy repeats them."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        return applied(_program(attributes), inputs)

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        program = _program(attributes)
        kernel = Map(program, tuple(t.shape for t in inputs), tuple(t.dtype for t in inputs))
        return Work(kernel, tuple(f"X{i}" for i in range(len(inputs))))

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes:
        return attributes


def applied(program: Program, inputs: Sequence[Type]) -> Type:
    """Return the type of what a program makes of inputs; raise `ModelError` if they do not fit."""
    try:
        shape = np.broadcast_shapes(*(t.shape for t in inputs))
        made = program.typed([t.dtype for t in inputs])
    except ValueError:
        shown = " and ".join(str(t.shape) for t in inputs)
        refuse_unless(False, f"tensors of shapes {shown} do not fit each other.")
        raise
    except ExpressionError as error:
        refuse_unless(False, str(error))
        raise
    return Type(shape, made.dtype)


def _program(attributes: Attributes) -> Program:
    program = attributes["program"]
    assert isinstance(program, Program)
    return program
