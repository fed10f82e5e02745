"""Reductions in every form, and sums of products, against onnx's reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.compare import compare
from tests.graph.operators.one import agrees

from tilewright import dtypes

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 5, 3)).astype(np.float32)
OPS = [
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare",
]  # fmt: skip


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("keepdims", [0, 1])
def test_axes_as_input_and_attribute(tmp_path: Path, op: str, keepdims: int) -> None:
    x = np.abs(X) + np.float32(0.5)
    for axes in ([1], [-1, 0]):
        agrees(tmp_path, op, [x, np.array(axes)], constant=(1,), opset=18, keepdims=keepdims)
        if op != "ReduceSum":
            agrees(tmp_path, op, [x], opset=11, keepdims=keepdims, axes=axes)
    agrees(tmp_path, op, [x], opset=18, keepdims=keepdims)
    agrees(tmp_path, op, [x], opset=18, keepdims=keepdims, noop_with_empty_axes=1)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceMean"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "float16", "float64"])
def test_types(tmp_path: Path, op: str, dtype: str) -> None:
    x = RNG.integers(1, 6, (3, 4, 5)).astype(dtypes.numpy(dtype))
    agrees(tmp_path, op, [x, np.array([1])], constant=(1,), opset=18, tolerance=2e-3)


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8"])
def test_small_types(tmp_path: Path, op: str, dtype: str) -> None:
    x = RNG.integers(0, 2, (3, 4, 5)).astype(dtype)
    agrees(tmp_path, op, [x, np.array([0, 2])], constant=(1,), opset=20, compiled=True)


@pytest.mark.parametrize("op", [op for op in OPS if op != "ReduceLogSumExp"])  # onnx fails there
def test_a_scalar_is_reduced_to_itself(tmp_path: Path, op: str) -> None:
    x = np.array(2.0, np.float32)
    agrees(tmp_path, op, [x], opset=18, compiled=True)


def test_log_sum_exp_of_what_is_large_or_infinite(tmp_path: Path) -> None:
    x = np.array([[1e4, 1e4, 5], [-np.inf, -np.inf, -np.inf], [np.inf, 0, -3]], np.float32)
    node = helper.make_node("ReduceLogSumExp", ["x"], ["y"], axes=[1], keepdims=0)
    wanted = [np.array([1e4 + np.log(2), -np.inf, np.inf], np.float32)]
    compare(tmp_path, [node], {"x": x}, compiled=True, wanted=wanted)


EQUATIONS: list[tuple[str, tuple[tuple[int, ...], ...]]] = [
    ("ij,jk->ik", ((3, 4), (4, 5))),
    ("ij,jk", ((3, 4), (4, 5))),
    ("bij, bjk -> bik", ((2, 3, 4), (2, 4, 5))),
    ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))),
    ("ij->ji", ((3, 4),)),
    ("ij->", ((3, 4),)),
    ("ii->i", ((4, 4),)),
    ("bii", ((2, 3, 3),)),
    ("i,j->ij", ((3,), (4,))),
    ("...ij,...jk->...ik", ((2, 3, 3, 4), (3, 4, 5))),
    ("...i->...", ((2, 3, 4),)),
    ("ij,jk,kl->il", ((2, 3), (3, 4), (4, 5))),
    ("i,i,i->", ((5,), (5,), (5,))),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS, ids=str)
def test_einsum(tmp_path: Path, equation: str, shapes: Any) -> None:
    arrays = [floats(*shape) for shape in shapes]
    agrees(tmp_path, "Einsum", arrays, opset=12, equation=equation, compiled=len(shapes) == 3)
