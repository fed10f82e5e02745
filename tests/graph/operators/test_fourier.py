"""Fourier transforms of a known length, against the reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx.helper import make_node
from tests.graph.models import write
from tests.graph.operators.one import agrees

from tilewright.errors import ModelError
from tilewright.graph.onnx import load

RNG = np.random.default_rng(0)


def signal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("axis", [0, 1, -2])
@pytest.mark.parametrize("pairs", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
def test_transforms_along_any_axis(tmp_path: Path, axis: int, pairs: int, inverse: int) -> None:
    given = [signal(3, 6, 5, pairs), None, np.array(axis)]
    agrees(tmp_path, "DFT", given, constant=[2], inverse=inverse)
    old = given[:1]
    agrees(tmp_path, "DFT", old, opset=17, axis=axis, inverse=inverse)


@pytest.mark.parametrize("length", [None, 4, 7, 10])
def test_half_of_what_is_symmetric(tmp_path: Path, length: int | None) -> None:
    long = None if length is None else np.array(length)
    real = [signal(2, 7, 1), long, np.array(1)]
    constant = [2] if length is None else [1, 2]
    agrees(tmp_path, "DFT", real, constant=constant, onesided=1)
    agrees(tmp_path, "DFT", [signal(2, 5, 2), *real[1:]], constant=constant, onesided=1, inverse=1)


def test_one_axis_and_float64(tmp_path: Path) -> None:
    agrees(tmp_path, "DFT", [signal(9, 2, dtype="float64"), None, np.array(0)], constant=[2],
           compiled=True)  # fmt: skip


@pytest.mark.parametrize("step", [1, 3, 4])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("window", ["no", "constant", "given"])
def test_windows(tmp_path: Path, step: int, onesided: int, window: str) -> None:
    shape = None if window == "no" else np.hanning(8).astype(np.float32)
    given = [signal(2, 21, 1), np.array(step), shape, np.array(8)]
    constant = [1, 3] + ([2] if window == "constant" else [])
    agrees(tmp_path, "STFT", given, constant=constant, onesided=onesided, compiled=step == 3)


def test_windows_of_complex_numbers(tmp_path: Path) -> None:
    given = [signal(1, 16, 2), np.array(5), signal(6)]
    agrees(tmp_path, "STFT", given, constant=[1], onesided=0)


@pytest.mark.parametrize(
    ("shape", "why"),
    [((2, 8, 3), "1 or 2 parts"), ((1 << 14, 1), "it is a matrix here"), ((8,), "of pairs")],
)
def test_what_is_refused(tmp_path: Path, shape: tuple[int, ...], why: str) -> None:
    nodes = [make_node("DFT", ["x", "", "axis"], ["y"])]
    constants = {"axis": np.array(0)}
    path = write(tmp_path / "m.onnx", nodes, {"x": shape}, constants, opset=20)
    with pytest.raises(ModelError, match=why):
        load(path)
