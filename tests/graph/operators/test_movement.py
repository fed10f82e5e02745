"""Operators that move and repeat elements, in every form and type, against onnx's reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.graph.compare import compare
from tests.graph.operators.one import agrees

import tilewright as tw
from tilewright import dtypes
from tilewright.errors import ModelError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 5, 3)).astype(np.float32)


def whole(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def of(dtype: str, *shape: int) -> np.ndarray:
    if dtype == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    return RNG.integers(0, 9, shape).astype(dtypes.numpy(dtype))


SLICES = {
    "some axes": (whole(1, -2), whole(3, 9), whole(1, -1)),
    "backwards": (whole(-1, 3), whole(-100, 0), whole(0, 1), whole(-1, -2)),
    "far ends": (whole(-100, 1), whole(2**31 - 1, -1), whole(0, 2), whole(3, 1)),
    "first axes": (whole(1, 0, 1), whole(2, 5, 3)),
    "all": (whole(0), whole(4), whole(0)),
}


@pytest.mark.parametrize("name", SLICES)
@pytest.mark.parametrize("integers", ["int32", "int64"])
def test_slice(tmp_path: Path, name: str, integers: str) -> None:
    given = [array.astype(integers) for array in SLICES[name]]
    agrees(tmp_path, "Slice", [X, *given], constant=range(1, 1 + len(given)), opset=13)


def test_slice_with_attributes(tmp_path: Path) -> None:
    agrees(tmp_path, "Slice", [X], opset=9, starts=[1, -2], ends=[100, -1], axes=[2, 1])


PADS = [
    (whole(1, 0, 2, 0, 3, 1), None, {}),
    (whole(1, 0, 2, 0, 3, 1), np.float32(1.5), {}),
    (whole(1, 2, 0, 0, 1, 4), None, {"mode": "edge"}),
    (whole(3, 2, 0, 1, 0, 2), None, {"mode": "reflect"}),
    (whole(0, 0, 5, 1, 0, 7), None, {"mode": "wrap"}),
    (whole(0, 9, 2, 0, 3, 2), None, {"mode": "wrap"}),
]


@pytest.mark.parametrize(("pads", "value", "attributes"), PADS, ids=str)
def test_pad(tmp_path: Path, pads: np.ndarray, value: Any, attributes: dict[str, Any]) -> None:
    given = [X, pads] if value is None else [X, pads, np.asarray(value)]
    agrees(tmp_path, "Pad", given, constant=range(1, len(given)), opset=19, **attributes)


@pytest.mark.parametrize("pads", [(0, -1, 0, -2, -1, 0), (1, -1, 0, -2, 3, 0)], ids=str)
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad_that_takes_away(tmp_path: Path, pads: tuple[int, ...], mode: str) -> None:
    node = helper.make_node("Pad", ["x", "pads", "value"], ["y"], mode=mode)
    constants = {"pads": whole(*pads), "value": np.array(-np.inf, np.float32)}
    compare(tmp_path, [node], {"x": X}, constants, opset=19)


def test_pad_of_some_axes(tmp_path: Path) -> None:
    given = [X, whole(2, 1, 0, 3), np.float32(2), whole(-1, 0)]
    agrees(tmp_path, "Pad", [np.asarray(g) for g in given], constant=(1, 2, 3), opset=18)


@pytest.mark.parametrize(
    ("sizes", "attributes"),
    [(whole(2, 2, 1), {"axis": 1}), (None, {"axis": -1}), (None, {"axis": 0, "num_outputs": 3})],
    ids=str,
)
def test_split(tmp_path: Path, sizes: np.ndarray | None, attributes: dict[str, Any]) -> None:
    given = [X] if sizes is None else [X, sizes]
    opset = 18 if "num_outputs" in attributes else 13
    agrees(tmp_path, "Split", given, constant=range(1, len(given)), outputs=3, opset=opset,
           **attributes)  # fmt: skip


def test_split_with_an_attribute(tmp_path: Path) -> None:
    agrees(tmp_path, "Split", [X], outputs=2, opset=11, split=[1, 3])


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ((4, 5, 1), (4, 5, 3)),
        ((1, 5, 3), (2, 1, 5, 1)),
        ((5, 1), (3,)),
        ((4, 5, 3), (1,)),
        ((3,), (7, 4, 5, 3)),
    ],
    ids=str,
)
def test_expand(tmp_path: Path, given: tuple[int, ...], shape: tuple[int, ...]) -> None:
    agrees(tmp_path, "Expand", [of("float32", *given), whole(*shape)], constant=(1,))


def test_expand_of_a_scalar_and_to_less(tmp_path: Path) -> None:
    agrees(tmp_path, "Expand", [np.array(3, np.float32), whole(2, 3)], constant=(1,))
    agrees(tmp_path, "Expand", [X, whole(1)], constant=(1,))


@pytest.mark.parametrize("times", [(1, 1, 1), (2, 1, 3), (1, 4, 1)], ids=str)
def test_tile(tmp_path: Path, times: tuple[int, ...]) -> None:
    agrees(tmp_path, "Tile", [X, whole(*times)], constant=(1,))


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -2, 0, 1, 9])
def test_trilu(tmp_path: Path, upper: int, k: int | None) -> None:
    given = [X] if k is None else [X, np.array(k)]
    agrees(tmp_path, "Trilu", given, constant=range(1, len(given)), upper=upper)


@pytest.mark.parametrize("dtype", dtypes.LLVM)
def test_movement_of_every_type(tmp_path: Path, dtype: str) -> None:
    """Compiled, too: what a network is given and what it returns is of the type of NumPy."""
    x, y = of(dtype, 3, 4), of(dtype, 3, 2)
    agrees(tmp_path, "Concat", [x, y], axis=-1, compiled=True)
    agrees(tmp_path, "Transpose", [x], compiled=True)
    cut = (whole(-1), whole(-9), whole(1), whole(-3))
    agrees(tmp_path, "Slice", [x, *cut], constant=(1, 2, 3, 4), compiled=True)
    agrees(tmp_path, "Pad", [x, whole(1, 0, 0, 2), of(dtype).reshape(())], constant=(1, 2),
           compiled=True)  # fmt: skip
    agrees(tmp_path, "Expand", [x[:, :1], whole(2, 3, 4)], constant=(1,), compiled=True)


def test_what_is_cut_away_whole_is_joined_as_nothing() -> None:
    nodes = [
        helper.make_node("Slice", ["x", "zero", "zero", "axis"], ["none"]),
        helper.make_node("Concat", ["none", "x"], ["y"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [
            helper.make_tensor("zero", TensorProto.INT64, [1], [0]),
            helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    np.testing.assert_array_equal(tw.compile(tw.load_onnx(model), threads=1)(x), x)


@pytest.mark.parametrize(
    ("op", "given", "message"),
    [
        ("Expand", [X, whole(2, 2)], r"\(4, 5, 3\) cannot be repeated to \(2, 2\)"),
        ("Tile", [X, whole(2, 2)], "it repeats a tensor"),
        ("Pad", [X, whole(1, 2)], "pads 3 axes by"),
        ("Pad", [X, whole(-4, 0, 0, 0, 0, 0)], "leaves nothing"),
        ("Slice", [X, whole(0), whole(4), whole(7)], r"axes \(7,\) are not"),
        ("Slice", [X, whole(0), whole(4), whole(0), whole(0)], "a step that is not 0"),
        ("Tile", [X, whole(1 << 20, 1 << 20, 1)], "too large|more than 2"),
        ("Expand", [X[:1, :1], whole(1 << 21, 1 << 21, 3)], "too large|more than 2"),
        ("Pad", [X, whole(0, 0, 0, 1 << 41, 0, 0)], "too large|more than 2"),
    ],
    ids=str,
)
def test_what_cannot_be(op: str, given: list[np.ndarray], message: str) -> None:
    names = [f"x{i}" for i in range(len(given))]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"])],
        "test",
        [helper.make_tensor_value_info("x0", TensorProto.FLOAT, given[0].shape)],
        [helper.make_empty_tensor_value_info("y")],
        [
            helper.make_tensor(n, TensorProto.INT64, a.shape, a)
            for n, a in zip(names[1:], given[1:], strict=True)
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    with pytest.raises(ModelError, match=message):
        tw.load_onnx(model)
