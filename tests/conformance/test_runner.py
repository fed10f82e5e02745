"""How a case is judged: which numbers agree, what is held constant, and what is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.helper import make_node
from tests.conformance import constants, extent, record, report
from tests.conformance.cases import Case
from tests.conformance.check import Outcome, Verdict, check

X = np.array([[-1.5, 2, 3]], np.float32)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def case(
    nodes: Sequence[onnx.NodeProto], given: dict[str, np.ndarray], *expected: np.ndarray
) -> Case:
    """Return a case of nodes whose last one makes the only output, a float tensor."""

    def described(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        return helper.make_tensor_value_info(name, kind, array.shape)

    output = helper.make_tensor_value_info(nodes[-1].output[0], FLOAT, None)
    inputs = [described(name, array) for name, array in given.items()]
    graph = helper.make_graph(nodes, "g", inputs, [output])
    opsets = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return Case("mine", "node", 1e-3, 1e-7, None, model, ((tuple(given.values()), expected),))


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        ([np.array([[0, 2, 3]], np.float32)], ""),
        ([np.array([[0, 2.001, 3]], np.float32)], ""),
        (
            [np.array([[0, 2.5, 4]], np.float32)],
            "2 of 3 numbers are wrong, the first at (0, 1): 2.0 instead of 2.5",
        ),
        ([np.array([[0, 2, np.nan]], np.float32)], "1 of 3 numbers are wrong"),
        ([np.array([0, 2, 3], np.float32)], "has the shape (1, 3) instead of (3,)"),
        ([np.array([[0, 2, 3]], np.float64)], "is of float32 instead of float64"),
        ([X, X], "it makes 1 outputs instead of 2"),
    ],
)
def test_numbers_shapes_and_types_must_agree(expected: Sequence[np.ndarray], why: str) -> None:
    outcome = check(case([make_node("Relu", ["x"], ["y"])], {"x": X}, *expected))
    assert outcome.verdict is (Verdict.WRONG if why else Verdict.PASSED)
    assert re.search(re.escape(why), outcome.why)


def test_shapes_become_constants_where_they_must() -> None:
    reshape = [make_node("Reshape", ["x", "shape"], ["y"])]
    outcome = check(case(reshape, {"x": X, "shape": np.array([3, 1])}, X.reshape(3, 1)))
    assert outcome.verdict is Verdict.WITH_PARAMETERS


def test_what_is_refused_is_named_with_its_reason() -> None:
    nodes = [make_node("Mine", ["x"], ["y"], domain="my.own")]
    outcome = check(case(nodes, {"x": X}, X))
    assert outcome.verdict is Verdict.UNSUPPORTED
    assert outcome.operators == ("my.own.Mine",)
    assert [operator for operator, _ in outcome.refused] == ["Mine"]


def test_only_what_decides_attributes_is_held_constant() -> None:
    nodes = [
        make_node("Add", ["start", "one"], ["from"]),
        make_node("Shape", ["x"], ["to"]),
        make_node("Slice", ["x", "from", "to"], ["part"]),
        make_node("Mul", ["part", "factor"], ["y"]),
    ]
    one = np.array([1])
    given = {"x": X[0], "start": one, "one": one, "factor": X[0, :1]}
    model = case(nodes, given, X).model()
    assert constants.parameters(model) == {"start", "one"}
    program = constants.fixed(model, {"start": one, "one": one})
    assert [value.name for value in program.graph.input] == ["x", "factor"]
    assert [tensor.name for tensor in program.graph.initializer] == ["start", "one"]
    assert len(model.graph.input) == 4


def test_data_of_several_axes_is_never_held_constant() -> None:
    nodes = [make_node("Reshape", ["x", "x"], ["y"])]
    assert constants.parameters(case(nodes, {"x": X}, X).model()) == set()


def test_weights_are_of_the_operators_that_store_them() -> None:
    nodes = [make_node("MatMul", ["x", "w"], ["p"]), make_node("Add", ["p", "b"], ["y"])]
    assert constants.weights(case(nodes, {"x": X, "w": X.T, "b": X}, X).model()) == {"w"}


@pytest.mark.parametrize(
    ("node", "given", "why"),
    [
        (make_node("NonZero", ["x"], ["y"]), {}, "depends on data"),
        (make_node("Dropout", ["x", "", "t"], ["y"]), {"t": np.array(True)}, "training"),
        (make_node("Dropout", ["x", "", "t"], ["y"]), {"t": np.array(False)}, ""),
        (make_node("Relu", ["x"], ["y"]), {}, ""),
    ],
)
def test_no_tensor_programs(node: onnx.NodeProto, given: dict[str, Any], why: str) -> None:
    one = case([node], {"x": X, **given}, X)
    assert re.search(why, extent.no_tensor_program(one, one.model()))
    assert bool(extent.no_tensor_program(one, one.model())) == bool(why)


def test_other_types_are_named() -> None:
    cast = case([make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E5M2)], {"x": X}, X)
    assert extent.other_types(cast.model()) == "float8e5m2"
    assert extent.other_types(case([make_node("Relu", ["x"], ["y"])], {"x": X}, X).model()) == ""


PASSED = Outcome("a", "node", Verdict.PASSED)
CONSTANT = Outcome("b", "node", Verdict.WITH_WEIGHTS)
REFUSED = Outcome("c", "node", Verdict.UNSUPPORTED, "cannot\n", ("Op",), (("Op", "not yet"),))


def test_what_passed_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "passed.txt"
    record.write([CONSTANT, REFUSED, PASSED], path)
    assert path.read_text() == f"onnx {onnx.__version__}\na\nb weights\n"
    recorded = {"a": Verdict.PASSED, "b": Verdict.WITH_WEIGHTS}
    assert record.read(path) == (onnx.__version__, recorded)
    assert record.lost([PASSED, CONSTANT, REFUSED], recorded) == []
    worse = Outcome("a", "node", Verdict.WITH_PARAMETERS)
    assert record.lost([worse], recorded) == ["a: passed before, now passed, parameters constant"]
    refused = Outcome("a", "node", Verdict.UNSUPPORTED, "cannot")
    assert record.lost([refused], recorded) == ["a: passed before, now unsupported: cannot"]
    better = Outcome("b", "node", Verdict.PASSED)
    assert record.lost([better], recorded) == []


def test_summary_counts_the_share_of_the_measure() -> None:
    left_out = Outcome("d", "node", Verdict.NO_TENSOR_PROGRAM)
    beside = Outcome("e", "pytorch-operator", Verdict.WRONG, "numbers\nmore")
    outcomes = [PASSED, CONSTANT, REFUSED, left_out, beside]
    assert report.share(outcomes) == (2, 3)
    assert report.summary(outcomes).endswith("\n2 of 3 tensor programs passed: 66.7%")
    assert report.unsupported(outcomes) == "    1 Op (alone in 1): not yet"
    assert report.broken(outcomes) == "wrong: e: numbers"
