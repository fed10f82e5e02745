"""What an operator of a graph is, and how its attributes are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from tilewright.errors import ModelError
from tilewright.graph.ir import Attribute, Shape

Attributes = Mapping[str, Attribute]


class Operator(Protocol):
    """Two pure functions of the inputs, in order, and the attributes."""

    def shape(self, inputs: Sequence[Shape], attributes: Attributes) -> Shape:
        """Return the shape of the output; raise `ModelError` if the inputs do not fit."""
        ...

    def compute(self, inputs: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
        """Compute the output in the element type of the inputs, which are not changed."""
        ...


def ints(attributes: Attributes, name: str) -> tuple[int, ...]:
    value = attributes[name]
    assert isinstance(value, tuple), (name, value)
    return value


def refuse_unless(fits: bool, problem: str) -> None:
    if not fits:
        raise ModelError(problem)


def window(
    size: Sequence[int], kernel: Sequence[int], attributes: Attributes, dilations: Sequence[int]
) -> tuple[int, int]:
    """Return the rows and columns that a window of `kernel` taps makes of an image of `size`."""
    top, left, bottom, right = ints(attributes, "pads")
    made: list[int] = []
    for extent, taps, stride, dilation in zip(
        (size[0] + top + bottom, size[1] + left + right),
        kernel,
        ints(attributes, "strides"),
        dilations,
        strict=True,
    ):
        made.append((extent - dilation * (taps - 1) - 1) // stride + 1)
    refuse_unless(
        min(made) >= 1,
        f"a window of {kernel[0]}x{kernel[1]} (dilated {tuple(dilations)}) does not fit an image "
        f"of {size[0]}x{size[1]} padded by {(top, left, bottom, right)}; give a larger image.",
    )
    return made[0], made[1]
