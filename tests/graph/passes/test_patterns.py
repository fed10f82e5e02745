"""Normalisation, softmax, GELU and attention as exporters spell them, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto
from onnx.helper import make_node
from tests.graph.compare import compare, kinds
from tests.graph.models import floats

RNG = np.random.default_rng(0)
NUMBERS = {
    "two": np.array(2.0, np.float32),
    "eps": np.array(1e-5, np.float32),
    "one": np.array(1.0, np.float32),
    "half": np.array(0.5, np.float32),
    "root": np.array(2**0.5, np.float32),
    "three": np.array(3.0, np.float32),
    "small": np.array(0.044715, np.float32),
    "scale": np.array((2 / np.pi) ** 0.5, np.float32),
}


def check(
    folder: Path, nodes: list[NodeProto], shape: tuple[int, ...], **constants: np.ndarray
) -> list[str]:
    read = {name for node in nodes for name in node.input}
    numbers = {name: array for name, array in NUMBERS.items() if name in read}
    graph = compare(folder, nodes, {"x": floats(RNG, *shape)}, {**numbers, **constants})
    return kinds(graph)


def norm(square: str, quotient: str, **reduction: Any) -> list[NodeProto]:
    """Return (d = x - mean(x)) / sqrt(mean(d^2) + eps) as y."""
    reduction = {"axes": [-1], "keepdims": 1, **reduction}
    nodes = [
        make_node("ReduceMean", ["x"], ["mean"], **reduction),
        make_node("Sub", ["x", "mean"], ["d"]),
        make_node("Pow", ["d", "two"], ["s"])
        if square == "pow"
        else make_node("Mul", ["d", "d"], ["s"]),
        make_node("ReduceMean", ["s"], ["v"], **reduction),
        make_node("Add", ["v", "eps"], ["e"]),
        make_node("Sqrt", ["e"], ["r"]),
    ]
    if quotient == "div":
        return [*nodes, make_node("Div", ["d", "r"], ["y"])]
    inverse = make_node("Reciprocal", ["r"], ["i"])
    return [*nodes, inverse, make_node("Mul", ["d", "i"], ["y"])]


@pytest.mark.parametrize("square", ["pow", "mul"])
@pytest.mark.parametrize("quotient", ["div", "inverse"])
def test_layer_norm(tmp_path: Path, square: str, quotient: str) -> None:
    nodes = norm(square, quotient)
    nodes[-1].output[0] = "n"
    nodes += [make_node("Mul", ["n", "g"], ["m"]), make_node("Add", ["m", "b"], ["y"])]
    constants = {"g": floats(RNG, 8), "b": floats(RNG, 8)}
    assert check(tmp_path, nodes, (2, 3, 8), **constants) == ["layer_norm"]


def test_layer_norm_of_several_axes(tmp_path: Path) -> None:
    assert check(tmp_path, norm("pow", "div", axes=[-2, -1]), (2, 3, 8)) == ["layer_norm"]


def test_differences_that_are_spelt_twice(tmp_path: Path) -> None:
    """As older exporters of PyTorch do, one for the variance and one for the result."""
    nodes = norm("pow", "div")
    nodes.insert(2, make_node("Sub", ["x", "mean"], ["d2"]))
    nodes[-1].input[0] = "d2"
    assert check(tmp_path, nodes, (2, 3, 8)) == ["layer_norm"]


@pytest.mark.parametrize("axes", [[1], [0, 2]])
def test_means_over_other_axes_are_no_layer_norm(tmp_path: Path, axes: list[int]) -> None:
    assert "layer_norm" not in check(tmp_path, norm("pow", "div", axes=axes), (2, 3, 8))


def test_what_is_nearly_layer_norm_is_computed_as_it_says(tmp_path: Path) -> None:
    nodes = norm("pow", "div")
    nodes[3].input[0] = "x"  # the mean of x, not of squares
    nodes[4] = make_node("Abs", ["v"], ["e"])
    assert "layer_norm" not in check(tmp_path, nodes, (2, 3, 8))
    nodes = norm("pow", "div")
    nodes[2] = make_node("Pow", ["d", "three"], ["s"])
    nodes[4] = make_node("Abs", ["v"], ["e"])
    assert "layer_norm" not in check(tmp_path, nodes, (2, 3, 8))


def test_rms_norm(tmp_path: Path) -> None:
    nodes = [
        make_node("Pow", ["x", "two"], ["s"]),
        make_node("ReduceMean", ["s"], ["v"], axes=[-1], keepdims=1),
        make_node("Add", ["v", "eps"], ["e"]),
        make_node("Sqrt", ["e"], ["r"]),
        make_node("Div", ["one", "r"], ["i"]),
        make_node("Mul", ["x", "i"], ["n"]),
        make_node("Mul", ["g", "n"], ["y"]),
    ]
    assert check(tmp_path, nodes, (2, 3, 8), g=floats(RNG, 8)) == ["layer_norm"]


@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("shifted", [True, False])
def test_softmax(tmp_path: Path, axis: int, shifted: bool) -> None:
    nodes = [
        make_node("ReduceMax", ["x"], ["top"], axes=[axis], keepdims=1),
        make_node("Sub", ["x", "top"], ["d"]),
        make_node("Exp", ["d" if shifted else "x"], ["e"]),
        make_node("ReduceSum", ["e", "axes"], ["t"], keepdims=1),
        make_node("Div", ["e", "t"], ["y"]),
    ]
    nodes = nodes if shifted else nodes[2:]
    assert check(tmp_path, nodes, (2, 3, 8), axes=np.array([axis])) == ["softmax"]


def test_shares_along_another_axis_are_no_softmax(tmp_path: Path) -> None:
    nodes = [
        make_node("ReduceMax", ["x"], ["top"], axes=[1], keepdims=1),
        make_node("Sub", ["x", "top"], ["d"]),
        make_node("Exp", ["d"], ["e"]),
        make_node("ReduceSum", ["e", "axes"], ["t"], keepdims=1),
        make_node("Div", ["e", "t"], ["y"]),
    ]
    left = check(tmp_path, nodes, (2, 3, 8), axes=np.array([2]))
    assert "softmax" in left, "the sum is over axis 2, whatever was taken away before"


GELUS = {
    "erf": [
        make_node("Div", ["h", "root"], ["a"]),
        make_node("Erf", ["a"], ["b"]),
        make_node("Add", ["b", "one"], ["c"]),
        make_node("Mul", ["h", "c"], ["d"]),
        make_node("Mul", ["d", "half"], ["y"]),
    ],
    "tanh": [
        make_node("Pow", ["h", "three"], ["a"]),
        make_node("Mul", ["a", "small"], ["b"]),
        make_node("Add", ["h", "b"], ["c"]),
        make_node("Mul", ["c", "scale"], ["d"]),
        make_node("Tanh", ["d"], ["e"]),
        make_node("Add", ["e", "one"], ["f"]),
        make_node("Mul", ["h", "half"], ["g"]),
        make_node("Mul", ["g", "f"], ["y"]),
    ],
    "swish": [make_node("Sigmoid", ["h"], ["a"]), make_node("Mul", ["h", "a"], ["y"])],
    "hard swish": [make_node("HardSigmoid", ["h"], ["a"]), make_node("Mul", ["h", "a"], ["y"])],
}


@pytest.mark.parametrize("kind", GELUS)
def test_activations_behind_a_product_are_part_of_it(tmp_path: Path, kind: str) -> None:
    nodes = [
        make_node("MatMul", ["x", "w"], ["p"]),
        make_node("Add", ["p", "bias"], ["h"]),
        *GELUS[kind],
    ]
    constants = {"w": floats(RNG, 8, 5), "bias": floats(RNG, 5)}
    assert check(tmp_path, nodes, (2, 3, 8), **constants) == ["matmul"]


def test_attention(tmp_path: Path) -> None:
    """A product, scaled and masked, shares of it, and a product."""
    nodes = [
        make_node("Transpose", ["x"], ["k"], perm=[0, 1, 3, 2]),
        make_node("MatMul", ["x", "k"], ["p"]),
        make_node("Div", ["p", "root"], ["s"]),
        make_node("Add", ["s", "mask"], ["m"]),
        make_node("Softmax", ["m"], ["w"], axis=-1),
        make_node("MatMul", ["w", "x"], ["y"]),
    ]
    mask = np.triu(np.full((3, 3), -1e9, np.float32), 1)
    assert check(tmp_path, nodes, (2, 4, 3, 8), mask=mask) == ["matmul", "softmax", "matmul"]


def scaled(by: str, on: str) -> list[NodeProto]:
    """Return attention whose operands are scaled before the product, the keys also transposed."""
    root = make_node(by, ["k", "small"], ["ks"])
    return [
        make_node("Mul", ["x", "half"], ["q"]),
        make_node("Transpose", ["x"], ["k"], perm=[0, 1, 3, 2]),
        root if on == "moved" else make_node("Relu", ["k"], ["ks"]),
        make_node("MatMul", ["q", "ks"], ["p"]),
        make_node("Softmax", ["p"], ["w"], axis=-1),
        make_node("MatMul", ["w", "x"], ["y"]),
    ]


@pytest.mark.parametrize("by", ["Mul", "Div"])
def test_operands_that_are_scaled(tmp_path: Path, by: str) -> None:
    """As PyTorch exports attention: by the root of the scale on either side."""
    left = check(tmp_path, scaled(by, "moved"), (2, 4, 3, 8))
    assert left == ["matmul", "softmax", "matmul"]
    assert check(tmp_path, scaled(by, "other"), (2, 4, 3, 8)).count("map") <= 1


def test_a_scaled_operand_that_is_read_elsewhere_stays(tmp_path: Path) -> None:
    nodes = [
        make_node("Mul", ["x", "half"], ["q"]),
        make_node("MatMul", ["q", "w"], ["p"]),
        make_node("Add", ["p", "q"], ["y"]),
    ]
    graph = compare(
        tmp_path, nodes, {"x": floats(RNG, 3, 8)},
        {"half": NUMBERS["half"], "w": floats(RNG, 8, 8)},
    )  # fmt: skip
    assert kinds(graph) == ["map", "matmul"]


def test_products_of_one_operand_with_itself(tmp_path: Path) -> None:
    nodes = [make_node("Mul", ["x", "half"], ["q"]), make_node("MatMul", ["q", "q"], ["y"])]
    assert check(tmp_path, nodes, (2, 8, 8)) == ["map", "matmul"]
