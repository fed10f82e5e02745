"""What each pass does to a graph; that all keep its meaning is tested beside `operators`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.models import resnet18
from onnx.helper import make_node
from tests.graph.models import by_onnxruntime, floats, save, write

from tilewright.graph.interpret import interpret
from tilewright.graph.ir import Graph
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.passes.drop_dead import drop_dead
from tilewright.graph.passes.fold_batch_norm import fold_batch_norm
from tilewright.graph.verify import verify

RNG = np.random.default_rng(2)


def kinds(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def flags(graph: Graph) -> list[str]:
    names = ("bias", "residual", "relu")
    return ["+".join(n for n in names if node.attributes.get(n)) for node in graph.nodes]


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
    optimized = verify(optimize(imported))
    assert kinds(optimized) == (
        ["transpose", "conv2d", "pool2d"] + ["conv2d"] * 19 + ["global_average_pool", "dense"]
    )
    found = flags(optimized)
    assert found.count("bias+residual+relu") == 8
    assert found.count("bias+relu") == 9
    assert optimized.outputs == ("output",)
    x = floats(RNG, 1, 3, 64, 64)
    (wanted,) = by_onnxruntime(path, {"input": x})
    np.testing.assert_allclose(interpret(optimized, [x])[0], wanted, rtol=1e-4, atol=1e-5)


def test_batch_norms_are_gone_and_weights_unchanged(tmp_path: Path) -> None:
    graph = load(save(resnet18.build(32, 8, (1,)), tmp_path / "m.onnx"))
    before = {name: array.copy() for name, array in graph.constants.items()}
    folded = drop_dead(fold_batch_norm(graph))
    assert "batch_norm_nchw" not in kinds(verify(folded))
    assert all(np.array_equal(array, before[n]) for n, array in graph.constants.items())
    assert not any(name.endswith("running_var") for name in folded.constants)


def test_names_that_the_model_uses_are_left_alone(tmp_path: Path) -> None:
    """Two normalisations share vectors, named as folding the first would name its own."""
    vectors = ["y.weight", "y.bias", "m", "v"]
    nodes = [
        make_node("Conv", ["x", "w"], ["c"]),
        make_node("BatchNormalization", ["c", *vectors], ["y"]),
        make_node("BatchNormalization", ["x", *vectors], ["z"]),
    ]
    constants = {name: np.abs(floats(RNG, 2)) for name in vectors} | {"w": floats(RNG, 2, 2, 1, 1)}
    path = write(tmp_path / "m.onnx", nodes, {"x": (1, 2, 3, 3)}, constants, ("y", "z"))
    optimized = verify(optimize(load(path)))
    x = floats(RNG, 1, 2, 3, 3)
    for got, want in zip(interpret(optimized, [x]), by_onnxruntime(path, {"x": x}), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_the_convolution_made_last_absorbs_the_other(residual: Path) -> None:
    optimized = optimize(load(residual))
    assert kinds(optimized) == ["transpose", "conv2d", "conv2d", "transpose"]
    assert flags(optimized) == ["", "", "bias+residual+relu", ""]


def test_a_value_that_is_added_to_itself_is_not_absorbed(tmp_path: Path) -> None:
    nodes = [make_node("Conv", ["x", "w"], ["c"]), make_node("Add", ["c", "c"], ["y"])]
    path = write(tmp_path / "m.onnx", nodes, {"x": (1, 2, 3, 3)}, {"w": floats(RNG, 2, 2, 1, 1)})
    optimized = verify(optimize(load(path)))
    assert "add" in kinds(optimized)
    x = floats(RNG, 1, 2, 3, 3)
    np.testing.assert_allclose(
        interpret(optimized, [x])[0], by_onnxruntime(path, {"x": x})[0], rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    ("shape", "left"),
    [((4, 1, 1), False), ((1, 4, 1, 1), False), ((), False), ((4, 5), True), ((5,), True)],
)
def test_constants_added_to_channels_become_biases(
    tmp_path: Path, shape: tuple[int, ...], left: bool
) -> None:
    nodes = [
        make_node("Conv", ["x", "w", "b"], ["c"]),
        make_node("Add", ["k", "c"], ["s"]),
        make_node("Relu", ["s"], ["y"]),
    ]
    constants = {
        "w": floats(RNG, 4, 2, 1, 1),
        "b": floats(RNG, 4),
        "k": floats(RNG, *shape),
    }
    path = write(tmp_path / "m.onnx", nodes, {"x": (1, 2, 4, 5)}, constants)
    optimized = verify(optimize(load(path)))
    absorbed = "bias+residual+relu" if left else "bias+relu"
    assert absorbed in flags(optimized), str(optimized)
    x = floats(RNG, 1, 2, 4, 5)
    np.testing.assert_allclose(
        interpret(optimized, [x])[0], by_onnxruntime(path, {"x": x})[0], rtol=1e-5, atol=1e-6
    )


def test_optimize_can_be_repeated(residual: Path) -> None:
    once = optimize(load(residual))
    assert str(optimize(once)) == str(once)
