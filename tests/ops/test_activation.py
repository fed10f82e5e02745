"""Activations where their parts would overflow, cancel or be of no number; of integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import ops
from tilewright.expr.interpret import evaluate

Array = np.ndarray[Any, Any]
FAR = np.array(
    [0, -0.0, 1e-8, -1e-8, 1, -1, -30, 30, -87, 89, -1e4, 1e4, 3e38, -3e38, math.inf, math.nan],
    np.float32,
)  # fmt: skip

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "softplus": (ops.Softplus(), lambda x: np.logaddexp(x, 0)),
    "mish": (ops.Mish(), lambda x: x * np.tanh(np.logaddexp(x, 0))),
    "selu": (ops.Selu(), lambda x: 1.0507009873554805 * np.where(
        x < 0, 1.6732632423543772 * np.expm1(np.minimum(x, 0)), x)),
    "celu": (ops.Celu(0.5), lambda x: np.where(x < 0, 0.5 * np.expm1(np.minimum(x, 0) / 0.5), x)),
    "softsign": (ops.Softsign(), lambda x: x / (1 + np.abs(x))),
    "thresholded": (ops.ThresholdedRelu(1.0), lambda x: np.where(x <= 1, 0, x)),
    "hard shrinkage": (ops.Shrink(1.0), lambda x: np.where(np.abs(x) <= 1, 0, x)),
    "soft shrinkage": (ops.Shrink(0.5, 0.5), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_far_from_zero(name: str) -> None:
    ours, numpys = CASES[name]
    a = tw.tensor("A", FAR.shape)
    output = tw.compute("out", FAR.shape, lambda i: ours(a[i]))
    with np.errstate(all="ignore"):
        wanted = numpys(FAR.astype(np.float64)).astype(np.float32)
        defined = evaluate(output, {"A": FAR})["out"]
    np.testing.assert_allclose(defined, wanted, rtol=1e-6, atol=2e-8)
    for schedule in tw.Schedule(output), tw.Schedule(output).vectorize("i"):
        got = tw.build(schedule, threads=1)(FAR)
        # exp(x) - 1 cancels near zero; what is far below zero is no zero yet.
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)
        if name in ("softplus", "mish"):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
@pytest.mark.parametrize(
    ("low", "high"), [(0.5, 6.5), (-math.inf, 100.0), (-1e30, 1e30), (None, 3.0), (2.0, None)]
)
def test_clipped_integers(dtype: str, low: float | None, high: float | None) -> None:
    info = np.iinfo(dtype)
    given = np.array([info.min, info.max, 0, 1, 2, 3, 6, 7, 100, 101], dtype)
    a = tw.tensor("A", given.shape, dtype)
    output = tw.compute("out", given.shape, lambda i: ops.Clip(low, high)(a[i]) + 0)
    least = 1 if low == 0.5 else 2 if low == 2.0 else int(info.min)
    most = {6.5: 6, 100.0: 100, 3.0: 3}.get(high or 0.0, int(info.max))
    wanted = [min(max(int(x), least), most) for x in given]
    assert tw.build(tw.Schedule(output).vectorize("i"))(given).tolist() == wanted
