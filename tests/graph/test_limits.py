"""What would not fit, and what cannot be asked of a compiled network: refused in words."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node
from tests.graph.models import by_onnxruntime, floats, write

import tilewright as tw
from tilewright.errors import ArgumentError, ModelError
from tilewright.graph.interpret import interpret

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("limits") / "m.onnx"
    write(path, [make_node("Relu", ["self"], ["y"])], {"self": (2, 3)}, {})
    return tw.compile(tw.load_onnx(path), threads=1)


@pytest.mark.parametrize("count", [64, 65, 129, 300])
@pytest.mark.parametrize("functions", [("Tanh",), ("Neg", "Tanh"), ("Add",)], ids=str)
def test_a_chain_of_functions_may_be_of_any_length(
    tmp_path: Path, count: int, functions: tuple[str, ...]
) -> None:
    nodes = [
        make_node(op, [f"a{i}", "x"] if op == "Add" else [f"a{i}"], [f"a{i + 1}"])
        for i, op in enumerate(functions[i % len(functions)] for i in range(count))
    ]
    nodes = [make_node("Tanh", ["x"], ["a0"]), *nodes]
    path = write(tmp_path / "m.onnx", nodes, {"x": (2, 3)}, {}, (f"a{count}",))
    x = floats(RNG, 2, 3)
    (wanted,) = by_onnxruntime(path, {"x": x})
    got = tw.compile(tw.load_onnx(path), threads=1)(x)
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("shape", [(1 << 32, 1 << 32), (1 << 40, 2)])
def test_inputs_that_no_machine_holds(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = write(tmp_path / "m.onnx", [make_node("Relu", ["x"], ["y"])], {"x": shape}, {})
    with pytest.raises(ModelError, match="elements, too many"):
        tw.load_onnx(path)


def test_networks_larger_than_this_machine(tmp_path: Path) -> None:
    """Each input is small, and what is made of them is not."""
    side = 1 << 19
    node = make_node("Add", ["a", "b"], ["y"])
    path = write(tmp_path / "m.onnx", [node], {"a": (side, 1), "b": (1, side)}, {})
    with pytest.raises(ModelError, match=r"1,099,5.*bytes for its values, of which y"):
        tw.compile(tw.load_onnx(path), threads=1)


def test_a_transposed_number_is_one(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", [make_node("Transpose", ["x"], ["y"])], {"x": ()}, {})
    (got,) = interpret(tw.load_onnx(path).source, [np.float32(2.0)[()].reshape(())])
    assert got.shape == ()


def test_an_input_may_be_called_self(module: Any) -> None:
    x = floats(RNG, 2, 3)
    np.testing.assert_array_equal(module(self=x), np.maximum(x, 0))
    np.testing.assert_array_equal(module.context()(self=x), np.maximum(x, 0))


@pytest.mark.parametrize("repeats", [0, -1, 1.5, "3", True])
def test_repeats_are_counted(module: Any, repeats: Any) -> None:
    with pytest.raises(ArgumentError, match="cannot profile with repeats"):
        module.profile(floats(RNG, 2, 3), repeats=repeats)


@pytest.mark.parametrize("path", [5, None, b"net.twm", "", "a\0b"])
def test_paths_that_name_no_file(module: Any, path: Any) -> None:
    for act in module.save, module.export, tw.load:
        with pytest.raises(ArgumentError, match="path"):
            act(path)


def test_a_module_is_no_value(module: Any) -> None:
    for act in pickle.dumps, copy.copy, copy.deepcopy:
        with pytest.raises(ArgumentError, match="save"):
            act(module)
