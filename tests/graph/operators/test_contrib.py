"""Operators of ONNX Runtime's own domain, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.graph.models import by_onnxruntime, floats

from tilewright.graph.interpret import interpret
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.verify import verify

RNG = np.random.default_rng(0)
X, ROW = floats(RNG, 2, 3, 8), floats(RNG, 8)

CASES: list[tuple[str, list[np.ndarray], dict[str, Any], int]] = [
    ("FusedMatMul", [X, X], {"transB": 1, "alpha": 0.3}, 1),
    ("FusedMatMul", [X, floats(RNG, 8, 4)], {}, 1),
    ("FusedMatMul", [X, X], {"transA": 1}, 1),
    ("Gelu", [X], {}, 1),
    ("BiasGelu", [X, ROW], {}, 1),
    ("FastGelu", [X, ROW], {}, 1),
    ("FastGelu", [X], {}, 1),
    ("QuickGelu", [X], {}, 1),
    ("QuickGelu", [X], {"alpha": 1.1}, 1),
    ("SkipLayerNormalization", [X, 2 * X, ROW, ROW], {}, 1),
    ("SkipLayerNormalization", [X, 2 * X, ROW], {}, 1),
    ("SkipLayerNormalization", [X, X, ROW, ROW, ROW],
     {"epsilon": 1e-3}, 4),
    ("SkipSimplifiedLayerNormalization", [X, X, ROW], {}, 1),
    ("SkipSimplifiedLayerNormalization", [X, X, ROW, ROW], {}, 4),
]  # fmt: skip


@pytest.mark.parametrize(("op", "arrays", "attributes", "outputs"), CASES)
def test_as_onnxruntime_does(
    tmp_path: Path,
    op: str,
    arrays: list[np.ndarray],
    attributes: dict[str, Any],
    outputs: int,
) -> None:
    given = {f"x{i}": array for i, array in enumerate(arrays)}
    names = ["y0", *["", "", "y3"][: outputs - 1]]
    node = helper.make_node(op, list(given), names, domain="com.microsoft", **attributes)
    made = [name for name in names if name]
    graph = helper.make_graph(
        [node],
        "test",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in given.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in made],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "model.onnx"
    path.write_bytes(
        helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
    )
    imported = verify(load(path))
    for wanted, *got in zip(
        by_onnxruntime(path, given),
        interpret(imported, arrays),
        interpret(verify(optimize(imported)), arrays),
        strict=True,
    ):
        for array in got:
            np.testing.assert_allclose(array, wanted, 2e-5, 2e-5)
