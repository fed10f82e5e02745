"""The interpreted nest gives what NumPy does where a function has no finite value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.expr.interpret import evaluate
from tilewright.loops.interpret import interpret

EDGES = np.array([0.0, -0.0, -1.0, 1.0, 710.0, -800.0, math.inf, -math.inf, math.nan])
FUNCTIONS: dict[str, Callable[[tw.expr.scalar.Scalar], Any]] = {
    "exp": tw.exp, "log": tw.log, "sqrt": tw.sqrt, "tanh": tw.tanh, "sigmoid": tw.sigmoid,
    "erf": tw.erf, "floor": tw.floor, "abs": abs,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_edges(name: str) -> None:
    x = tw.tensor("X", EDGES.shape, "float64")
    y = tw.compute("Y", EDGES.shape, lambda i: FUNCTIONS[name](x[i]))
    with np.errstate(all="ignore"):
        wanted = evaluate(y, {"X": EDGES})["Y"]
    got = interpret(tw.Schedule(y).loops, {"X": EDGES})["Y"]
    np.testing.assert_allclose(got, wanted, rtol=1e-15)
