"""Recurrent cells compute what ONNX says: its own reference evaluates the same step."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from tests.ops import by_numpy

from tilewright.ops.recurrent import GruCell, LstmCell
from tilewright.runtime.build import build
from tilewright.tuning.task import Task

Array = by_numpy.Array
GIVEN = {"LSTM": ("X", "W", "R", "B", "", "H", "C", "P"), "GRU": ("X", "W", "R", "B", "", "H")}


def by_onnx(kind: str, hidden: int, arrays: dict[str, Array], **attributes: Any) -> list[Array]:
    """Return the states after one step, without the dimension of directions."""
    names = [name if name in arrays else "" for name in GIVEN[kind]]
    outs = ["after", "cell"][: 1 + (kind == "LSTM")]
    node = helper.make_node(kind, names, ["", *outs], hidden_size=hidden, **attributes)
    inputs, outputs = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in each if name]
        for each in (names, outs)
    )
    model = helper.make_model(
        helper.make_graph([node], "step", inputs, outputs),
        opset_imports=[onnx.OperatorSetIdProto(version=17)],
    )
    made: Any = ReferenceEvaluator(model).run(None, {n: arrays[n][None] for n in names if n})
    return [state[0] for state in made]


def run(operator: LstmCell | GruCell, arrays: dict[str, Array]) -> Array:
    kernel = build(Task(operator).fallback(), threads=1)
    return kernel(*(arrays[b.name] for b in kernel.inputs))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("peepholes", [False, True])
def test_lstm(bias: bool, peepholes: bool) -> None:
    operator = LstmCell(3, 5, 7, bias, peepholes)
    arrays = by_numpy.given(operator, np.random.default_rng(0))
    for got, wanted in zip(run(operator, arrays), by_onnx("LSTM", 7, arrays), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("late", [False, True])
def test_gru(bias: bool, late: bool) -> None:
    operator = GruCell(3, 5, 7, late, bias)
    arrays = by_numpy.given(operator, np.random.default_rng(0))
    (wanted,) = by_onnx("GRU", 7, arrays, linear_before_reset=int(late))
    np.testing.assert_allclose(run(operator, arrays), wanted, rtol=1e-5, atol=1e-6)
