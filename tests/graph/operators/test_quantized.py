"""Quantisation, and work on quantised numbers, as onnx's evaluator and ONNX Runtime compute it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.graph.compare import compare
from tests.graph.models import floats
from tests.graph.operators.one import agrees

RNG = np.random.default_rng(0)
X = np.array([[-300, -1.5, -0.5, 0.5, 1.5, 2.5], [3, 99.5, 128, 1000, 1e9, -1e9]], np.float32)


def numbers(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)


@pytest.mark.parametrize("zero", ["int8", "uint8", "int16", "uint16", None])
@pytest.mark.parametrize("floats_", ["float32", "float16"])
def test_quantize(tmp_path: Path, zero: str | None, floats_: str) -> None:
    x = X if floats_ == "float32" else X.clip(-300, 300)
    arrays = [x.astype(floats_), np.array(0.5, floats_)]
    arrays += [np.array(3, zero)] if zero else []
    agrees(tmp_path, "QuantizeLinear", arrays, opset=21, compiled=zero == "uint8")


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_quantize_each_of_an_axis(tmp_path: Path, axis: int) -> None:
    count = X.shape[axis]
    scale, zero = np.arange(1, count + 1, dtype=np.float32), np.arange(count).astype(np.int8)
    agrees(tmp_path, "QuantizeLinear", [X, scale, zero], opset=21, axis=axis)
    back = [numbers("int8", *X.shape), scale, zero]
    agrees(tmp_path, "DequantizeLinear", back, opset=21, axis=axis)


@pytest.mark.parametrize("block", [2, 4])
def test_blocks(tmp_path: Path, block: int) -> None:
    """The last block may be shorter."""
    count = -(-6 // block)
    scale = RNG.uniform(0.5, 2.0, (2, count)).astype(np.float32)
    zero = numbers("uint8", 2, count)
    agrees(tmp_path, "DequantizeLinear", [numbers("uint8", 2, 6), scale, zero], opset=21,
           axis=1, block_size=block)  # fmt: skip
    if 6 % block == 0:
        agrees(tmp_path, "QuantizeLinear", [X, scale, zero], opset=21, axis=1, block_size=block)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32"])
def test_dequantize(tmp_path: Path, dtype: str) -> None:
    x, scale = numbers(dtype, 3, 5), np.array(0.25, np.float32)
    given = [x, scale] if dtype == "int32" else [x, scale, np.array(7, dtype)]
    agrees(tmp_path, "DequantizeLinear", given, opset=21)


def test_types_that_are_stated(tmp_path: Path) -> None:
    scale = np.array(0.5, np.float32)
    agrees(tmp_path, "QuantizeLinear", [X, scale], opset=23, output_dtype=TensorProto.INT16)
    agrees(tmp_path, "QuantizeLinear", [X.clip(-9, 9), scale.astype(np.float16)], opset=23,
           precision=TensorProto.FLOAT)  # fmt: skip
    agrees(tmp_path, "DequantizeLinear", [numbers("int8", 3), scale], opset=23,
           output_dtype=TensorProto.FLOAT16, tolerance=2e-3)  # fmt: skip


@pytest.mark.parametrize("x", [[0.0, 2.0, -3.0, -2.5, 1.34, 0.6], [1.0, 2.0, 3.5], [-1.0, -0.3]])
def test_dynamic(tmp_path: Path, x: list[float]) -> None:
    agrees(tmp_path, "DynamicQuantizeLinear", [np.array(x, np.float32)], outputs=3, opset=11)


def test_dynamic_of_zeros(tmp_path: Path) -> None:
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])
    wanted = [np.zeros((2, 3), np.uint8), np.array(1, np.float32), np.array(0, np.uint8)]
    compare(tmp_path, [node], {"x": np.zeros((2, 3), np.float32)}, None, ["y", "s", "z"],
            wanted=wanted)  # fmt: skip


SHAPES = [((4, 5), (5, 3)), ((2, 4, 5), (5, 3)), ((2, 4, 5), (2, 5, 3)), ((5,), (5, 3))]


@pytest.mark.parametrize("constant", [(), (1,), (1, 3), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("types", ["uint8 int8", "uint8 uint8", "int8 int8"])
def test_matmul_integer(
    tmp_path: Path, types: str, shapes: tuple[Any, Any], constant: tuple[int, ...]
) -> None:
    a, b = types.split()
    arrays = [numbers(a, *shapes[0]), numbers(b, *shapes[1])]
    zeros = [np.array(5, a), np.array([0, 0, 0] if b == "int8" else [128, 120, 131], b)]
    if len(shapes[1]) > 2:
        zeros[1] = np.array(3, b)
    wanted = [(arrays[0].astype(int) - zeros[0]) @ (arrays[1].astype(int) - zeros[1])]
    names: list[str] = ["a", "b", "za", "zb"]
    given = dict(zip(names, [*arrays, *zeros], strict=True))
    fixed = {names[i]: given.pop(names[i]) for i in constant}
    node = helper.make_node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])
    compare(tmp_path, [node], given, fixed, opset=10, compiled=constant == (1, 3),
            wanted=[wanted[0].astype(np.int32)])  # fmt: skip


def test_weights_are_multiplied_as_bytes(tmp_path: Path) -> None:
    given = {"a": numbers("uint8", 4, 16), "za": np.array(7, np.uint8)}
    fixed = {"b": numbers("uint8", 16, 8), "zb": np.array(128, np.uint8)}
    node = helper.make_node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])
    graph = compare(tmp_path, [node], given, fixed, opset=10)
    assert [node.op for node in graph.nodes if node.op == "matmul"] == ["matmul"]
    product = next(node for node in graph.nodes if node.op == "matmul")
    assert [graph.types[name].dtype for name in product.operands] == ["uint8", "int8"]


@pytest.mark.parametrize("rows", [False, True], ids=["one scale", "one a row and column"])
@pytest.mark.parametrize("types", ["uint8 int8", "int8 int8", "uint8 uint8"])
def test_qlinear_matmul(tmp_path: Path, types: str, rows: bool) -> None:
    a, b = types.split()
    A, B = numbers(a, 4, 6), numbers(b, 6, 3)
    scale = (np.array([0.02], np.float32), np.array([0.01, 0.02, 0.03] if rows else [0.01]))
    zero = np.array([0, 1, 2] if rows else [1], b)
    arrays = [A, scale[0], np.array([4], a), B, scale[1].astype(np.float32), zero]
    arrays += [np.array([0.05], np.float32), np.array([100], a)]
    agrees(tmp_path, "QLinearMatMul", arrays, constant=[1, 2, 4, 5, 6, 7], opset=21)
    agrees(tmp_path, "QLinearMatMul", arrays, constant=[1, 2, 3, 4, 5, 6, 7], opset=21)


CONVOLUTIONS: list[dict[str, Any]] = [
    {}, {"pads": [1, 1, 1, 1]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"group": 2},
]  # fmt: skip


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("each", [False, True], ids=["one scale", "one a channel"])
def test_qlinear_conv(tmp_path: Path, case: dict[str, Any], each: bool) -> None:
    x, w = numbers("uint8", 1, 4, 6, 5), numbers("int8", 6, 4 // case.get("group", 1), 3, 3)
    scale = RNG.uniform(0.01, 0.02, 6 if each else 1).astype(np.float32)
    constants = {
        "xs": np.array(0.02, np.float32), "xz": np.array(9, np.uint8), "w": w, "ws": scale,
        "wz": np.zeros(len(scale), np.int8), "ys": np.array(0.4, np.float32),
        "yz": np.array(3, np.uint8), "b": RNG.integers(-500, 500, 6, np.int32),
    }  # fmt: skip
    node = helper.make_node("QLinearConv", ["x", *constants], ["y"], **case)
    compare(tmp_path, [node], {"x": x}, constants, opset=13, compiled=each)


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv_integer(tmp_path: Path, case: dict[str, Any]) -> None:
    x, w = numbers("uint8", 1, 4, 6, 5), numbers("uint8", 6, 4 // case.get("group", 1), 3, 3)
    constants = {"w": w, "xz": np.array(9, np.uint8), "wz": np.array(12, np.uint8)}
    node = helper.make_node("ConvInteger", ["x", *constants], ["y"], **case)
    compare(tmp_path, [node], {"x": x}, constants, opset=13)


def test_a_quantised_layer_between_floats(tmp_path: Path) -> None:
    """As converters write it: quantised and dequantised before and behind a product."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "ws"], ["wd"]),
        helper.make_node("MatMul", ["d", "wd"], ["y"]),
    ]
    constants = {
        "s": np.array(0.03, np.float32), "z": np.array(128, np.uint8),
        "w": numbers("int8", 6, 5), "ws": np.array(0.02, np.float32),
    }  # fmt: skip
    graph = compare(tmp_path, nodes, {"x": floats(RNG, 3, 6)}, constants, opset=13)
    assert [node.op for node in graph.nodes] == ["map", "matmul"]
