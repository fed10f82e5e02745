"""Channels last: what works in that order, and where transpositions are left."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto
from onnx.helper import make_node
from tests.graph.compare import compare
from tests.graph.models import floats

from tilewright.graph.ir import Graph

RNG = np.random.default_rng(6)
CHANNELS = 9  # more than a convolution reads channels first


def conv(source: str, made: str, weights: str = "w") -> NodeProto:
    return make_node("Conv", [source, weights], [made])


def weights(*names: str, kernel: tuple[int, ...] = (1, 1)) -> dict[str, np.ndarray]:
    return {name: floats(RNG, CHANNELS, CHANNELS, *kernel) for name in names}


def moves(graph: Graph) -> int:
    return Counter(node.op for node in graph.nodes)["transpose"]


BETWEEN: dict[str, tuple[NodeProto, dict[str, Any]]] = {
    "concat": (make_node("Concat", ["a", "a"], ["b"], axis=-1), {}),
    "pad": (make_node("Pad", ["a", "p"], ["b"]), {"p": np.array([0, 0, 1, 2, 0, 0, 0, 3])}),
    "slice": (make_node("Slice", ["a", "s", "e", "d"], ["b"]),
              {"s": np.array([1, 0]), "e": np.array([5, 99]), "d": np.array([2, 3])}),
    "resize": (make_node("Resize", ["a", "", "f"], ["b"], mode="nearest"),
               {"f": np.array([1, 1, 2, 3], np.float32)}),
    "softmax": (make_node("Softmax", ["a"], ["b"], axis=1), {}),
    "relu": (make_node("Relu", ["a"], ["b"]), {}),
    "mul": (make_node("Mul", ["a", "k"], ["b"]), {"k": floats(RNG, 5, 1)}),
    "pool": (make_node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2]), {}),
    "reduce": (make_node("GlobalMaxPool", ["a"], ["b"]), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", BETWEEN)
def test_what_is_between_convolutions_works_channels_last(tmp_path: Path, name: str) -> None:
    node, constants = BETWEEN[name]
    nodes = [conv("x", "a", "v"), node, conv("b", "y")]
    x = floats(RNG, 2, CHANNELS, 5, 7)
    made = compare(
        tmp_path, nodes, {"x": x}, {**weights("v", "w"), **constants}, compiled=True, tolerance=1e-4
    )
    assert moves(made) <= 2, str(made)  # of what comes in, and of what goes out


def test_channels_are_joined_where_they_lie_last(tmp_path: Path) -> None:
    nodes = [
        conv("x", "a", "v"),
        make_node("Concat", ["a", "x"], ["b"], axis=1),
        make_node("Conv", ["b", "w"], ["y"]),
    ]
    constants = {**weights("v"), "w": floats(RNG, 3, 2 * CHANNELS, 1, 1)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 1, CHANNELS, 4, 5)}, constants)
    assert moves(made) == 2


@pytest.mark.parametrize("size", [(7,), (3, 4, 5)], ids=str)
def test_images_of_one_and_three_dimensions(tmp_path: Path, size: tuple[int, ...]) -> None:
    count = len(size)
    nodes = [
        make_node("Conv", ["x", "v"], ["a"], pads=[1] * 2 * count),
        make_node("Relu", ["a"], ["b"]),
        make_node("Conv", ["b", "w"], ["c"], strides=[2] * count),
        make_node("Add", ["c", "k"], ["y"]),
    ]
    constants = {**weights("v", "w", kernel=(2,) * count), "k": floats(RNG, CHANNELS, *[1] * count)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 2, CHANNELS, *size)}, constants,
                   compiled=True, tolerance=1e-4)  # fmt: skip
    assert moves(made) == 2
    assert not any(node.op == "map" for node in made.nodes)


def test_several_layouts_meet(tmp_path: Path) -> None:
    """A convolution's result plus an input, plus what a product made, plus a row and a scalar."""
    nodes = [
        conv("x", "a"),
        make_node("MatMul", ["z", "u"], ["b"]),
        make_node("Add", ["a", "z"], ["c"]),
        make_node("Mul", ["c", "b"], ["d"]),
        make_node("Add", ["d", "row"], ["e"]),
        make_node("Sub", ["e", "one"], ["f"]),
        conv("f", "y"),
    ]
    arrays = {"x": floats(RNG, 1, CHANNELS, 4, 5), "z": floats(RNG, 1, CHANNELS, 4, 5),
              "row": floats(RNG, 5)}  # fmt: skip
    constants = {**weights("w"), "u": floats(RNG, 5, 5), "one": np.array(0.5, np.float32)}
    outputs = ("y", "d")
    compare(tmp_path, nodes, arrays, constants, outputs, compiled=True, tolerance=1e-4)


def test_a_value_is_transposed_once_for_all_that_read_it(tmp_path: Path) -> None:
    nodes = [
        conv("x", "a", "v"),
        make_node("MatMul", ["a", "u"], ["y"]),
        make_node("Reshape", ["a", "s"], ["z"]),
        conv("x", "b"),
        make_node("Add", ["a", "b"], ["q"]),
    ]
    constants = {**weights("v", "w"), "u": floats(RNG, 5, 5), "s": np.array([-1])}
    x = floats(RNG, 1, CHANNELS, 4, 5)
    made = compare(tmp_path, nodes, {"x": x}, constants, ("y", "z", "q"), tolerance=1e-4)
    assert moves(made) == 3


def test_an_image_of_one_row_is_only_seen_otherwise(tmp_path: Path) -> None:
    x = floats(RNG, 2, CHANNELS, 1, 1)
    made = compare(tmp_path, [conv("x", "y")], {"x": x}, weights("w"), compiled=True)
    assert moves(made) == 0


def test_the_order_of_a_flattened_image_goes_into_weights(tmp_path: Path) -> None:
    nodes = [
        conv("x", "a"),
        make_node("Flatten", ["a"], ["f"]),
        make_node("MatMul", ["f", "u"], ["y"]),
    ]
    x = floats(RNG, 2, CHANNELS, 3, 2)
    constants = {**weights("w"), "u": floats(RNG, CHANNELS * 6, 4)}
    made = compare(tmp_path, nodes, {"x": x}, constants, compiled=True, tolerance=1e-4)
    assert moves(made) == 1


def test_a_flattened_image_times_several_matrices(tmp_path: Path) -> None:
    nodes = [
        conv("x", "a"),
        make_node("Flatten", ["a"], ["f"]),
        make_node("MatMul", ["f", "u"], ["y"]),
    ]
    x = floats(RNG, 2, CHANNELS, 3, 2)
    constants = {**weights("w"), "u": floats(RNG, 3, CHANNELS * 6, 4)}
    compare(tmp_path, nodes, {"x": x}, constants, compiled=True, tolerance=1e-4)
