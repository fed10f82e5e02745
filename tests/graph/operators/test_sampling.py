"""Images read between their pixels, moved by blocks, and cut out; against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx.helper import make_node
from tests.graph.compare import compare
from tests.graph.models import floats

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_grids_in_planes(tmp_path: Path, mode: str, padding: str, corners: int) -> None:
    node = make_node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding,
                     align_corners=corners)  # fmt: skip
    arrays = {"x": floats(RNG, 2, 3, 4, 5), "g": RNG.uniform(-1.6, 1.6, (2, 3, 6, 2))}
    arrays["g"] = arrays["g"].astype(np.float32)
    compare(tmp_path, [node], arrays, compiled=True, tolerance=2e-4)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_grids_in_space(tmp_path: Path, mode: str) -> None:
    node = make_node("GridSample", ["x", "g"], ["y"], mode=mode)
    grid = RNG.uniform(-1.2, 1.2, (1, 2, 3, 4, 3)).astype(np.float32)
    arrays = {"x": floats(RNG, 1, 2, 3, 4, 5), "g": grid}
    compare(tmp_path, [node], arrays, opset=20, compiled=True, tolerance=2e-4)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 3, 2, 4)], ids=str)
def test_grids_that_are_moved(tmp_path: Path, size: tuple[int, ...], corners: int) -> None:
    node = make_node("AffineGrid", ["t", "s"], ["y"], align_corners=corners)
    count = len(size) - 2
    theta = floats(RNG, size[0], count, count + 1)
    compare(tmp_path, [node], {"t": theta}, {"s": np.array(size)}, opset=20, compiled=True)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("half", ["half_pixel", "output_half_pixel"])
def test_boxes(tmp_path: Path, mode: str, half: str) -> None:
    node = make_node(
        "RoiAlign", ["x", "r", "n"], ["y"], mode=mode, coordinate_transformation_mode=half,
        output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5,
    )  # fmt: skip
    first = RNG.uniform(-3, 9, (5, 2))
    boxes = np.concatenate([first, first + RNG.uniform(1, 9, (5, 2))], 1).astype(np.float32)
    arrays = {"x": np.abs(floats(RNG, 2, 3, 7, 6)), "r": boxes, "n": np.array([0, 1, 1, 0, 1])}
    compare(tmp_path, [node], arrays, compiled=True, tolerance=2e-4)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks(tmp_path: Path, mode: str) -> None:
    node = make_node("DepthToSpace", ["x"], ["y"], blocksize=2, mode=mode)
    compare(tmp_path, [node], {"x": floats(RNG, 2, 12, 3, 5)}, compiled=True)
    node = make_node("SpaceToDepth", ["x"], ["y"], blocksize=3)
    compare(tmp_path, [node], {"x": floats(RNG, 2, 3, 6, 9)}, compiled=True)


CUTS: list[tuple[dict[str, Any], list[int]]] = [
    ({}, [4, 9, 3]),
    ({"axes": [-1, 0]}, [4, 9]),
    ({"axes": [1]}, [7]),
    ({"axes": [2]}, [3]),
    ({}, [5, 6, 8]),
]


@pytest.mark.parametrize(("given", "shape"), CUTS, ids=str)
def test_the_middle(tmp_path: Path, given: dict[str, Any], shape: list[int]) -> None:
    node = make_node("CenterCropPad", ["x", "s"], ["y"], **given)
    constants = {"s": np.array(shape)}
    compare(tmp_path, [node], {"x": floats(RNG, 5, 6, 8)}, constants, opset=18, compiled=True,
            reference=True)  # fmt: skip
