"""The interpreted nest gives what NumPy does where a function has no finite value."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import elements
from tests.strategies import operations

import tilewright as tw
from tilewright.expr.interpret import evaluate
from tilewright.expr.rounding import rough
from tilewright.loops.interpret import interpret

EDGES = np.array([0.0, -0.0, -1.0, 1.0, 710.0, -800.0, math.inf, -math.inf, math.nan])
FUNCTIONS: dict[str, Callable[[tw.expr.scalar.Scalar], Any]] = {
    "exp": tw.exp, "log": tw.log, "sqrt": tw.sqrt, "tanh": tw.tanh, "sigmoid": tw.sigmoid,
    "erf": tw.erf, "floor": tw.floor, "abs": abs, "ceil": tw.ceil, "trunc": tw.trunc,
    "sign": tw.sign, "log1p": tw.log1p, "sin": tw.sin, "acosh": tw.acosh, "atanh": tw.atanh,
    "rint": tw.rint,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_edges(name: str) -> None:
    x = tw.tensor("X", EDGES.shape, "float64")
    y = tw.compute("Y", EDGES.shape, lambda i: FUNCTIONS[name](x[i]))
    with np.errstate(all="ignore"):
        wanted = evaluate(y, {"X": EDGES})["Y"]
    got = interpret(tw.Schedule(y).loops, {"X": EDGES})["Y"]
    np.testing.assert_allclose(got, wanted, rtol=1e-15)


@settings(max_examples=150, deadline=None)
@given(output=operations(), seed=st.integers(0, 1000))
def test_elements_mean_what_numpy_computes(output: tw.Tensor, seed: int) -> None:
    """Their error bounds hold both ways, and their canonical form is the same in a copy."""
    arrays = elements.inputs(output, seed)
    with np.errstate(all="ignore"):
        wanted = evaluate(output, arrays)[output.name]
        got = interpret(tw.Schedule(output).loops, arrays)[output.name]
    value, error = rough(output, arrays)
    with np.errstate(all="ignore"):
        near = np.abs(np.subtract(got, value, dtype=np.float64)) <= error
    close = np.isclose(got, wanted, rtol=1e-9, atol=0, equal_nan=True)
    assert np.all(close | near | np.isinf(error)), (output, arrays)
    assert pickle.loads(pickle.dumps(output)).digest == output.digest
    assert output.flops >= 0
