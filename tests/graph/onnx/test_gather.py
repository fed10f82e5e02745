"""Gather: tables that token numbers index, and slices at indices that the model holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.graph.models import by_onnxruntime, floats, save

import tilewright as tw
from tilewright.errors import ModelError
from tilewright.graph.interpret import interpret
from tilewright.graph.onnx import load


def embedding(path: Path, kind: int = TensorProto.INT64, op: str = "Gather") -> Path:
    """Rows of a table at given tokens; of those the last, times weights."""
    rng = np.random.default_rng(0)
    constants = {"table": floats(rng, 50, 24), "w": floats(rng, 24, 16), "last": np.array(-1)}
    nodes = [
        helper.make_node(op, ["table", "tokens"], ["rows"], name="embed"),
        helper.make_node("Gather", ["rows", "last"], ["one"], name="pick", axis=1),
        helper.make_node("MatMul", ["one", "w"], ["y"], name="product"),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("tokens", kind, (3, 7))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return save(
        helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), path
    )


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_an_embedding_runs_as_in_onnxruntime(tmp_path: Path, dtype: str) -> None:
    kind = TensorProto.INT64 if dtype == "int64" else TensorProto.INT32
    path = embedding(tmp_path / "m.onnx", kind)
    tokens = np.random.default_rng(1).integers(-50, 50, (3, 7)).astype(dtype)
    (wanted,) = by_onnxruntime(path, {"tokens": tokens})
    np.testing.assert_allclose(interpret(load(path), [tokens])[0], wanted, rtol=1e-5, atol=1e-5)
    module = tw.compile(tw.load_onnx(path))
    assert str(module.inputs[0]) == f"tokens: {dtype} 3x7"
    np.testing.assert_allclose(module(tokens), wanted, rtol=1e-5, atol=1e-5)
    assert np.isfinite(module(tokens * 10**6)).all()  # what ONNX Runtime refuses reads some row


def test_indices_are_integers(tmp_path: Path) -> None:
    path = embedding(tmp_path / "m.onnx", op="Add")
    with pytest.raises(ModelError, match=r"shapes \(50, 24\) and \(3, 7\) do not fit each other"):
        load(path)
    path = embedding(tmp_path / "m.onnx", TensorProto.FLOAT)
    with pytest.raises(ModelError, match="indices are of type float32; they must be integers"):
        load(path)


def test_tokens_of_another_type_are_refused(tmp_path: Path) -> None:
    module = tw.compile(tw.load_onnx(embedding(tmp_path / "m.onnx")))
    with pytest.raises(tw.errors.ArgumentError, match="tokens: int64 3x7 is given as int32"):
        module(np.zeros((3, 7), np.int32))
