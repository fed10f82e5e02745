"""Random nodes of single elements, and of reductions and rows of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.networks.growing import FLOAT, Growing, Refused

UNARY: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Relu", {}), ("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("Exp", {}), ("Neg", {}),
    ("Abs", {}), ("Erf", {}), ("Elu", {"alpha": 0.7}), ("LeakyRelu", {"alpha": 0.2}), ("Selu", {}),
    ("Celu", {}), ("HardSigmoid", {}), ("HardSwish", {}), ("Softplus", {}), ("Softsign", {}),
    ("ThresholdedRelu", {"alpha": 0.3}), ("Gelu", {}), ("Gelu", {"approximate": "tanh"}),
    ("Mish", {}), ("Shrink", {"lambd": 0.4, "bias": 0.1}), ("Floor", {}), ("Ceil", {}),
    ("Round", {}), ("Sign", {}), ("Sin", {}), ("Cos", {}), ("Atan", {}), ("Sinh", {}),
    ("Asinh", {}), ("Identity", {}),
)  # fmt: skip
INTEGERS = ("int32", "int64", "int8", "uint8")
NUMBERS = (FLOAT, FLOAT, FLOAT, "float64", *INTEGERS)
ANY = (*NUMBERS, "bool")


def unary(g: Growing) -> str:
    op, attributes = g.some(*UNARY)
    return g.node(op, [g.tensor()], **attributes)


def bounded(g: Growing) -> str:
    """A function that is not defined everywhere, of what is made fit for it."""
    if g.chance(0.4):
        inside = g.node("Tanh", [g.tensor()])
        return g.node(g.some("Asin", "Acos"), [inside])
    low = g.node("Add", [g.node("Abs", [g.tensor()]), g.constant(g.some(0.05, 1.0), FLOAT)])
    return g.node(g.some("Sqrt", "Log", "Reciprocal"), [low])


def clip(g: Growing) -> str:
    x, low, high = g.tensor(), g.some(-1.0, 0.0, -0.3), g.some(0.4, 1.0, 6.0)
    if g.opset < 11:
        return g.node("Clip", [x], min=low, max=high)
    ends = [g.constant(low, FLOAT), g.constant(high, FLOAT)]
    return g.node("Clip", [x, *g.some(ends, ends[:1], ["", ends[1]])])


def operand(g: Growing, x: str) -> str:
    """Return what `x` may be joined with: of its shape, or spread along some of its axes."""
    shape, dtype = g.shape(x), g.values[x].dtype.name
    near = [
        name
        for name, array in g.values.items()
        if array.dtype.name == dtype
        and all(
            a == b or 1 in (a, b)
            for a, b in zip(reversed(array.shape), reversed(shape), strict=False)
        )
    ]
    if g.chance(0.5):
        return g.some(*near)
    few = tuple(n if g.chance(0.5) else 1 for n in shape)
    few = few[g.pick.randrange(len(few) + 1) :] if g.chance(0.3) else few
    if dtype == g.float:
        return g.weight(*few)
    return g.constant(g.rng.integers(1, 5, few), dtype)


def binary(g: Growing) -> str:
    op = g.some("Add", "Add", "Add", "Mul", "Mul", "Sub", "Max", "Min", "PRelu")
    x = g.tensor(dtypes=NUMBERS)
    pair = [x, operand(g, x)]
    if op == "PRelu" and np.broadcast_shapes(*map(g.shape, pair)) != g.shape(x):
        raise Refused("a slope is repeated to what it is of, not the other way round")
    return g.node(op, pair if op == "PRelu" or g.chance(0.7) else pair[::-1])


def divide(g: Growing) -> str:
    x = g.tensor(dtypes=NUMBERS)
    dtype = g.values[x].dtype.name
    by = g.constant(g.rng.integers(1, 9, g.some((), g.shape(x)[-1:])), dtype)
    op = g.some("Div", "Pow", "Mod") if dtype in INTEGERS else "Div"
    return g.node(op, [x, by])


def many(g: Growing) -> str:
    x = g.tensor()
    return g.node(g.some("Sum", "Mean", "Max"), [x, operand(g, x), operand(g, x)])


def cast(g: Growing) -> str:
    types = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float64": 11}
    x = g.tensor(dtypes=ANY)
    small = g.values[x].dtype.kind == "f"
    to = g.some(*(("int32", "int64", "bool", "float64") if small else tuple(types)))
    return g.node("Cast", [x], to=types[to])


def compare(g: Growing) -> str:
    x = g.tensor(dtypes=(FLOAT, FLOAT, "int32", "int64"))
    return g.node(g.some("Less", "Greater", "LessOrEqual", "GreaterOrEqual"), [x, operand(g, x)])


def where(g: Growing) -> str:
    x = g.tensor(dtypes=(FLOAT, FLOAT, "int64"))
    condition = g.node(g.some("Less", "Greater"), [x, operand(g, x)])
    if g.chance(0.3):
        condition = g.node("Not", [condition])
    if g.chance(0.3):
        condition = g.node(g.some("And", "Or", "Xor"), [condition, condition])
    return g.node("Where", [condition, x, operand(g, x)])


def reduction(g: Growing) -> str:
    op = g.some("Mean", "Mean", "Sum", "Sum", "Max", "Min", "L1", "L2", "SumSquare", "Prod",
                "LogSumExp")  # fmt: skip
    x = g.tensor(1, 2, 3, 4, 5, dtypes=(FLOAT, FLOAT, FLOAT, "int32", "float64"))
    rank = len(g.shape(x))
    axes = sorted(g.pick.sample(range(rank), g.pick.randint(1, rank)))
    axes = [axis - rank if g.chance(0.3) and g.opset >= 11 else axis for axis in axes]
    keep = g.some(0, 1)
    if g.chance(0.1):
        return g.node(f"Reduce{op}", [x], keepdims=keep)
    if g.opset >= (13 if op == "Sum" else 18):
        return g.node(f"Reduce{op}", [x, g.indices(*axes)], keepdims=keep)
    return g.node(f"Reduce{op}", [x], axes=axes, keepdims=keep)


def rows(g: Growing) -> str:
    op = g.some("Softmax", "Softmax", "Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
    x = g.tensor(2, 3, 4)
    return g.node(op, [x], axis=g.pick.randrange(len(g.shape(x))))


def place(g: Growing) -> str:
    x = g.tensor(1, 2, 3, 4)
    axis = g.pick.randrange(len(g.shape(x)))
    return g.node(g.some("ArgMax", "ArgMin"), [x], axis=axis, keepdims=g.some(0, 1))


def running(g: Growing) -> str:
    x = g.tensor(1, 2, 3)
    axis = g.constant(g.pick.randrange(len(g.shape(x))), "int64")
    return g.node("CumSum", [x, axis], exclusive=g.some(0, 1), reverse=g.some(0, 1))


ELEMENTWISE = (
    unary, unary, unary, unary, bounded, clip, binary, binary, binary, binary, divide, many, cast,
    compare, where, reduction, reduction, reduction, rows, rows, place, running,
)  # fmt: skip
