"""Resizing, against ONNX Runtime where it does as the standard says, else against onnx itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node
from tests.graph.compare import compare
from tests.graph.models import floats

RNG = np.random.default_rng(8)
COORDINATES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


def check(
    folder: Path, given: dict[str, Any], shape: tuple[int, ...], *,
    scales: list[float] | None = None, sizes: list[int] | None = None,
    roi: list[float] | None = None, opset: int = 19, reference: bool = False,
) -> None:  # fmt: skip
    constants = {
        "r": None if roi is None else np.array(roi, np.float32),
        "s": None if scales is None else np.array(scales, np.float32),
        "z": None if sizes is None else np.array(sizes, np.int64),
    }
    names = [name if array is not None else "" for name, array in constants.items()]
    stored = {name: array for name, array in constants.items() if array is not None}
    node = make_node("Resize", ["x", *names], ["y"], **given)
    compare(folder, [node], {"x": floats(RNG, *shape)}, stored, opset=opset, compiled=True,
            reference=reference, tolerance=1e-4)  # fmt: skip


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("rounding", ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
def test_nearest(tmp_path: Path, coordinates: str, rounding: str) -> None:
    given = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
    check(tmp_path, given, (1, 2, 5, 4), sizes=[1, 2, 8, 3])


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [(9, 8), (3, 2), (5, 7)], ids=str)
def test_interpolation(tmp_path: Path, coordinates: str, mode: str, sizes: tuple[int, int]) -> None:
    given = {"coordinate_transformation_mode": coordinates, "mode": mode}
    check(tmp_path, given, (1, 2, 5, 4), sizes=[1, 2, *sizes])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("sizes", [(3, 4), (2, 9)], ids=str)
def test_antialias(tmp_path: Path, mode: str, sizes: tuple[int, int]) -> None:
    check(tmp_path, {"mode": mode, "antialias": 1}, (1, 1, 8, 7), sizes=[1, 1, *sizes],
          reference=True)  # fmt: skip


MORE: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"mode": "cubic", "exclude_outside": 1}, {"sizes": [1, 2, 7, 3]}),
    ({"mode": "cubic", "cubic_coeff_a": -0.5}, {"sizes": [1, 2, 7, 9]}),
    ({"mode": "linear", "axes": [3, 2]}, {"sizes": [7, 3]}),
    ({"mode": "nearest", "axes": [3]}, {"scales": [1.5]}),
    ({"mode": "linear", "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"},
     {"sizes": [8, 9]}),
    ({"mode": "linear", "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"},
     {"sizes": [8, 9]}),
    ({"mode": "linear", "coordinate_transformation_mode": "half_pixel_symmetric"},
     {"scales": [1, 1, 1.7, 0.6]}),
    ({"mode": "linear"}, {"scales": [1, 1, 1.7, 0.6]}),
    ({"mode": "linear", "coordinate_transformation_mode": "align_corners"},
     {"scales": [1, 1, 0.6, 1.4]}),
    ({"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize",
      "extrapolation_value": 3.0},
     {"sizes": [1, 2, 4, 5], "roi": [0, 0, 0.3, -0.2, 1, 1, 1.4, 0.7]}),
    ({"mode": "cubic", "coordinate_transformation_mode": "tf_crop_and_resize"},
     {"sizes": [1, 2, 5, 4], "roi": [0, 0, 0.1, 0.2, 1, 1, 0.9, 0.7]}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "asked"), MORE, ids=str)
def test_what_is_asked_for_seldom(
    tmp_path: Path, given: dict[str, Any], asked: dict[str, Any]
) -> None:
    check(tmp_path, given, (1, 2, 5, 4), **asked, reference=True)


def test_other_ranks(tmp_path: Path) -> None:
    check(tmp_path, {"mode": "linear"}, (1, 2, 7), sizes=[1, 2, 12])
    check(tmp_path, {"mode": "linear"}, (1, 1, 3, 4, 5), scales=[1, 1, 2, 2, 1])
    check(tmp_path, {"mode": "nearest", "nearest_mode": "floor"}, (3, 4), scales=[2, 3])


@pytest.mark.parametrize("op", ["Upsample", "Resize"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_the_old_operators(tmp_path: Path, op: str, mode: str) -> None:
    node = make_node(op, ["x", "s"], ["y"], mode=mode)
    constants = {"s": np.array([1, 1, 2, 3], np.float32)}
    opset = 9 if op == "Upsample" else 10
    compare(tmp_path, [node], {"x": floats(RNG, 1, 2, 3, 4)}, constants, opset=opset, compiled=True)
