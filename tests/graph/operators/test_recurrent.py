"""LSTM, GRU and RNN, imported and compiled, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from tests.graph.models import by_onnxruntime, floats

import tilewright as tw
from tilewright.errors import ModelError
from tilewright.graph.verify import verify

STEPS, BATCH, INPUTS, HIDDEN = 3, 2, 5, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}

CASES: list[dict[str, Any]] = [
    {"op": "LSTM"},
    {"op": "LSTM", "direction": "bidirectional", "bias": True, "states": True},
    {"op": "LSTM", "direction": "reverse", "bias": True, "lengths": True, "states": True},
    {"op": "LSTM", "bias": True, "peepholes": True, "states": True},
    {"op": "LSTM", "bias": True, "clip": 0.4},
    {"op": "LSTM", "input_forget": 1, "activations": ["HardSigmoid", "Relu", "Tanh"]},
    {"op": "GRU", "bias": True},
    {"op": "GRU", "bias": True, "linear_before_reset": 1, "states": True},
    {"op": "GRU", "direction": "bidirectional", "lengths": True, "linear_before_reset": 1},
    {"op": "GRU", "direction": "reverse", "lengths": True, "bias": True},
    {"op": "RNN", "bias": True, "direction": "bidirectional", "states": True},
    {"op": "RNN", "activations": ["Affine"], "activation_alpha": [0.5],
     "activation_beta": [0.1]},
]  # fmt: skip


def model(case: dict[str, Any]) -> tuple[bytes, dict[str, np.ndarray]]:
    """Return a model of one node, whose weights are constant, and its inputs."""
    rng, case = np.random.default_rng(3), dict(case)
    op = case.pop("op")
    gates, ways = GATES[op], 2 if case.get("direction") == "bidirectional" else 1
    constants = {
        "W": floats(rng, ways, gates * HIDDEN, INPUTS),
        "R": floats(rng, ways, gates * HIDDEN, HIDDEN),
    }
    if case.pop("bias", False):
        constants["B"] = floats(rng, ways, 2 * gates * HIDDEN)
    if case.pop("peepholes", False):
        constants["P"] = floats(rng, ways, 3 * HIDDEN)
    arrays: dict[str, np.ndarray] = {"X": floats(rng, STEPS, BATCH, INPUTS)}
    if case.pop("lengths", False):
        arrays["L"] = np.array([3, 1], np.int32)
    if case.pop("states", False):
        arrays["H"] = floats(rng, ways, BATCH, HIDDEN)
        if op == "LSTM":
            arrays["C"] = floats(rng, ways, BATCH, HIDDEN)
    names = ["X", "W", "R", "B", "L", "H", *(["C", "P"] if op == "LSTM" else [])]
    inputs = [name if name in arrays or name in constants else "" for name in names]
    outputs = ["Y", "Y_h", *(["Y_c"] if op == "LSTM" else [])]
    node = helper.make_node(op, inputs, outputs, hidden_size=HIDDEN, **case)
    graph = helper.make_graph(
        [node],
        "recurrent",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in arrays.items()
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString(), arrays


@pytest.mark.parametrize("case", CASES, ids=str)
def test_recurrent_layers(tmp_path: Path, case: dict[str, Any]) -> None:
    made, arrays = model(case)
    path = tmp_path / "model.onnx"
    path.write_bytes(made)
    wanted = by_onnxruntime(path, arrays)
    loaded = tw.load_onnx(path)
    verify(loaded.source)
    verify(loaded.graph)
    given = tw.compile(loaded, threads=1)(*arrays.values())
    assert len(given) == len(wanted)
    for got, want in zip(given, wanted, strict=True):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-6)


def test_products_with_all_inputs_are_one(tmp_path: Path) -> None:
    """Steps multiply with the state one by one, but for the first, whose state is zero."""
    path = tmp_path / "model.onnx"
    path.write_bytes(model({"op": "LSTM"})[0])
    products = [n.output.shape for n in tw.load_onnx(path).graph.nodes if n.op == "matmul"]
    assert products.count((STEPS * BATCH, 4 * HIDDEN)) == 1
    assert products.count((BATCH, 4 * HIDDEN)) == STEPS - 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"activations": ["Sigmoid", "Tanh", "Gaussian"]}, "activation 'Gaussian'"),
        ({"activations": ["Sigmoid"]}, "1 activations instead of 3"),
        ({"direction": "sideways"}, "direction 'sideways' is none of"),
    ],
)
def test_what_is_refused(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model({"op": "LSTM", **change})[0])
    with pytest.raises(ModelError, match=said):
        tw.load_onnx(path)


def test_outputs_have_the_names_of_the_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(model({"op": "LSTM"})[0])
    loaded = tw.load_onnx(path)
    assert loaded.source.outputs == ("Y", "Y_h", "Y_c")
    assert [value.name for value in tw.compile(loaded, threads=1).outputs] == ["Y", "Y_h", "Y_c"]
