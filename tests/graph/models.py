"""Small ONNX models for the tests, and ONNX Runtime to say what they compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

Dims = Sequence[int | str]


def floats(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return np.asarray(rng.standard_normal(shape), np.float32)


def write(
    path: Path,
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Dims | None],
    constants: Mapping[str, np.ndarray],
    outputs: Sequence[str] = ("y",),
    opset: int = 17,
) -> Path:
    """Write a model; nodes named by `helper.make_node` need not be complete for ONNX's checker."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, ir_version=8, opset_imports=opsets)
    path.write_bytes(model.SerializeToString())
    return path


def save(model: onnx.ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def by_onnxruntime(path: Path, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    from benchmarks.packages.check import by_onnxruntime

    return by_onnxruntime(path, arrays)
