"""Which operator of `ops` does the work of each node of an optimized graph."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tilewright.errors import ModelError
from tilewright.graph.ir import Graph, Node, Shape
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.elementwise import Add, Relu, Transpose
from tilewright.ops.gather import Gather
from tilewright.ops.pool2d import GlobalAveragePool, Pool2d
from tilewright.tuning.task import Operator

# The names of an operator's tensors, in the order of a node's inputs.
_ROLES = {"conv2d": ("X", "W", "B", "R"), "dense": ("X", "W", "B"), "add": ("X", "R"),
          "gather": ("X", "I")}  # fmt: skip


def operator_of(node: Node, graph: Graph, tolerance: float) -> Operator | None:
    """Return the operator that computes a node; None for a reshape, which computes nothing."""
    values = graph.values
    shapes = [values[name].shape for name in node.inputs]
    a = cast(dict[str, Any], dict(node.attributes))
    match node.op:
        case "reshape":
            return None
        case "conv2d":
            return _conv2d(shapes, a, tolerance)
        case "dense":
            (m, k), (_, n) = shapes[:2]
            return Dense(m, k, n, bool(a["bias"]), relu=bool(a["relu"]))
        case "pool2d":
            n, h, w, c = shapes[0]
            return Pool2d(
                a["kind"], n, h, w, c, a["kernel"], a["strides"], a["pads"],
                bool(a["count_include_pad"]),
            )  # fmt: skip
        case "global_average_pool":
            n, h, w, c = shapes[0]
            return GlobalAveragePool(n, h, w, c)
        case "gather":
            x, i = shapes
            return Gather(x, i, a["axis"], index_dtype=values[node.inputs[1]].dtype)
        case "transpose":
            return Transpose(shapes[0], a["perm"])
        case "relu":
            return Relu(int(np.prod(shapes[0], dtype=np.int64)))
        case "add":
            x, r = shapes
            return Add(x, (1,) * (len(x) - len(r)) + r)
        case _:
            raise ModelError(f"cannot compile {node.name!r}: there is no kernel for {node.op!r}.")


def _conv2d(shapes: list[Shape], a: dict[str, Any], tolerance: float) -> Conv2d:
    (n, h, w, ci), (kh, kw, _, co) = shapes[:2]
    return Conv2d(
        n, h, w, ci, co, (kh, kw), a["strides"], a["pads"], a["dilations"], a["groups"],
        bool(a["bias"]), bool(a["residual"]), bool(a["relu"]), tolerance=tolerance,
    )  # fmt: skip


def arguments(node: Node, operator: Operator) -> dict[str, str | np.ndarray]:
    """Return, for each tensor of the operator, the graph's value or an array of its own."""
    roles = list(_ROLES.get(node.op, ("X",)))
    if node.op == "conv2d" and not node.attributes["bias"]:
        roles.remove("B")
    found: dict[str, str | np.ndarray] = dict(zip(roles, node.inputs, strict=False))
    if isinstance(operator, Pool2d):
        found["D"] = operator.divisors()
    return found
