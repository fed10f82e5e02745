"""Convolutions, pooling and normalisation of images, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node
from tests.graph.compare import compare, kinds
from tests.graph.models import floats

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("size", [(9,), (6, 7), (4, 5, 3)], ids=str)
def test_weights_that_the_graph_computes(tmp_path: Path, size: tuple[int, ...], bias: bool) -> None:
    count = len(size)
    arrays = {"x": floats(RNG, 1, 4, *size), "w": floats(RNG, 6, 2, *[2] * count)}
    arrays |= {"b": floats(RNG, 6)} if bias else {}
    node = make_node("Conv", list(arrays), ["y"], group=2, strides=[2] * count, pads=[1, 0] * count)
    compare(tmp_path, [node], arrays, compiled=True)


TRANSPOSED: list[dict[str, Any]] = [
    {"size": (7,), "k": (3,), "strides": [2], "pads": [1, 0], "output_padding": [1]},
    {"size": (5, 4), "k": (3, 2), "strides": [3, 1], "dilations": [1, 2]},
    {"size": (5, 4), "k": (3, 3), "strides": [2, 2], "group": 2, "pads": [1, 1, 0, 1]},
    {"size": (3, 3), "k": (3, 3), "strides": [3, 2], "output_shape": [10, 8]},
    {"size": (3, 4), "k": (3, 3), "strides": [2, 2], "auto_pad": "SAME_UPPER"},
    {"size": (3, 4), "k": (4, 3), "strides": [2, 2], "auto_pad": "SAME_LOWER"},
    {"size": (3, 2, 4), "k": (2, 3, 1), "strides": [2, 1, 2]},
    {"size": (4, 4), "k": (2, 2), "strides": [4, 3]},
]


@pytest.mark.parametrize("case", TRANSPOSED, ids=str)
@pytest.mark.parametrize("constant", [False, True])
def test_transposed_convolution(tmp_path: Path, case: dict[str, Any], constant: bool) -> None:
    case = dict(case)
    size, k, groups = case.pop("size"), case.pop("k"), case.get("group", 1)
    x, w, b = floats(RNG, 2, 4, *size), floats(RNG, 4, 6 // groups, *k), floats(RNG, 6)
    node = make_node("ConvTranspose", ["x", "w", "b"], ["y"], **case)
    if constant:
        made = compare(tmp_path, [node], {"x": x}, {"w": w, "b": b}, compiled=True)
        assert kinds(made) == ["transposed_conv"]
    else:
        compare(tmp_path, [node], {"x": x, "w": w, "b": b}, compiled=True)


def test_patches_are_added_up(tmp_path: Path) -> None:
    cases: list[tuple[tuple[int, int], tuple[int, int], dict[str, Any]]] = [
        ((7, 6), (2, 3), {"strides": [2, 1], "pads": [0, 1, 2, 1]}),
        ((5, 6), (2, 2), {"dilations": [2, 1], "strides": [1, 3]}),
    ]
    for size, k, more in cases:
        counts: list[int] = []
        for d in range(2):
            pads = more.get("pads", [0] * 4)
            reach = more.get("dilations", [1, 1])[d] * (k[d] - 1) + 1
            around = size[d] + pads[d] + pads[d + 2]
            counts.append((around - reach) // more.get("strides", [1, 1])[d] + 1)
        constants = {"s": np.array(size), "k": np.array(k)}
        node = make_node("Col2Im", ["x", "s", "k"], ["y"], **more)
        x = floats(RNG, 2, 3 * k[0] * k[1], counts[0] * counts[1])
        compare(tmp_path, [node], {"x": x}, constants, opset=18, compiled=True)


POOLS: list[dict[str, Any]] = [
    {"size": (9,), "kernel_shape": [3], "strides": [2], "pads": [1, 1]},
    {"size": (9,), "kernel_shape": [3], "strides": [2], "ceil_mode": 1},
    {"size": (8, 9), "kernel_shape": [3, 2], "dilations": [2, 3], "pads": [2, 1, 1, 1]},
    {"size": (8, 9), "kernel_shape": [3, 3], "strides": [3, 2], "ceil_mode": 1, "pads": [1] * 4},
    {"size": (4, 5, 6), "kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [0, 1, 1] * 2},
    {"size": (4, 5, 6), "kernel_shape": [3, 3, 3], "auto_pad": "SAME_LOWER", "strides": [2, 2, 2]},
    {"size": (5, 5), "kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "VALID"},
]


@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "Counting", "LpPool", "Cubes"])
def test_pooling(tmp_path: Path, case: dict[str, Any], op: str) -> None:
    case = dict(case)
    x = floats(RNG, 2, 3, *case.pop("size"))
    more: dict[str, Any] = {"Counting": {"count_include_pad": 1}, "Cubes": {"p": 3}}.get(op, {})
    op = {"Counting": "AveragePool", "Cubes": "LpPool"}.get(op, op)
    if op == "LpPool" and ("dilations" in case or "ceil_mode" in case):
        pytest.skip("ONNX Runtime cannot do this")
    node = make_node(op, ["x"], ["y"], **case, **more)
    compare(tmp_path, [node], {"x": x}, opset=19, compiled=True, tolerance=1e-4)


@pytest.mark.parametrize("case", POOLS, ids=str)
@pytest.mark.parametrize("order", [0, 1])
def test_places_of_the_greatest(tmp_path: Path, case: dict[str, Any], order: int) -> None:
    case = dict(case)
    size = case.pop("size")
    x = RNG.integers(0, 4, (2, 3, *size)).astype(np.float32)  # several are equal: the first
    node = make_node("MaxPool", ["x"], ["y", "z"], storage_order=order, **case)
    compare(tmp_path, [node], {"x": x}, outputs=("y", "z"), compiled=True)


@pytest.mark.parametrize("larger", [(), (2, 3, 8, 7)], ids=str)
def test_elements_are_put_back(tmp_path: Path, larger: tuple[int, ...]) -> None:
    x = RNG.permutation(2 * 3 * 6 * 6).reshape(2, 3, 6, 6).astype(np.float32)
    nodes = [
        make_node("MaxPool", ["x"], ["a", "i"], kernel_shape=[2, 2], strides=[2, 2]),
        make_node("Relu", ["a"], ["r"]),
        make_node(
            "MaxUnpool", ["r", "i", *(["s"] if larger else [])], ["y"], kernel_shape=[2, 2],
            strides=[2, 2],
        ),
    ]  # fmt: skip
    constants = {"s": np.array(larger)} if larger else {}
    wanted = np.zeros_like(x)
    at = x.reshape(2, 3, 3, 2, 3, 2).max((3, 5))
    wanted[np.isin(x, at)] = x[np.isin(x, at)]
    if larger:
        wanted = np.pad(wanted, [(0, b - a) for a, b in zip(x.shape, larger, strict=True)])
    compare(tmp_path, nodes, {"x": x}, constants, wanted=[wanted], compiled=True)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_pooling_of_small_integers(tmp_path: Path, dtype: str) -> None:
    x = RNG.integers(0, 100, (1, 3, 7, 6)).astype(dtype)
    node = make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 2], pads=[1, 0, 1, 1])
    compare(tmp_path, [node], {"x": x}, compiled=True)


@pytest.mark.parametrize("op", ["GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"])
@pytest.mark.parametrize("size", [(5,), (3, 4), (2, 3, 4)], ids=str)
def test_pooling_of_whole_images(tmp_path: Path, op: str, size: tuple[int, ...]) -> None:
    node = make_node(op, ["x"], ["y"])
    compare(tmp_path, [node], {"x": floats(RNG, 2, 3, *size)}, compiled=True)


NORMS: list[tuple[str, dict[str, Any], tuple[int, ...], tuple[int, ...]]] = [
    ("InstanceNormalization", {"epsilon": 1e-2}, (4,), (2, 4, 5)),
    ("InstanceNormalization", {}, (4,), (1, 4, 3, 5)),
    ("GroupNormalization", {"num_groups": 2, "epsilon": 1e-3}, (4,), (2, 4, 3, 3)),
    ("LRN", {"size": 3, "alpha": 0.2, "beta": 0.6, "bias": 2.0}, (), (1, 5, 3, 4)),
    ("LRN", {"size": 5}, (), (2, 3, 4, 2)),
    ("LpNormalization", {"p": 1, "axis": 1}, (), (2, 3, 4)),
    ("LpNormalization", {}, (), (2, 3, 4)),
    ("MeanVarianceNormalization", {}, (), (2, 3, 4, 5)),
    ("MeanVarianceNormalization", {"axes": [1, 2]}, (), (2, 3, 4)),
]


@pytest.mark.parametrize(("op", "given", "channels", "shape"), NORMS, ids=str)
def test_normalisation(
    tmp_path: Path, op: str, given: dict[str, Any], channels: tuple[int, ...],
    shape: tuple[int, ...],
) -> None:  # fmt: skip
    constants = {name: floats(RNG, *channels) for name in "sb"} if channels else {}
    node = make_node(op, ["x", *constants], ["y"], **given)
    opset = 21 if op == "GroupNormalization" else 17
    compare(tmp_path, [node], {"x": floats(RNG, *shape)}, constants, opset=opset, compiled=True,
            tolerance=1e-4)  # fmt: skip


def test_normalisation_between_convolutions_works_channels_last(tmp_path: Path) -> None:
    cases: list[tuple[str, list[str], dict[str, Any]]] = [
        ("InstanceNormalization", ["s", "b"], {}),
        ("LRN", [], {"size": 3}),
    ]
    for op, more, sizes in cases:
        nodes = [
            make_node("Conv", ["x", "v"], ["a"]),
            make_node(op, ["a", *more], ["c"], **sizes),
            make_node("Conv", ["c", "w"], ["y"]),
        ]
        constants = {name: floats(RNG, 9, 9, 1, 1) for name in "vw"} | {
            name: floats(RNG, 9) for name in more
        }
        made = compare(tmp_path, nodes, {"x": floats(RNG, 1, 9, 3, 4)}, constants, compiled=True,
                       tolerance=1e-4)  # fmt: skip
        assert [node.op for node in made.nodes].count("transpose") == 2, str(made)


def test_batch_normalisation_by_computed_numbers(tmp_path: Path) -> None:
    arrays = {"x": floats(RNG, 2, 3, 4, 5)} | {name: floats(RNG, 3) for name in "sbm"}
    arrays["v"] = np.abs(floats(RNG, 3)) + np.float32(0.1)
    node = make_node("BatchNormalization", list(arrays), ["y"])
    compare(tmp_path, [node], arrays, compiled=True)


def test_batch_normalisation_in_training(tmp_path: Path) -> None:
    arrays = {"x": floats(RNG, 3, 2, 4)} | {name: floats(RNG, 2) for name in "sbm"}
    arrays["v"] = np.abs(floats(RNG, 2))
    x, m, v = arrays["x"], arrays["m"], arrays["v"]
    mean, var = x.mean((0, 2)), x.var((0, 2))
    full = (x - mean[:, None]) / np.sqrt(var + 1e-5)[:, None]
    wanted = [full * arrays["s"][:, None] + arrays["b"][:, None], 0.8 * m + 0.2 * mean,
              0.8 * v + 0.2 * var]  # fmt: skip
    node = make_node(
        "BatchNormalization", list(arrays), ["y", "p", "q"], training_mode=1, momentum=0.8
    )
    compare(tmp_path, [node], arrays, outputs=("y", "p", "q"), compiled=True,
            wanted=[np.asarray(each, np.float32) for each in wanted])  # fmt: skip
