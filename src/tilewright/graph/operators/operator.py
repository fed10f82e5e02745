"""What an operator of a graph is, and how its attributes are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tilewright.errors import ModelError
from tilewright.expr.interpret import evaluate
from tilewright.graph.ir import Attribute, Shape, Type
from tilewright.tuning.task import Operator as Kernel

Attributes = Mapping[str, Attribute]


@dataclass(frozen=True)
class Work:
    """What computes a node: an operator of `ops`, whose tensors `names` are the node's inputs.

    They are seen in the shapes that it declares; `extra` holds further constants that it reads.
    """

    kernel: Kernel
    names: tuple[str, ...]
    extra: Mapping[str, np.ndarray] = field(default_factory=dict[str, np.ndarray])


class Operator(Protocol):
    """Pure functions of the inputs, in order, and the attributes."""

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        """Return the type of the output; raise `ModelError` if the inputs do not fit."""
        ...

    def compute(
        self, arrays: Sequence[np.ndarray], inputs: Sequence[Type], attributes: Attributes
    ) -> np.ndarray:
        """Compute the output with NumPy; floats may be in float64, and arrays are not changed."""
        ...

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        """Return what computes the output on the machine."""
        ...

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        """Return the attributes for inputs whose axes are put in `order`, as the output's are then.

        Inputs have the output's rank, or are repeated to it. None if that cannot be.
        """
        ...


class ByKernel:
    """An operator that means what its kernel's expression does; others override what they can."""

    def compute(
        self, arrays: Sequence[np.ndarray], inputs: Sequence[Type], attributes: Attributes
    ) -> np.ndarray:
        work = self.work(inputs, attributes)
        expression = work.kernel.expression()
        shapes = {t.name: t.shape for t in expression.inputs}
        given = {**dict(zip(work.names, arrays, strict=True)), **work.extra}
        feed = {name: given[name].reshape(shape) for name, shape in shapes.items()}
        with np.errstate(all="ignore"):
            made = evaluate(expression, feed)[expression.name]
        return made.reshape(self.infer(inputs, attributes).shape)

    def infer(self, inputs: Sequence[Type], attributes: Attributes) -> Type:
        raise NotImplementedError

    def work(self, inputs: Sequence[Type], attributes: Attributes) -> Work:
        raise NotImplementedError

    def permuted(self, attributes: Attributes, order: Shape) -> Attributes | None:
        return None


def ints(attributes: Attributes, name: str) -> tuple[int, ...]:
    value: Any = attributes[name]
    assert isinstance(value, tuple), (name, value)
    return value  # pyright: ignore[reportUnknownVariableType]


def integer(attributes: Attributes, name: str) -> int:
    value = attributes[name]
    assert isinstance(value, int), (name, value)
    return value


def text(attributes: Attributes, name: str) -> str:
    value = attributes[name]
    assert isinstance(value, str), (name, value)
    return value


def number(attributes: Attributes, name: str) -> float:
    value = attributes[name]
    assert isinstance(value, int | float), (name, value)
    return float(value)


def refuse_unless(fits: bool, problem: str) -> None:
    if not fits:
        raise ModelError(problem)


def one_type(what: str, inputs: Sequence[Type]) -> str:
    """Return the element type of all inputs; refuse several."""
    found = {t.dtype for t in inputs}
    refuse_unless(len(found) == 1, f"{what} of {', '.join(sorted(found))}: the types must agree.")
    return inputs[0].dtype


def window(
    size: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    dilations: Sequence[int],
) -> Shape:
    """Return how many windows of `kernel` taps fit into an image in each dimension."""
    count = len(size)
    around = [n + pads[d] + pads[d + count] for d, n in enumerate(size)]
    reach = [dilation * (taps - 1) + 1 for taps, dilation in zip(kernel, dilations, strict=True)]
    made = tuple((n - r) // s + 1 for n, r, s in zip(around, reach, strides, strict=True))
    shown, image = "x".join(map(str, kernel)), "x".join(map(str, size))
    refuse_unless(
        min(made) >= 1,
        f"a window of {shown} (dilated {tuple(dilations)}) does not fit an image of {image} padded "
        f"by {tuple(pads)}; give a larger image.",
    )
    return made
