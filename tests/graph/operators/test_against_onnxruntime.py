"""Every operator that can be imported: imported = optimized = what ONNX Runtime computes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto
from onnx.helper import make_node
from tests.graph.models import Dims, by_onnxruntime, floats, write

from tilewright.graph.interpret import interpret
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.verify import verify

RNG = np.random.default_rng(0)


def check(
    tmp_path: Path,
    nodes: list[NodeProto],
    inputs: Mapping[str, Dims],
    constants: Mapping[str, np.ndarray] | None = None,
    opset: int = 17,
    outputs: tuple[str, ...] = ("y",),
) -> list[str]:
    """Compare all three on random data; return the operators that are left."""
    path = write(tmp_path / "model.onnx", nodes, inputs, constants or {}, outputs, opset)
    rng = np.random.default_rng(1)
    arrays = {n: floats(rng, *(int(e) for e in shape)) for n, shape in inputs.items()}
    wanted = by_onnxruntime(path, arrays)
    imported = verify(load(path))
    optimized = verify(optimize(imported))
    assert not any(node.op.endswith("_first") for node in optimized.nodes)
    for graph in imported, optimized:
        given = interpret(graph, list(arrays.values()))
        for want, got in zip(wanted, given, strict=True):
            assert want.shape == got.shape
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
    return [node.op for node in optimized.nodes]


CONVOLUTIONS: list[dict[str, Any]] = [
    {"ci": 3, "co": 8, "k": (7, 7), "size": (13, 11), "strides": [2, 2], "pads": [3, 3, 3, 3]},
    {"ci": 5, "co": 7, "k": (1, 1), "size": (7, 5), "strides": [2, 2]},
    {"ci": 4, "co": 6, "k": (3, 2), "size": (9, 9), "pads": [0, 1, 2, 0]},
    {"ci": 4, "co": 8, "k": (3, 3), "size": (9, 9), "group": 2, "pads": [1, 1, 1, 1]},
    {"ci": 6, "co": 6, "k": (3, 3), "size": (8, 7), "group": 6, "pads": [1, 1, 1, 1]},
    {"ci": 2, "co": 3, "k": (3, 3), "size": (11, 12), "dilations": [2, 3]},
    {"ci": 2, "co": 3, "k": (3, 4), "size": (10, 9), "auto_pad": "SAME_UPPER", "strides": [2, 3]},
    {"ci": 2, "co": 3, "k": (4, 3), "size": (9, 8), "auto_pad": "SAME_LOWER"},
    {"ci": 1, "co": 1, "k": (2, 2), "size": (2, 2), "auto_pad": "VALID"},
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_conv(tmp_path: Path, case: dict[str, Any], bias: bool) -> None:
    case = dict(case)
    ci, co, k, size = (case.pop(key) for key in ("ci", "co", "k", "size"))
    constants = {"w": floats(RNG, co, ci // case.get("group", 1), *k), "b": floats(RNG, co)}
    if not bias:
        del constants["b"]
    node = make_node("Conv", ["x", *constants], ["y"], **case)
    left = check(tmp_path, [node], {"x": (2, ci, *size)}, constants)
    assert left.count("conv") == 1
    assert "map" not in left


POOLS: list[dict[str, Any]] = [
    {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
    {"kernel_shape": [2, 3], "strides": [1, 2], "pads": [0, 1, 1, 0]},
    {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1, "pads": [1, 1, 1, 1]},
    {"kernel_shape": [3, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"kernel_shape": [8, 9]},
]


@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pool(tmp_path: Path, op: str, case: dict[str, Any]) -> None:
    check(tmp_path, [make_node(op, ["x"], ["y"], **case)], {"x": (2, 3, 8, 9)})


def test_average_pool_that_counts_its_padding(tmp_path: Path) -> None:
    node = make_node(
        "AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 0, 1, 2], count_include_pad=1
    )
    check(tmp_path, [node], {"x": (1, 2, 6, 5)})


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pool(tmp_path: Path, op: str) -> None:
    check(tmp_path, [make_node(op, ["x"], ["y"])], {"x": (2, 3, 5, 4)})


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [13, 18])
def test_reduce_mean_over_the_image(tmp_path: Path, opset: int, keepdims: int) -> None:
    if opset < 18:
        node = make_node("ReduceMean", ["x"], ["y"], axes=[-1, 2], keepdims=keepdims)
        check(tmp_path, [node], {"x": (2, 3, 5, 4)}, opset=opset)
    else:
        node = make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=keepdims)
        check(tmp_path, [node], {"x": (2, 3, 5, 4)}, {"axes": np.array([-2, -1])}, opset)


def test_batch_norm_alone_after_conv_and_before_relu(tmp_path: Path) -> None:
    vectors = {n: floats(RNG, 4) for n in ("s", "b", "m")} | {"v": np.abs(floats(RNG, 4)) + 0.1}
    constants = {**vectors, "w": floats(RNG, 4, 4, 3, 3), "wb": floats(RNG, 4)}
    nodes = [
        make_node("BatchNormalization", ["x", *vectors], ["a"], epsilon=1e-3),
        make_node("Conv", ["a", "w", "wb"], ["c"], pads=[1, 1, 1, 1]),
        make_node("BatchNormalization", ["c", *vectors], ["d"]),
        make_node("Relu", ["d"], ["y"]),
    ]
    left = check(tmp_path, nodes, {"x": (1, 4, 6, 5)}, constants)
    assert [op for op in left if op != "transpose"] == ["map", "conv"]


@pytest.mark.parametrize("case", [{}, {"transB": 1}, {"transA": 1, "alpha": 0.5, "beta": 2.0}])
@pytest.mark.parametrize("addend", [None, (5,), (1, 5), (3, 5), (3, 1), ()], ids=str)
def test_gemm(tmp_path: Path, case: dict[str, Any], addend: tuple[int, ...] | None) -> None:
    weights = floats(RNG, 5, 4) if case.get("transB") else floats(RNG, 4, 5)
    constants = {"w": weights}
    if addend is not None:
        constants["c"] = floats(RNG, *addend)
    node = make_node("Gemm", ["x", *constants], ["y"], **case)
    left = check(tmp_path, [node], {"x": (4, 3) if case.get("transA") else (3, 4)}, constants)
    assert "map" not in left


def test_matmul_of_many_axes_with_bias_and_relu(tmp_path: Path) -> None:
    nodes = [
        make_node("MatMul", ["x", "w"], ["p"]),
        make_node("Add", ["b", "p"], ["s"]),
        make_node("Relu", ["s"], ["y"]),
    ]
    constants = {"w": floats(RNG, 5, 6), "b": floats(RNG, 6)}
    check(tmp_path, nodes, {"x": (2, 3, 5)}, constants)
    assert check(tmp_path, nodes, {"x": (3, 5)}, constants) == ["matmul"]


def test_movement(tmp_path: Path) -> None:
    nodes = [
        make_node("Squeeze", ["x", "axes"], ["a"]),
        make_node("Unsqueeze", ["a", "back"], ["b"]),
        make_node("Reshape", ["b", "shape"], ["c"]),
        make_node("Transpose", ["c"], ["d"]),
        make_node("Flatten", ["d"], ["e"], axis=-1),
        make_node("Identity", ["e"], ["f"]),
        make_node("Dropout", ["f"], ["g"]),
        make_node("Relu", ["g"], ["y"]),
    ]
    constants = {"axes": np.array([1]), "back": np.array([0, -1]), "shape": np.array([0, -1, 2])}
    check(tmp_path, nodes, {"x": (4, 1, 6)}, constants)


def test_what_depends_on_shapes_only_is_folded(tmp_path: Path) -> None:
    """The chain that `x.view(x.size(0), -1)` is exported as."""
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Gather", ["shape", "zero"], ["n"]),
        make_node("Constant", [], ["rest"], value_ints=[-1]),
        make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        make_node("Concat", ["n1", "rest"], ["target"], axis=0),
        make_node("Reshape", ["x", "target"], ["r"]),
        make_node("Relu", ["r"], ["y"]),
    ]
    constants = {"zero": np.array(0), "axes": np.array([0])}
    assert check(tmp_path, nodes, {"x": (2, 3, 4)}, constants) == ["reshape", "map"]


def test_constants_of_any_operator_are_folded(tmp_path: Path) -> None:
    nodes = [
        make_node("Exp", ["c"], ["e"]),
        make_node("Mul", ["e", "c"], ["m"]),
        make_node("Add", ["x", "m"], ["y"]),
    ]
    assert check(tmp_path, nodes, {"x": (2, 3)}, {"c": floats(RNG, 3)}) == ["map"]


def test_clip_of_negative_values_is_one_program(tmp_path: Path) -> None:
    node = make_node("Clip", ["x", "low"], ["y"])
    assert check(tmp_path, [node], {"x": (2, 3)}, {"low": np.zeros((), np.float32)}) == ["map"]


def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    nodes = [
        make_node("Conv", ["x", "w"], ["c"]),
        make_node("Sum", ["c", "z"], ["y"]),
        make_node("Relu", ["y"], ["r"]),
    ]
    inputs = {"x": (1, 2, 5, 5), "z": (1, 3, 5, 5)}
    left = check(tmp_path, nodes, inputs, {"w": floats(RNG, 3, 2, 1, 1)}, outputs=("y", "r", "c"))
    assert "map" in left, "the convolution is an output, so nothing may be fused into it"


def test_transpositions_of_the_model_itself_cancel(tmp_path: Path) -> None:
    """A channels-last model, exported with a transposition before and behind each convolution."""
    nodes = [
        make_node("Transpose", ["x"], ["a"], perm=[0, 3, 1, 2]),
        make_node("Conv", ["a", "w"], ["b"]),
        make_node("Transpose", ["b"], ["y"], perm=[0, 2, 3, 1]),
    ]
    left = check(tmp_path, nodes, {"x": (1, 5, 6, 2)}, {"w": floats(RNG, 3, 2, 3, 3)})
    assert left == ["conv"]
