"""One node, as imported and as optimized, against the reference evaluator of the onnx package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator
from tests.graph.compare import compare

from tilewright.graph.ir import Graph


def agrees(
    folder: Path,
    op: str,
    arrays: Sequence[np.ndarray | None],
    *,
    constant: Sequence[int] = (),
    outputs: int = 1,
    opset: int = 23,
    tolerance: float = 2e-5,
    compiled: bool = False,
    **attributes: Any,
) -> Graph:
    """Compare a node of these inputs, of which None is left out; return the optimized graph.

    Those whose numbers are in `constant` are so in the model.
    """
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(arrays)]
    made = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, made, **attributes)
    given = {n: a for n, a in zip(names, arrays, strict=True) if a is not None}
    graph = helper.make_graph(
        [node],
        "test",
        [
            helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(a.dtype), list(a.shape)
            )
            for n, a in given.items()
        ],
        [helper.make_empty_tensor_value_info(n) for n in made],
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, ir_version=10, opset_imports=opsets)
    with np.errstate(all="ignore"):
        wanted: Any = ReferenceEvaluator(model).run(None, dict(given))
    constants = {names[i]: given.pop(names[i]) for i in constant}
    return compare(
        folder, [node], given, constants, made, opset=opset, compiled=compiled,
        wanted=[np.asarray(w) for w in wanted], tolerance=tolerance,
    )  # fmt: skip
