"""Operators of ONNX Runtime's own domain, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.graph.models import by_onnxruntime, floats

from tilewright.graph.builder import Builder
from tilewright.graph.interpret import interpret
from tilewright.graph.ir import Value
from tilewright.graph.onnx import contrib
from tilewright.graph.onnx.source import Scope, Source
from tilewright.graph.passes import optimize
from tilewright.graph.verify import verify

RNG = np.random.default_rng(0)
X, ROW = floats(RNG, 2, 3, 8), floats(RNG, 8)

Importer = Callable[[Source], str | tuple[str, ...]]
CASES: list[tuple[str, Importer, list[np.ndarray], dict[str, Any], int]] = [
    ("FusedMatMul", contrib.fused_matmul, [X, X], {"transB": 1, "alpha": 0.3}, 1),
    ("FusedMatMul", contrib.fused_matmul, [X, floats(RNG, 8, 4)], {}, 1),
    ("FusedMatMul", contrib.fused_matmul, [X, X], {"transA": 1}, 1),
    ("Gelu", contrib.gelu(tanh=False), [X], {}, 1),
    ("BiasGelu", contrib.gelu(tanh=False), [X, ROW], {}, 1),
    ("FastGelu", contrib.gelu(tanh=True), [X, ROW], {}, 1),
    ("FastGelu", contrib.gelu(tanh=True), [X], {}, 1),
    ("QuickGelu", contrib.quick_gelu, [X], {}, 1),
    ("QuickGelu", contrib.quick_gelu, [X], {"alpha": 1.1}, 1),
    ("SkipLayerNormalization", contrib.skip_norm(rms=False), [X, 2 * X, ROW, ROW], {}, 1),
    ("SkipLayerNormalization", contrib.skip_norm(rms=False), [X, 2 * X, ROW], {}, 1),
    ("SkipLayerNormalization", contrib.skip_norm(rms=False), [X, X, ROW, ROW, ROW],
     {"epsilon": 1e-3}, 4),
    ("SkipSimplifiedLayerNormalization", contrib.skip_norm(rms=True), [X, X, ROW], {}, 1),
    ("SkipSimplifiedLayerNormalization", contrib.skip_norm(rms=True), [X, X, ROW, ROW], {}, 4),
]  # fmt: skip


@pytest.mark.parametrize(("op", "importer", "arrays", "attributes", "outputs"), CASES)
def test_as_onnxruntime_does(
    tmp_path: Path,
    op: str,
    importer: Importer,
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
    builder = Builder([Value(n, a.shape) for n, a in given.items()], {})
    scope = Scope(builder, {}, {n: n for n in given})
    results = importer(Source(node, scope, 1))
    every = (results,) if isinstance(results, str) else results
    found = [value for name, value in zip(names, every, strict=True) if name]
    imported = verify(builder.finish(found))
    for wanted, *got in zip(
        by_onnxruntime(path, given),
        interpret(imported, arrays),
        interpret(verify(optimize(imported)), arrays),
        strict=True,
    ):
        for array in got:
            np.testing.assert_allclose(array, wanted, 2e-5, 2e-5)
