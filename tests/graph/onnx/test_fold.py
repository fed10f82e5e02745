"""What is computed of constants is what ONNX Runtime computes of the same numbers as inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.compare import compare

RNG = np.random.default_rng(0)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


X = floats(2, 4, 6, 5)
CHANNELS = [*(floats(4) for _ in range(3)), np.array([0.1, 2, 0.5, 1], np.float32)]
BYTES = [
    *(RNG.integers(0, 255, (1, 4, 9), np.uint8), np.float32(0.5), np.uint8(3)),
    *(RNG.integers(-9, 9, (6, 4, 3), np.int8), np.full(6, 0.25, np.float32), np.zeros(6, np.int8)),
    *(np.float32(8), np.uint8(7)),
]
CASES: list[tuple[int, str, list[Any], dict[str, Any]]] = [
    *((opset, "BatchNormalization", [X, *CHANNELS], {}) for opset in (8, 9, 13, 15)),
    *((opset, op, [X], {"axis": 1}) for opset in (12, 13) for op in ("Softmax", "LogSoftmax")),
    (12, "Hardmax", [X], {"axis": 1}),
    (13, "LRN", [X], {"size": 3, "alpha": 0.1}),
    (13, "GlobalMaxPool", [X[0]], {}),
    (13, "MaxPool", [X], {"kernel_shape": [2, 3], "auto_pad": "SAME_UPPER"}),
    (13, "QLinearConv", BYTES, {}),
    (13, "Resize", [X, None, np.array([1, 1, 2, 1.5], np.float32)],
     {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"}),
    (20, "GridSample", [X, RNG.uniform(-1.2, 1.2, (2, 3, 3, 2)).astype(np.float32)],
     {"mode": "cubic", "padding_mode": "border", "align_corners": 1}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("opset", "op", "inputs", "attributes"), CASES, ids=[f"{op}-{opset}" for opset, op, *_ in CASES]
)
def test_constants_make_what_inputs_make(
    tmp_path: Path, opset: int, op: str, inputs: list[Any], attributes: dict[str, Any]
) -> None:
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    constants = {n: np.asarray(a) for n, a in zip(names, inputs, strict=True) if n}
    nodes = [
        helper.make_node(op, names, ["made"], **attributes),
        helper.make_node("Cast", ["made"], ["of"], to=1),
        helper.make_node("Add", ["of", "one"], ["y"]),
    ]
    compare(tmp_path, nodes, {"one": np.ones(1, np.float32)}, constants, opset=opset)
