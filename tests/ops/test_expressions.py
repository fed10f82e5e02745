"""What operators say they compute is what a plain NumPy computation of the same gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from tests.ops import by_numpy
from tests.ops.operators import EDGES, convolutions, operators

from tilewright.errors import ExpressionError
from tilewright.expr.interpret import evaluate
from tilewright.ops.conv2d import Conv2d
from tilewright.ops.dense import Dense
from tilewright.ops.pool2d import Pool2d
from tilewright.tuning.task import Operator


def check(operator: Operator) -> None:
    expression = operator.expression()
    arrays = by_numpy.given(operator, np.random.default_rng(0))
    result = evaluate(expression, arrays)[expression.name]
    np.testing.assert_allclose(result, by_numpy.compute(operator, arrays), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_at_the_edges(operator: Operator):
    check(operator)


@settings(max_examples=150, deadline=None)
@given(convolutions())
def test_convolutions(operator: Conv2d):
    check(operator)


@settings(max_examples=100, deadline=None)
@given(operators())
def test_operators(operator: Operator):
    check(operator)


@pytest.mark.parametrize("operator", EDGES, ids=lambda o: o.name)
def test_equal_operators_are_equal_work(operator: Operator):
    """Tasks are told apart by name and digest, in this process and in any other."""
    assert operator.expression().digest == type(operator)(**vars(operator)).expression().digest
    assert operator.expression().flops >= 0


def test_different_work_has_different_digests():
    assert len({operator.expression().digest for operator in EDGES}) == len(EDGES)


def test_operations_are_counted():
    """Two for each multiply-add, as GFLOP/s are usually counted."""
    assert Conv2d(1, 56, 56, 64, 64, (3, 3), pads=(1, 1, 1, 1)).expression().flops == 231211008
    assert Dense(8, 16, 32).expression().flops == 2 * 8 * 16 * 32
    bias = Dense(8, 16, 32, bias=True, relu=True).expression().flops
    assert bias == 2 * 8 * 16 * 32 + 2 * 8 * 32


def test_what_cannot_be_says_why():
    with pytest.raises(ExpressionError, match="groups must divide the channels"):
        Conv2d(1, 8, 8, 6, 8, (3, 3), groups=4)
    with pytest.raises(ExpressionError, match="groups must divide the channels"):
        Conv2d(1, 8, 8, 8, 6, (3, 3), groups=4)
    with pytest.raises(ExpressionError, match="result would be empty"):
        Conv2d(1, 2, 8, 4, 4, (3, 3))
    with pytest.raises(ExpressionError, match="result would be empty"):
        Pool2d("max", 1, 2, 8, 4, (3, 3))
    with pytest.raises(ExpressionError, match="padding alone"):
        Pool2d("average", 1, 8, 8, 4, (2, 2), pads=(2, 0, 0, 0))
    with pytest.raises(ExpressionError, match="it is max or average"):
        Pool2d("median", 1, 8, 8, 4, (3, 3))
