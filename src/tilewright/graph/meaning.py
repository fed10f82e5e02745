"""What a node makes of its inputs: its type, and its value by NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright import dtypes
from tilewright.errors import ModelError
from tilewright.graph.ir import Node, Shape, Type
from tilewright.graph.operators import OPERATORS
from tilewright.graph.operators.elementwise import Elementwise, applied
from tilewright.graph.operators.operator import Attributes
from tilewright.ops.program import Program

Reads = tuple[tuple[int, Shape], ...]


def type_of(
    op: str,
    inputs: Sequence[Type],
    attributes: Attributes,
    then: Program | None = None,
    reads: Reads = (),
) -> Type:
    """Return the type of what a node makes; raise `ModelError` if its inputs do not fit."""
    count = len(inputs) - (then.inputs - 1 if then else 0)
    made = OPERATORS[op].infer(seen(inputs[:count], reads), attributes)
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
    operands, orders = list(arrays[:count]), dict(node.reads)
    for i, perm in orders.items():
        operands[i] = operands[i].transpose(perm)
    kinds = seen(types[:count], node.reads)
    made = OPERATORS[node.op].compute(operands, kinds, node.attributes)
    if node.then is None:
        return made
    result = OPERATORS[node.op].infer(kinds, node.attributes)
    given = {"program": node.then}
    return Elementwise().compute([made, *arrays[count:]], [result, *types[count:]], given)


def seen(inputs: Sequence[Type], reads: Reads) -> list[Type]:
    """Return the types of operands as the operator sees them."""
    orders = dict(reads)
    return [
        t._replace(shape=tuple(t.shape[axis] for axis in orders[i])) if i in orders else t
        for i, t in enumerate(inputs)
    ]


def stored(array: np.ndarray, dtype: str) -> np.ndarray:
    """Return a computed array as a value of `dtype` is stored."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(array, dtypes.numpy(dtype)).reshape(array.shape)  # () as well
