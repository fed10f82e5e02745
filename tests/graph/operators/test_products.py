"""Products of matrices of every rank and type, as NumPy computes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.graph.compare import kinds
from tests.graph.operators.one import agrees

from tilewright import dtypes

RNG = np.random.default_rng(0)
TYPES = ["float32", "float64", "float16", "bfloat16", "int32", "uint32", "int64", "uint64"]


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return RNG.integers(0, 9, shape).astype(dtypes.numpy(dtype))


SHAPES = [
    ((4, 5), (5, 3)), ((5,), (5, 3)), ((4, 5), (5,)), ((5,), (5,)), ((2, 4, 5), (5,)),
    ((2, 1, 4, 5), (3, 5, 2)), ((1, 5), (2, 5, 1)), ((5,), (2, 5, 3)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("constant", [(), (1,), (0,)], ids=["", "B", "A"])
def test_matmul(tmp_path: Path, shapes: tuple[Any, Any], constant: tuple[int, ...]) -> None:
    arrays = [numbers("float32", *shape) for shape in shapes]
    agrees(tmp_path, "MatMul", arrays, constant=constant, opset=13)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("constant", [(), (1,)], ids=["computed", "constant"])
def test_matmul_of_types(tmp_path: Path, dtype: str, constant: tuple[int, ...]) -> None:
    arrays = [numbers(dtype, 4, 5), numbers(dtype, 5, 3)]
    agrees(tmp_path, "MatMul", arrays, constant=constant, opset=13, compiled=True)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("addend", [None, (), (1,), (3,), (4, 1), (4, 3)], ids=str)
def test_gemm(tmp_path: Path, dtype: str, addend: tuple[int, ...] | None) -> None:
    arrays = [numbers(dtype, 5, 4), numbers(dtype, 3, 5)]
    arrays += [] if addend is None else [numbers(dtype, *addend)]
    graph = agrees(
        tmp_path, "Gemm", arrays, opset=13, transA=1, transB=1, alpha=2.0, beta=3.0,
        compiled=addend == (3,),
    )  # fmt: skip
    assert kinds(graph) == ["matmul"]


def test_a_fraction_of_integers(tmp_path: Path) -> None:
    arrays = [2 * numbers("int32", 4, 5), numbers("int32", 5, 3)]
    agrees(tmp_path, "Gemm", arrays, opset=13, alpha=0.5)
