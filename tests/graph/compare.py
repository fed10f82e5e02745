"""A model as it was imported, optimized and compiled, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import NodeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from tests.graph.models import by_onnxruntime

import tilewright as tw
from tilewright.graph.interpret import interpret
from tilewright.graph.ir import Graph
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.verify import verify


def compare(
    folder: Path,
    nodes: Sequence[NodeProto],
    arrays: Mapping[str, np.ndarray],
    constants: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] = ("y",),
    *,
    opset: int = 17,
    compiled: bool = False,
    wanted: Sequence[np.ndarray] = (),
    reference: bool = False,
    tolerance: float = 2e-5,
) -> Graph:
    """Compare the numbers for these inputs, and return the optimized graph.

    What ONNX Runtime cannot do is `wanted`, or with `reference` what the package onnx computes.
    """
    path = write(folder / "model.onnx", nodes, arrays, constants or {}, outputs, opset)
    if wanted:
        expected = list(wanted)
    elif reference:
        expected = [np.asarray(a) for a in ReferenceEvaluator(str(path)).run(None, dict(arrays))]
    else:
        expected = by_onnxruntime(path, arrays)
    imported = verify(load(path))
    optimized = verify(optimize(imported))
    given = list(arrays.values())
    results = {
        "imported": interpret(imported, given),
        "optimized": interpret(optimized, given),
    }
    if compiled:
        made = tw.compile(tw.load_onnx(path), threads=1)(*given)
        results["compiled"] = list(made) if isinstance(made, tuple) else [made]
    for which, values in results.items():
        for want, got in zip(expected, values, strict=True):
            assert (want.shape, want.dtype) == (got.shape, got.dtype), which
            np.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=which)
    return optimized


def write(
    path: Path,
    nodes: Sequence[NodeProto],
    arrays: Mapping[str, np.ndarray],
    constants: Mapping[str, np.ndarray],
    outputs: Sequence[str],
    opset: int,
) -> Path:
    """Write a model whose inputs have the shapes and types of `arrays`."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in arrays.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    path.write_bytes(
        helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
    )
    return path


def kinds(graph: Graph) -> list[str]:
    """Return the operators of a graph, transpositions and changes of shape left out."""
    return [node.op for node in graph.nodes if node.op not in ("transpose", "reshape")]
