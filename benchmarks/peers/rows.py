"""Work that memory limits, with its answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.expr.interpret import evaluate
from tilewright.ops.matvec import MatVec
from tilewright.ops.norm import LayerNorm
from tilewright.ops.softmax import Softmax
from tilewright.runtime.memory import aligned
from tilewright.tuning.task import Operator

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Rows:
    """One benchmark: what to compute, and the ONNX operator that does (its inputs in order)."""

    name: str
    operator: Operator | tw.Tensor
    onnx: str
    attributes: dict[str, Any]
    inputs: tuple[str, ...]  # names of our tensors, in the order of the operator's inputs

    @cached_property
    def expression(self) -> tw.Tensor:
        return self.operator if isinstance(self.operator, tw.Tensor) else self.operator.expression()

    @cached_property
    def constants(self) -> frozenset[str]:
        """The inputs whose values never change."""
        return frozenset(t.name for t in self.expression.inputs if t.constant)

    @cached_property
    def data(self) -> dict[str, Array]:
        """The arrays that every subject is given; they start on a cache line, as a library's do."""
        rng = np.random.default_rng(0)
        return {
            t.name: aligned(rng.standard_normal(t.shape, np.float32))
            for t in self.expression.inputs
        }

    @cached_property
    def varying(self) -> list[Array]:
        """The inputs that are not constant, in the operator's order."""
        return [self.data[name] for name in self.inputs if name not in self.constants]

    @cached_property
    def answer(self) -> Array:
        return evaluate(self.expression, self.data)[self.expression.name]

    @cached_property
    def largest(self) -> Array:
        """What is read most of, in one dimension."""
        return max(self.data.values(), key=lambda array: array.nbytes).ravel()

    @property
    def nbytes(self) -> int:
        """Bytes read and written, each once."""
        return sum(a.nbytes for a in self.data.values()) + 4 * self.answer.size


def gelu(size: int) -> tw.Tensor:
    x = tw.tensor("X", (size,))
    return tw.compute("gelu", (size,), lambda i: x[i] * 0.5 * (tw.erf(x[i] * 0.5**0.5) + 1.0))


EPSILON = 1e-5


def softmax(rows: int, columns: int) -> Rows:
    return Rows("softmax", Softmax((rows, columns)), "Softmax", {"axis": -1}, ("X",))


def layer_norm(rows: int, columns: int) -> Rows:
    settings = {"axis": -1, "epsilon": EPSILON}
    norm = LayerNorm((rows, columns))
    return Rows("layer norm", norm, "LayerNormalization", settings, ("X", "S", "B"))


def matvec(rows: int, columns: int) -> Rows:
    return Rows("matvec", MatVec(rows, columns), "MatMul", {}, ("W", "X"))


WORK: dict[str, Rows] = {
    work.name: work
    for work in (
        softmax(1024, 1024),
        layer_norm(512, 768),
        Rows("gelu", gelu(1 << 20), "Gelu", {}, ("X",)),
        matvec(4096, 4096),
    )
}
