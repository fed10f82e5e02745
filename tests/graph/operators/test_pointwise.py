"""Operators on single elements, of every type that they take and at its edges, as in onnx."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.compare import compare
from tests.graph.operators.one import agrees

from tilewright import dtypes
from tilewright.errors import ModelError

RNG = np.random.default_rng(0)
EDGES = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -7.0, 20.0, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, 2, 3, 5, 7, 100, 127]

OF_ANY = (
    "Abs Ceil Cos Erf Exp Floor HardSwish IsNaN IsInf Log Neg Reciprocal Relu Round Sigmoid Sign "
    "Sin Softplus Softsign Sqrt Tan Tanh Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Mish Gelu "
    "Elu Selu Celu LeakyRelu HardSigmoid ThresholdedRelu Shrink"
)
ZERO_OF_NAN = ("Shrink", "ThresholdedRelu")  # as onnx computes them; ours keep it, as PyTorch does


def whole(dtype: str) -> np.ndarray:
    numbers = np.array(INTEGERS, dtype)
    return np.concatenate([numbers, -numbers]) if np.iinfo(dtype).min < 0 else numbers


@pytest.mark.parametrize("op", OF_ANY.split())
def test_of_floats(tmp_path: Path, op: str) -> None:
    edges = EDGES[:-1] if op in ZERO_OF_NAN else EDGES
    x = np.array([*edges, *RNG.uniform(-0.9, 0.9, 6)], np.float32)
    agrees(tmp_path, op, [x], opset=22, tolerance=1e-5)


ATTRIBUTES: list[tuple[str, dict[str, Any]]] = [
    ("Elu", {"alpha": 2.0}),
    ("Celu", {"alpha": 0.7}),
    ("Selu", {"alpha": 1.1, "gamma": 2.0}),
    ("LeakyRelu", {"alpha": 0.3}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
    ("ThresholdedRelu", {"alpha": 0.6}),
    ("Shrink", {"lambd": 0.6, "bias": 0.25}),
    ("Gelu", {"approximate": "tanh"}),
    ("IsInf", {"detect_negative": 0}),
    ("IsInf", {"detect_positive": 0}),
    ("IsInf", {"detect_positive": 0, "detect_negative": 0}),
]


@pytest.mark.parametrize(("op", "attributes"), ATTRIBUTES, ids=str)
def test_attributes(tmp_path: Path, op: str, attributes: dict[str, Any]) -> None:
    edges = EDGES[:-1] if op in ZERO_OF_NAN else EDGES
    agrees(tmp_path, op, [np.array(edges, np.float32)], opset=22, **attributes)


def test_swish(tmp_path: Path) -> None:
    x = np.array([-3.0, -0.5, 0.0, 2.0], np.float32)
    agrees(tmp_path, "Swish", [x], opset=24, alpha=1.5)


PAIRS = {
    "Add": "float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "Sub": "float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "Mul": "float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "Div": "float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "Max": "float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "Min": "float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "Mod": "int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "Pow": "float32 int32 int64",
    "Equal": "float32 bool int8 uint16 int64",
    "Less": "float32 uint8 int16 int64",
    "LessOrEqual": "float32 uint8 int16 int64",
    "Greater": "float32 uint8 int16 int64",
    "GreaterOrEqual": "float32 uint8 int16 int64",
    "And": "bool",
    "Or": "bool",
    "Xor": "bool",
    "BitwiseAnd": "int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "BitwiseOr": "int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "BitwiseXor": "int8 uint8 int16 uint16 int32 uint32 int64 uint64",
}


@pytest.mark.parametrize(("op", "dtype"), [(o, d) for o, t in PAIRS.items() for d in t.split()])
def test_of_two(tmp_path: Path, op: str, dtype: str) -> None:
    """Of two tensors that are repeated to each other's shape."""
    if dtype == "bool":
        a, b = np.array([[True], [False]]), np.array([True, False])
    elif dtype.startswith("float"):
        a = np.array([[1.5], [-2.0], [0.25]], dtype)
        b = np.array([3.0, -1.5, 1.5, 0.5, 2.0], dtype)
        a = np.abs(a) if op == "Pow" else a
    else:
        a, b = whole(dtype)[:, None], whole(dtype)
        b = b[b != 0] if op in ("Div", "Mod") else b
        a, b = (a[:8], b[b >= 0][:4]) if op == "Pow" else (a, b)
    if op == "Div" and dtype[0] in "iu":
        node = helper.make_node(op, ["a", "b"], ["y"])
        wanted = np.trunc(a.astype(np.float64) / b).astype(dtype)
        compare(tmp_path, [node], {"a": a, "b": b}, opset=22, wanted=[wanted])
        return
    agrees(tmp_path, op, [a, b], opset=22, tolerance=2e-3 if dtype == "float16" else 2e-5)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_remainder_with_the_sign_of_the_dividend(tmp_path: Path, dtype: str) -> None:
    a = np.array([[7], [-7], [5], [-5]], dtype)
    agrees(tmp_path, "Mod", [a, np.array([3, -3, 4], dtype)], fmod=1)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_shift(tmp_path: Path, dtype: str, direction: str) -> None:
    x, by = np.array([[1], [16], [255]], dtype), np.array([0, 1, 3], dtype)
    agrees(tmp_path, "BitShift", [x, by], opset=11, direction=direction)


POWERS = [
    ("float32", "int64"), ("float32", "float64"), ("int32", "float32"), ("int64", "float32"),
    ("float64", "int32"), ("int64", "int32"), ("float32", "uint8"),
]  # fmt: skip


@pytest.mark.parametrize("constant", [(), (1,)], ids=["computed", "constant"])
@pytest.mark.parametrize(("base", "exponent"), POWERS)
def test_power_of_two_types(
    tmp_path: Path, base: str, exponent: str, constant: tuple[int, ...]
) -> None:
    x = np.array([1, 2, 3, 10], base)
    for by in (np.array([0, 1, 2, 3], exponent), np.array(3, exponent)):
        agrees(tmp_path, "Pow", [x, by], constant=constant, opset=15)


@pytest.mark.parametrize("exponent", [0.5, -1.0, 2.0, 3.0, 0.3])
def test_power_by_a_constant(tmp_path: Path, exponent: float) -> None:
    x = np.array([0.0, 0.25, 4.0, 7.5, np.inf], np.float32)
    agrees(tmp_path, "Pow", [x, np.array([exponent], np.float32)], constant=[1], opset=15)


@pytest.mark.parametrize("op", ["Mean", "Sum", "Max", "Min"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_of_any_number(tmp_path: Path, op: str, count: int) -> None:
    arrays = [np.asarray(RNG.standard_normal(s), np.float32) for s in ((2, 3), (3,), (2, 1))]
    agrees(tmp_path, op, arrays[:count], opset=13)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_slope_of_each_channel(tmp_path: Path, dtype: str) -> None:
    x = np.array([[[-4, 2], [3, -1]], [[5, -6], [-7, 8]]], dtype)
    agrees(tmp_path, "PRelu", [x, np.array([[2], [3]], dtype)], opset=16)


def test_slopes_of_channels_as_one_axis(tmp_path: Path) -> None:
    x, slopes = RNG.standard_normal((2, 3, 4)).astype(np.float32), np.array([1, 2, 3], np.float32)
    node = helper.make_node("PRelu", ["x", "s"], ["y"])
    wanted = np.where(x < 0, x * slopes[:, None], x)
    compare(tmp_path, [node], {"x": x}, {"s": slopes}, opset=9, wanted=[wanted])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_relu_of_integers(tmp_path: Path, dtype: str) -> None:
    agrees(tmp_path, "Relu", [whole(dtype)], opset=14)


TYPES = "float32 float64 float16 bfloat16 int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool"


@pytest.mark.parametrize("to", TYPES.split())
@pytest.mark.parametrize("of", TYPES.split())
def test_cast(tmp_path: Path, of: str, to: str) -> None:
    x = np.array([0.0, 1.0, 2.5, 3.7, 100.0], np.float32).astype(dtypes.numpy(of))
    with np.errstate(all="ignore"):
        wanted = x.astype(dtypes.numpy(to))
    number = helper.np_dtype_to_tensor_dtype(dtypes.numpy(to))
    node = helper.make_node("Cast", ["a"], ["y"], to=number)
    compare(tmp_path, [node], {"a": x}, opset=19, wanted=[wanted])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_where(tmp_path: Path, dtype: str) -> None:
    condition = np.array([[True], [False]])
    agrees(tmp_path, "Where", [condition, np.ones(3, dtype), np.zeros((2, 3), dtype)], opset=16)


def test_dropout_does_nothing_and_its_mask_is_true(tmp_path: Path) -> None:
    agrees(tmp_path, "Dropout", [np.ones((2, 3), np.float32)], outputs=2, opset=13)


def test_dropout_in_training_mode_is_refused(tmp_path: Path) -> None:
    arrays = [np.ones(3, np.float32), np.array(0.5, np.float32), np.array(True)]
    with pytest.raises(ModelError, match="training mode"):
        agrees(tmp_path, "Dropout", arrays, constant=[1, 2], opset=13)
    kept = [arrays[0], np.array(0.0, np.float32), np.array(True)]
    agrees(tmp_path, "Dropout", kept, constant=[1, 2], opset=13)


def test_compiled(tmp_path: Path) -> None:
    """A chain of several types is one kernel, and right."""
    nodes = [
        helper.make_node("Softplus", ["a"], ["p"]),
        helper.make_node("Pow", ["p", "two"], ["q"]),
        helper.make_node("IsInf", ["q"], ["i"]),
        helper.make_node("Less", ["q", "b"], ["l"]),
        helper.make_node("Or", ["i", "l"], ["o"]),
        helper.make_node("Where", ["o", "a", "q"], ["w"]),
        helper.make_node("Mish", ["w"], ["y"]),
    ]
    arrays = {"a": np.array(EDGES[:-1], np.float32), "b": np.ones(1, np.float32)}
    graph = compare(
        tmp_path, nodes, arrays, {"two": np.array(2, np.int64)}, opset=18, compiled=True
    )
    assert [node.op for node in graph.nodes] == ["map"]
