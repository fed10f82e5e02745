"""What a node makes of its inputs: its type, and its value by NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright import dtypes
from tilewright.errors import ModelError
from tilewright.graph.ir import Node, Type
from tilewright.graph.operators import OPERATORS
from tilewright.graph.operators.elementwise import Elementwise, applied
from tilewright.graph.operators.operator import Attributes
from tilewright.ops.program import Program


def type_of(
    op: str, inputs: Sequence[Type], attributes: Attributes, then: Program | None = None
) -> Type:
    """Return the type of what a node makes; raise `ModelError` if its inputs do not fit."""
    count = len(inputs) - (then.inputs - 1 if then else 0)
    made = OPERATORS[op].infer(inputs[:count], attributes)
    if then is None:
        return made
    after = applied(then, [made, *inputs[count:]])
    if after.shape != made.shape:
        raise ModelError(
            f"what follows {op} makes {after.shape} of its result of shape {made.shape}: it may "
            "repeat other operands, not the result."
        )
    return after


def value_of(node: Node, arrays: Sequence[np.ndarray], types: Sequence[Type]) -> np.ndarray:
    """Compute a node; floats are in the type that the operators compute them in."""
    count = len(node.operands)
    made = OPERATORS[node.op].compute(arrays[:count], types[:count], node.attributes)
    if node.then is None:
        return made
    result = OPERATORS[node.op].infer(types[:count], node.attributes)
    given = {"program": node.then}
    return Elementwise().compute([made, *arrays[count:]], [result, *types[count:]], given)


def stored(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return a computed array as a value of `dtype` is stored."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(array, dtypes.numpy(dtype)).reshape(array.shape)  # () as well
