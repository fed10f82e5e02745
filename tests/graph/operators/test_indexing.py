"""Reading and writing at indices, finding and sorting, against onnx's reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.compare import compare
from tests.graph.models import write
from tests.graph.operators.one import agrees

from tilewright.errors import ModelError
from tilewright.graph.onnx import load
from tilewright.graph.onnx.top import block_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 5, 3)).astype(np.float32)
TIES = RNG.integers(-2, 3, (3, 5, 2))


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def places(low: int, high: int, *shape: int) -> np.ndarray:
    return RNG.integers(low, high, shape)


@pytest.mark.parametrize("known", [False, True])
def test_gather_elements_and_nd(tmp_path: Path, known: bool) -> None:
    constant = (1,) if known else ()
    agrees(tmp_path, "GatherElements", [X, places(-5, 5, 4, 7, 3)], constant=constant, axis=1)
    for shape in ((6, 2), (2, 3, 1), (3,), (1, 3)):
        given = [X, places(-3, 3, *shape)]
        agrees(tmp_path, "GatherND", given, constant=constant, compiled=True)
    agrees(tmp_path, "GatherND", [X, places(-3, 3, 4, 6, 2)], constant=constant, batch_dims=1)
    agrees(tmp_path, "GatherND", [X, places(-3, 3, 4, 5, 1)], constant=constant, batch_dims=2)


@pytest.mark.parametrize("kind", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("axis", [0, -2])
@pytest.mark.parametrize("known", [False, True])
def test_scatter_elements(tmp_path: Path, kind: str, axis: int, known: bool) -> None:
    shape = (6, 5, 2) if axis == 0 else (3, 7, 3)
    at = places(-X.shape[axis], X.shape[axis], *shape)
    if kind == "none":  # where several meet, the order is not stated
        at = np.argsort(RNG.random((4, 5, 2)), axis) if axis else np.argsort(floats(4, 5, 2), 0)
        shape = at.shape
    given = [X, at, floats(*shape)]
    agrees(
        tmp_path, "ScatterElements", given, constant=(1,) if known else (), opset=18, axis=axis,
        reduction=kind, compiled=True,
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "bool"])
@pytest.mark.parametrize("kind", ["none", "add", "mul", "max", "min"])
def test_scatter_at_constant_places_compares_none(tmp_path: Path, dtype: str, kind: str) -> None:
    """Each element of the result knows what is written to it, unless several are combined there."""
    if dtype == "bool" and kind != "none":
        pytest.skip("nothing is combined")
    x, new = ((9 * floats(4, 5)).astype(dtype), (9 * floats(3, 5)).astype(dtype))
    how: dict[str, Any] = {"opset": 18, "constant": (1,), "reduction": kind}
    how["tolerance"] = 2e-3 if dtype == "float16" else 2e-5  # the reference rounds each sum
    once = np.array([[2], [-4], [1]]) + np.zeros((3, 5), int)
    made = agrees(tmp_path, "ScatterElements", [x, once, new], compiled=True, **how)
    assert "scatter_elements" not in {node.op for node in made.nodes}
    made = agrees(tmp_path, "ScatterND", [x, once[:, :1], new], compiled=True, **how)
    assert "scatter_nd" not in {node.op for node in made.nodes}
    twice = np.where(once == 1, 2, once)
    for op, at in ("ScatterElements", twice), ("ScatterND", twice[:, :1]):
        made = agrees(tmp_path, op, [x, at, new], **how)
        assert any("scatter" in node.op for node in made.nodes) == (kind != "none")


def test_scatter_at_places_that_are_none_is_refused_or_writes_nothing(tmp_path: Path) -> None:
    x, new = floats(4, 5), floats(2, 5)
    far = np.array([[4], [-5]]) + np.zeros((2, 5), int)
    for op, at in ("ScatterElements", far), ("ScatterND", far[:, :1]):
        node = helper.make_node(op, ["x", "at", "new"], ["y"])
        compare(tmp_path, [node], {"x": x}, {"at": at, "new": new}, wanted=[x], opset=18)
        for wrong, said in (
            (at.astype(np.float32), "float32"),
            (at[:, :0], "shape"),
            (np.zeros((2, 6, 1), int), "shape|dimensions"),
        ):
            path = write(tmp_path / "m.onnx", [node], {"x": x.shape}, {"at": wrong, "new": new})
            with pytest.raises(ModelError, match=rf"{op} 'y': .*{said}"):
                load(path)


@pytest.mark.parametrize("kind", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (2, 2, 3)], ids=str)
@pytest.mark.parametrize("known", [False, True])
def test_scatter_nd(tmp_path: Path, kind: str, shape: tuple[int, ...], known: bool) -> None:
    depth = shape[-1]
    rows = np.array(list(np.ndindex(*X.shape[:depth])))
    at = RNG.permutation(rows)[: int(np.prod(shape[:-1]))].reshape(shape)
    at = np.where(at > 1, at - X.shape[:depth], at)
    given = [X, at, floats(*shape[:-1], *X.shape[depth:])]
    agrees(tmp_path, "ScatterND", given, constant=(1,) if known else (), opset=18, reduction=kind)


def test_of_several_at_one_place_the_last_stays(tmp_path: Path) -> None:
    at, new = np.array([[1], [3], [1]]), floats(3, 5, 3)
    for known in ((), (1,)):
        agrees(tmp_path, "ScatterND", [X, at, new], constant=known, opset=18, compiled=True)
    rows = np.array([[2], [0], [2]]) + np.zeros((3, 5), int)
    for known in ((), (1,)):
        given = [floats(4, 5), rows, floats(3, 5)]
        agrees(tmp_path, "ScatterElements", given, constant=known, opset=18)


@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, -2])
def test_tensor_scatter(tmp_path: Path, mode: str, axis: int) -> None:
    past, new = floats(3, 2, 5, 4), floats(3, 2, 2, 4)
    if axis == 1:
        past, new = past.swapaxes(1, 2), new.swapaxes(1, 2)
    begin = np.array([1, 3, 0 if mode == "linear" else 4])
    agrees(tmp_path, "TensorScatter", [past, new, begin], opset=24, mode=mode, axis=axis)


@pytest.mark.parametrize("op", ["CumSum", "CumProd"])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_scan(tmp_path: Path, op: str, exclusive: int, reverse: int, dtype: str) -> None:
    x = np.round(2 * X).astype(dtype) if dtype == "int32" else X
    for axis in (1, -1):
        agrees(
            tmp_path, op, [x, np.array(axis)], constant=(1,), opset=26 if op == "CumProd" else 14,
            exclusive=exclusive, reverse=reverse,
        )  # fmt: skip


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_top_k(tmp_path: Path, largest: int, axis: int) -> None:
    for x in (X, TIES, TIES.astype(np.float16)):
        agrees(
            tmp_path, "TopK", [x, np.array([2])], constant=(1,), outputs=2, opset=11,
            largest=largest, axis=axis, compiled=x is TIES,
        )  # fmt: skip


def ranked(row: np.ndarray, largest: int) -> list[int]:
    """NaN is greater than all, and of equal elements the first is first."""
    sign = -1.0 if largest else 1.0
    keys = [(sign * np.isnan(x), 0.0 if np.isnan(x) else sign * float(x)) for x in row]
    return sorted(range(len(row)), key=lambda i: (*keys[i], i))


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
def test_top_k_of_long_rows(tmp_path: Path, largest: int, dtype: str) -> None:
    """They are looked for in blocks, the last of which is not full."""
    x = RNG.integers(0 if dtype == "uint8" else -90, 90, (2, 523, 2)).astype(dtype)
    if dtype.startswith("float"):
        x[0, RNG.integers(0, 523, 480)] = np.inf if largest == 0 else -np.inf
        x[1, [3, 77, 500]] = np.nan
        x[1, 5:500:3] = np.inf if largest == 0 else -np.inf
    node = helper.make_node("TopK", ["x", "k"], ["y", "i"], axis=1, largest=largest)
    at = np.array([[ranked(x[a, :, b], largest)[:30] for b in range(2)] for a in range(2)])
    at = at.transpose(0, 2, 1)
    wanted = [np.take_along_axis(x, at, 1), at]
    made = compare(
        tmp_path, [node], {"x": x}, {"k": np.array([30])}, ["y", "i"], wanted=wanted, opset=11,
        compiled=True,
    )  # fmt: skip
    assert sum(node.op == "top_k" for node in made.nodes) == 2


@pytest.mark.parametrize(
    ("n", "count", "few"), [(8400, 100, 9), (50257, 50, 50), (1000, 5, 15), (600, 600, 1)]
)
def test_blocks_leave_few_pairs(n: int, count: int, few: int) -> None:
    block = block_of(n, count)
    pairs = n * block + (-(-n // block) * count) ** 2 if block else n * n
    assert pairs <= n * n / few
    assert not block or count <= block < n


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("options", [{}, {"select_last_index": 1}, {"keepdims": 0}], ids=str)
def test_arg(tmp_path: Path, op: str, options: dict[str, Any]) -> None:
    for x in (X, TIES, TIES.astype(np.uint8)):
        for axis in (0, -2):
            agrees(tmp_path, op, [x], opset=13, axis=axis, **options)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_hardmax(tmp_path: Path, opset: int, axis: int | None) -> None:
    """Old operator sets see a matrix of what is before the axis and what follows."""
    given: dict[str, Any] = {} if axis is None else {"axis": axis}
    node = helper.make_node("Hardmax", ["x"], ["y"], **given)
    compare(tmp_path, [node], {"x": X}, opset=opset)


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("known", [(1,), (1, 2)])
@pytest.mark.parametrize("dtype", ["int64", "int8", "float32"])
def test_one_hot(tmp_path: Path, axis: int, known: tuple[int, ...], dtype: str) -> None:
    at = np.array([[0, -1, 3], [-4, 2, 1]], dtype)
    given = [at, np.array(4), np.array([2, -3], np.float32)]
    agrees(tmp_path, "OneHot", given, constant=known, opset=11, axis=axis)


@pytest.mark.parametrize("batch", [0, 1])
def test_reverse_sequence(tmp_path: Path, batch: int) -> None:
    lengths = places(1, X.shape[1 - batch] + 1, X.shape[batch])
    agrees(tmp_path, "ReverseSequence", [X, lengths], opset=10, batch_axis=batch,
           time_axis=1 - batch, compiled=True)  # fmt: skip


def test_compress_by_a_constant(tmp_path: Path) -> None:
    kept = np.array([True, False, True])
    agrees(tmp_path, "Compress", [X, kept], constant=(1,), opset=11, axis=-1)
    agrees(tmp_path, "Compress", [X, np.arange(60) % 3 == 0], constant=(1,), opset=11)
