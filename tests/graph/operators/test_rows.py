"""Softmax and normalisation of rows, as ONNX Runtime and onnx's own evaluator compute them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from tests.graph.compare import compare, kinds
from tests.graph.models import floats
from tests.graph.operators.one import agrees

from tilewright.errors import ModelError

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax(tmp_path: Path, op: str, axis: int | None, opset: int) -> None:
    """Before operator set 13 it is over all axes from its own on, which is 1 if not stated."""
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    node = helper.make_node(op, ["x"], ["y"], **attributes)
    graph = compare(tmp_path, [node], {"x": floats(RNG, 3, 5, 4)}, opset=opset)
    assert kinds(graph) == ["softmax"]


def test_softmax_of_an_axis_that_is_not_there(tmp_path: Path) -> None:
    node = helper.make_node("Softmax", ["x"], ["y"], axis=2)
    with pytest.raises(ModelError, match=r"axes \(2,\) are not different ones of 2"):
        compare(tmp_path, [node], {"x": floats(RNG, 2, 3)}, wanted=[floats(RNG, 2, 3)])


@pytest.mark.parametrize("axis", [-1, 1, 0])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
def test_layer_norm(tmp_path: Path, axis: int, bias: bool, outputs: int) -> None:
    shape = (3, 5, 7)
    arrays = [floats(RNG, *shape), floats(RNG, *shape[axis:])]
    arrays += [floats(RNG, *shape[axis:])] if bias else []
    left = agrees(
        tmp_path, "LayerNormalization", arrays, constant=range(1, len(arrays)), outputs=outputs,
        opset=17, axis=axis, epsilon=1e-3, compiled=axis == 1,
    )  # fmt: skip
    assert kinds(left).count("layer_norm") == 1
    assert outputs > 1 or kinds(left) == ["layer_norm"], "scale and bias belong to it"


def test_layer_norm_of_short_floats(tmp_path: Path) -> None:
    arrays = [floats(RNG, 4, 9).astype(np.float16), floats(RNG, 9).astype(np.float16)]
    agrees(tmp_path, "LayerNormalization", arrays, opset=17, tolerance=2e-3)


def test_layer_norm_in_models_of_onnxruntime(tmp_path: Path) -> None:
    """Its optimizer writes it into models of operator sets in which ONNX has none."""
    arrays = [floats(RNG, 2, 3, 8), floats(RNG, 8), floats(RNG, 8)]
    agrees(tmp_path, "LayerNormalization", arrays, constant=(1, 2), opset=11)


@pytest.mark.parametrize("axis", [-1, 1])
def test_rms_norm(tmp_path: Path, axis: int) -> None:
    arrays = [floats(RNG, 3, 5, 7), floats(RNG, *(3, 5, 7)[axis:])]
    left = agrees(tmp_path, "RMSNormalization", arrays, constant=[1], axis=axis, compiled=True)
    assert kinds(left) == ["layer_norm"]
