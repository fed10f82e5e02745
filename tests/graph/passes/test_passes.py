"""What each pass does to a graph; that all keep its meaning is tested beside `operators`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.models import resnet18
from onnx.helper import make_node
from tests.graph.compare import compare, kinds
from tests.graph.models import by_onnxruntime, floats, save, write

from tilewright.graph.interpret import interpret
from tilewright.graph.ir import Graph
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.verify import verify

RNG = np.random.default_rng(2)


def after(graph: Graph) -> list[str]:
    """Return what is done behind each node, by the functions of its program."""
    return [
        "+".join(step.function for step in node.then.steps if step.function != "constant")
        if node.then
        else ""
        for node in graph.nodes
    ]


@pytest.fixture
def residual(tmp_path: Path) -> Path:
    """y = relu(conv(x) + conv(x)), the addend of one convolution being the other."""
    nodes = [
        make_node("Conv", ["x", "u"], ["a"]),
        make_node("Conv", ["x", "v", "b"], ["c"]),
        make_node("Add", ["c", "a"], ["s"]),
        make_node("Relu", ["s"], ["y"]),
    ]
    constants = {"u": floats(RNG, 4, 3, 1, 1), "v": floats(RNG, 4, 3, 1, 1), "b": floats(RNG, 4)}
    return write(tmp_path / "m.onnx", nodes, {"x": (1, 3, 4, 5)}, constants)


def test_resnet18_becomes_one_node_a_layer(tmp_path: Path) -> None:
    path = save(resnet18.build(64, 8), tmp_path / "m.onnx")
    imported = load(path)
    before = {name: array.copy() for name, array in imported.constants.items()}
    optimized = verify(optimize(imported))
    assert kinds(optimized) == ["conv", "pool"] + ["conv"] * 19 + ["reduce", "matmul"]
    found = after(optimized)
    assert found.count("add+add+relu") == 8
    assert found.count("add+relu") == 9
    assert optimized.outputs == ("output",)
    assert not any(name.endswith("running_var") for name in optimized.constants)
    assert all(np.array_equal(array, before[n]) for n, array in imported.constants.items())
    x = floats(RNG, 1, 3, 64, 64)
    (wanted,) = by_onnxruntime(path, {"input": x})
    np.testing.assert_allclose(interpret(optimized, [x])[0], wanted, rtol=1e-4, atol=1e-5)


def test_names_that_the_model_uses_are_left_alone(tmp_path: Path) -> None:
    """Two normalisations share vectors, named as folding the first would name its own."""
    vectors = ["y.weight", "y.bias", "m", "v"]
    nodes = [
        make_node("Conv", ["x", "w"], ["c"]),
        make_node("BatchNormalization", ["c", *vectors], ["y"]),
        make_node("BatchNormalization", ["x", *vectors], ["z"]),
    ]
    constants = {name: np.abs(floats(RNG, 2)) for name in vectors} | {"w": floats(RNG, 2, 2, 1, 1)}
    compare(tmp_path, nodes, {"x": floats(RNG, 1, 2, 3, 3)}, constants, ("y", "z"))


def test_the_convolution_made_last_absorbs_the_other(residual: Path) -> None:
    optimized = optimize(load(residual))
    assert kinds(optimized) == ["conv", "conv"]
    convolutions = [node for node in optimized.nodes if node.op == "conv"]
    assert convolutions[0].then is None
    assert convolutions[1].inputs[-1] == convolutions[0].output.name


def test_a_value_that_is_added_to_itself_is_absorbed_once(tmp_path: Path) -> None:
    nodes = [make_node("Conv", ["x", "w"], ["c"]), make_node("Add", ["c", "c"], ["y"])]
    constants = {"w": floats(RNG, 2, 2, 1, 1)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 1, 2, 3, 3)}, constants)
    assert kinds(made) == ["conv"]


@pytest.mark.parametrize(
    ("shape", "steps"),
    [((4, 1, 1), 1), ((1, 4, 1, 1), 1), ((), 1), ((4, 5), 2), ((5,), 2)],
)
def test_constants_added_to_channels_become_biases(
    tmp_path: Path, shape: tuple[int, ...], steps: int
) -> None:
    nodes = [
        make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        make_node("Add", ["k", "c"], ["s"]),
        make_node("Relu", ["s"], ["y"]),
    ]
    constants = {"w": floats(RNG, 4, 2, 3, 3), "b": floats(RNG, 4), "k": floats(RNG, *shape)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 1, 2, 4, 5)}, constants)
    assert "+".join(["add"] * steps + ["relu"]) in after(made), str(made)


def test_optimize_can_be_repeated(residual: Path) -> None:
    once = optimize(load(residual))
    assert str(optimize(once)) == str(once)


def test_equal_work_is_done_once(tmp_path: Path) -> None:
    """Also where it is equal only because what it reads is; an output keeps its own name."""
    nodes = [
        make_node("Exp", ["x"], ["a"]),
        make_node("Exp", ["x"], ["b"]),
        make_node("MatMul", ["a", "w"], ["p"]),
        make_node("MatMul", ["b", "w"], ["q"]),
        make_node("MatMul", ["b", "w"], ["z"]),
        make_node("Sub", ["p", "q"], ["y"]),
    ]
    constants = {"w": floats(RNG, 4, 4)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 3, 4)}, constants, ("y", "z"))
    assert kinds(made) == ["map", "matmul", "matmul"]
    other = [make_node("LeakyRelu", ["x"], ["a"], alpha=0.1), make_node("LeakyRelu", ["x"], ["b"])]
    other.append(make_node("Sub", ["a", "b"], ["y"]))
    compare(tmp_path, other, {"x": floats(RNG, 3, 4)})
