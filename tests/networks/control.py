"""Random loops of a known number of turns, branches, and what is rounded to bfloat16 inside."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from tests.networks.growing import Growing, Refused

STEPS = ("Relu", "Tanh", "Sigmoid", "Neg", "Abs")


def graph(
    g: Growing,
    nodes: Sequence[NodeProto],
    inputs: Sequence[tuple[str, str, Sequence[int]]],
    outputs: Sequence[tuple[str, str, Sequence[int]]],
    constants: dict[str, np.ndarray],
) -> GraphProto:
    """Return a graph for an attribute; inputs and outputs have a name, a type and a shape."""

    def told(values: Sequence[tuple[str, str, Sequence[int]]]) -> list[ValueInfoProto]:
        return [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(t)), s)
            for n, t, s in values
        ]

    held = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    return helper.make_graph(list(nodes), f"inner{len(g.nodes)}", told(inputs), told(outputs), held)


def turn(g: Growing, x: str, to: str, shape: Sequence[int], p: str) -> tuple[list[NodeProto], dict]:
    """Return nodes that make `to` of `x`, of the same shape, with the constants they read."""
    few = tuple(n if g.chance(0.6) else 1 for n in shape)
    constants = {f"{p}w": g.numbers(few)}
    first = helper.make_node(g.some("Add", "Mul", "Sub"), [x, f"{p}w"], [f"{p}a"])
    return [first, helper.make_node(g.some(*STEPS), [f"{p}a"], [to])], constants


def loop(g: Growing) -> str:
    """A state that each turn changes; it is kept of each turn now and then."""
    if g.opset < 11:
        raise Refused("in newer operator sets")
    x, p = g.tensor(1, 2, 3), f"loop{len(g.nodes)}_"
    shape, kept = g.shape(x), g.chance(0.5)
    nodes, constants = turn(g, f"{p}x", f"{p}y", shape, p)
    if g.chance(0.4):  # by the number of the turn
        to = TensorProto.DOUBLE if g.float == "float64" else TensorProto.FLOAT
        nodes = [
            helper.make_node("Cast", [f"{p}i"], [f"{p}n"], to=to),
            helper.make_node("Add", [f"{p}x", f"{p}n"], [f"{p}b"]),
            *nodes,
        ]
        nodes[2].input[0] = f"{p}b"
    nodes.append(helper.make_node("Identity", [f"{p}go"], [f"{p}on"]))
    made = [(f"{p}on", "bool", ()), (f"{p}y", g.float, shape)]
    if kept:
        nodes.append(helper.make_node("Identity", [f"{p}y"], [f"{p}z"]))
        made.append((f"{p}z", g.float, shape))
    given = [(f"{p}i", "int64", ()), (f"{p}go", "bool", ()), (f"{p}x", g.float, shape)]
    body = graph(g, nodes, given, made, constants)
    count = g.constant(g.some(1, 2, 3, 5), "int64")
    going = g.some("", g.constant(True, "bool"))
    return g.some(*g.several("Loop", [count, going, x], 2 if kept else 1, body=body))


def scan(g: Growing) -> str:
    """A state, and rows along the first dimension that it is joined with."""
    if g.opset < 11:
        raise Refused("in newer operator sets")
    x, p = g.tensor(2, 3), f"scan{len(g.nodes)}_"
    steps, *shape = g.shape(x)
    if steps > 8:
        raise Refused("long")
    joined = helper.make_node(g.some("Add", "Mul", "Max"), [f"{p}s", f"{p}x"], [f"{p}j"])
    nodes, constants = turn(g, f"{p}j", f"{p}t", shape, p)
    nodes = [joined, *nodes, helper.make_node("Identity", [f"{p}t"], [f"{p}y"])]
    given = [(f"{p}s", g.float, shape), (f"{p}x", g.float, shape)]
    made = [(f"{p}t", g.float, shape), (f"{p}y", g.float, shape)]
    body = graph(g, nodes, given, made, constants)
    back = {"scan_input_directions": [1]} if g.chance(0.3) else {}
    first = g.weight(*shape)
    made_of = g.several("Scan", [first, x], 2, body=body, num_scan_inputs=1, **back)
    return g.some(*made_of)


def branch(g: Growing) -> str:
    """A branch whose condition is known: weights are chosen, as exporters leave it in."""
    if g.opset < 11:
        raise Refused("in newer operator sets")
    p, shape = f"if{len(g.nodes)}_", g.drawn(g.some(1, 2, 3))
    ways = []
    for which in "yn":
        q = f"{p}{which}"
        nodes, constants = turn(g, f"{q}c", f"{q}y", shape, q)
        constants[f"{q}c"] = g.numbers(shape)
        ways.append(graph(g, nodes, [], [(f"{q}y", g.float, shape)], constants))
    condition = g.constant(g.chance(0.5), "bool")
    if g.chance(0.4):
        condition = g.input(np.asarray(g.chance(0.5)))
    return g.node("If", [condition], then_branch=ways[0], else_branch=ways[1])


def brain_floats(g: Growing) -> str:
    """Rounded to bfloat16, moved, and made float32: ONNX Runtime has no arrays of it outside."""
    if g.opset < 13 or g.float != "float32":
        raise Refused("in newer operator sets")
    x, p = g.tensor(2, 3, 4), f"short{len(g.nodes)}_"
    shape = g.shape(x)
    order = list(range(len(shape)))
    g.pick.shuffle(order)
    move = g.some(
        helper.make_node("Transpose", [f"{p}a"], [f"{p}b"], perm=order),
        helper.make_node("Identity", [f"{p}a"], [f"{p}b"]),
        helper.make_node("Concat", [f"{p}a", f"{p}a"], [f"{p}b"], axis=g.some(*order)),
    )
    after = list(shape)
    if move.op_type == "Transpose":
        after = [shape[d] for d in order]
    elif move.op_type == "Concat":
        after[move.attribute[0].i] *= 2
    nodes = [
        helper.make_node("Cast", [f"{p}x"], [f"{p}a"], to=TensorProto.BFLOAT16),
        move,
        helper.make_node("Cast", [f"{p}b"], [f"{p}z"], to=TensorProto.FLOAT),
        helper.make_node("Identity", [f"{p}go"], [f"{p}on"]),
        helper.make_node("Identity", [f"{p}x"], [f"{p}y"]),
    ]
    given = [(f"{p}i", "int64", ()), (f"{p}go", "bool", ()), (f"{p}x", g.float, shape)]
    made = [(f"{p}on", "bool", ()), (f"{p}y", g.float, shape), (f"{p}z", g.float, after)]
    body = graph(g, nodes, given, made, {})
    return g.several("Loop", [g.constant(1, "int64"), "", x], 2, body=body)[1]


CONTROL = (loop, loop, scan, branch, brain_floats, brain_floats)
