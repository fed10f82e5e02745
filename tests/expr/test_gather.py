"""Indices that are data: what is loaded, and that an expression keeps them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import ExpressionError
from tilewright.expr.interpret import evaluate, nearest
from tilewright.expr.parts import loads, operands, variables
from tilewright.expr.rounding import rough
from tilewright.expr.tensor import Reduce

X, IDS, J = tw.tensor("X", (7, 4)), tw.tensor("I", (5,), "int64"), tw.tensor("J", (4,), "int32")


def rows() -> tw.Tensor:
    return tw.compute("R", (5, 4), lambda i, j: X[IDS[i], j])


def test_an_index_counts_from_the_end_and_never_leaves_its_dimension():
    given = np.array([0, 6, 7, 100, -1, -7, -8, -100, 2**63 - 1, -(2**63)])
    assert nearest(given, 7).tolist() == [0, 6, 6, 6, 6, 0, 0, 0, 6, 0]
    assert nearest(np.array([200, 255], np.uint8), 7).tolist() == [6, 6]


def test_rows_are_those_of_numpy():
    x, ids = np.arange(28.0).reshape(7, 4), np.array([3, -1, 0, 6, -7])
    np.testing.assert_array_equal(evaluate(rows(), {"X": x, "I": ids})["R"], x[ids])


def test_an_expression_prints_as_it_is_written():
    nested = tw.compute("N", (4,), lambda j: X[IDS[J[j] + 1], j])
    assert str(nested) == "N: float32 4 = X[I[(J[j] + 1)], j]"
    assert [t.name for t in nested.inputs] == ["X", "I", "J"]


def test_an_axis_cast_to_a_value_stays_an_affine_index():
    plain = tw.compute("P", (5,), lambda i: IDS[tw.cast("int64", i)])
    assert plain.stage
    assert loads(plain.stage.value)[0].gathered  # a cast is computed
    index = tw.compute("P", (5,), lambda i: IDS[tw.expr.scalar.scalar(i, "int64")])
    assert index.stage
    assert not loads(index.stage.value)[0].gathered


def test_digests_tell_indices_apart_and_not_names():
    other = tw.tensor("ids", (5,), "int64"), tw.tensor("table", (7, 4))
    renamed = tw.compute("out", (5, 4), lambda row, x: other[1][other[0][row], x])
    assert renamed.digest == rows().digest
    forms = [
        rows(),
        tw.compute("R", (5, 4), lambda i, j: X[i, j]),
        tw.compute("R", (5, 4), lambda i, j: X[IDS[i] + 1, j]),
        tw.compute("R", (5, 4), lambda i, j: X[IDS[i], J[j]]),
    ]
    assert len({form.digest for form in forms}) == len(forms)


def test_indices_are_pickled():
    back = pickle.loads(pickle.dumps(rows()))
    assert back.canonical == rows().canonical
    assert back.stage.value.gathered[0][1].tensor is back.inputs[1]


def test_a_value_knows_its_operands_and_variables():
    k = tw.reduce_axis("k", 4)
    total = tw.compute("T", (5,), lambda i: tw.sum(X[IDS[i], k] * X[0, k], over=k))
    assert total.stage
    assert isinstance(total.stage.value, Reduce)
    product = total.stage.value.value
    assert [load.buffer for load in loads(product)] == ["X", "I", "X"]
    assert [load.buffer for load in operands(product)] == ["X", "X"]
    assert variables(product) == {"i", "k"}
    assert loads(product)[0].variables == {"i", "k"}


def test_the_index_of_an_index_may_not_leave_its_tensor():
    with pytest.raises(ExpressionError, match=r"I\[i\] in R leaves I"):
        tw.compute("R", (6, 4), lambda i, j: X[IDS[i], j])
    guarded = tw.compute("R", (6, 4), lambda i, j: tw.select(i < 5, X[IDS[i], j], 0.0))
    assert guarded.shape == (6, 4)


def test_what_an_uncertain_index_loads_may_be_anything():
    y = tw.tensor("Y", (3,))
    at = tw.compute("at", (3,), lambda i: tw.cast("int32", y[i] * 0.1 * 10.0))
    read = tw.compute("O", (3,), lambda i: X[at[i], 0])
    x = np.arange(28, dtype=np.float32).reshape(7, 4)
    value, error = rough(read, {"Y": np.array([1.5, 2.0, 3.5], np.float32), "X": x})
    assert value.tolist() == [4.0, 8.0, 12.0]
    assert np.isinf(error).tolist() == [False, True, False]
