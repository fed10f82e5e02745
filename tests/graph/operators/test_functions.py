"""What stands for other nodes: functions of ONNX, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.helper import make_node
from tests.graph.compare import compare
from tests.graph.models import write
from tests.graph.operators.one import agrees

from tilewright.errors import ModelError
from tilewright.graph.onnx import load

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)).astype(np.float32)


def graph(
    nodes: Sequence[NodeProto],
    outputs: Sequence[str],
    inputs: Sequence[tuple[str, int]] = (),
    **constants: np.ndarray,
) -> GraphProto:
    return helper.make_graph(
        list(nodes),
        "inner",
        [
            helper.make_tensor_value_info(name, kind, (3, 4) if name == "v" else ())
            for name, kind in inputs
        ],
        [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_function_that_depends_on_its_inputs(
    tmp_path: Path, reduction: str, weighted: bool
) -> None:
    given = [X, np.array([1, 0, 3])]
    given += [np.array([0.5, 1, 2, 1], np.float32)] if weighted else []
    agrees(tmp_path, "SoftmaxCrossEntropyLoss", given, opset=13, reduction=reduction, outputs=2)


def test_a_function_twice_keeps_its_names_apart(tmp_path: Path) -> None:
    nodes = [
        make_node("SoftmaxCrossEntropyLoss", ["x", "at"], ["a"]),
        make_node("SoftmaxCrossEntropyLoss", ["x", "at"], ["b"], reduction="sum"),
        make_node("Sub", ["a", "b"], ["y"]),
    ]
    compare(tmp_path, nodes, {"x": X, "at": np.array([1, 0, 3])}, opset=13, reference=True)


def test_what_is_missing_inside_of_a_function_is_said_of_its_node(tmp_path: Path) -> None:
    node = make_node("SoftmaxCrossEntropyLoss", ["x", "x"], ["y"], name="loss")
    path = write(tmp_path / "m.onnx", [node], {"x": (3, 4)}, {}, opset=13)
    with pytest.raises(ModelError, match=r"SoftmaxCrossEntropyLoss 'loss': "):
        load(path)


@pytest.mark.parametrize("condition", [False, True])
def test_the_branch_that_a_constant_takes(tmp_path: Path, condition: bool) -> None:
    """Both use one name inside, and the values of outside."""
    yes = graph([make_node("Mul", ["x", "w"], ["t"]), make_node("Add", ["t", "x"], ["r"])], ["r"],
                w=np.float32(3).reshape(1))  # fmt: skip
    no = graph([make_node("Relu", ["x"], ["t"])], ["t"])
    nodes = [
        make_node("If", ["c"], ["a"], then_branch=yes, else_branch=no),
        make_node("If", ["c"], ["b"], then_branch=no, else_branch=yes),
        make_node("Sub", ["a", "b"], ["y"]),
    ]
    compare(tmp_path, nodes, {"x": X}, {"c": np.array(condition)})


@pytest.mark.parametrize("condition", [False, True])
def test_a_computed_condition_chooses_between_results(tmp_path: Path, condition: bool) -> None:
    yes = graph([make_node("Mul", ["x", "x"], ["r"])], ["r"])
    no = graph([make_node("Relu", ["x"], ["r"])], ["r"])
    node = make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no)
    compare(tmp_path, [node], {"x": X, "c": np.array(condition)}, compiled=True)


def test_a_computed_condition_of_branches_that_differ(tmp_path: Path) -> None:
    yes = graph([make_node("Transpose", ["x"], ["r"])], ["r"])
    no = graph([make_node("Relu", ["x"], ["r"])], ["r"])
    nodes = [
        make_node("ReduceMax", ["x"], ["top"], keepdims=0),
        make_node("Cast", ["top"], ["c"], to=TensorProto.BOOL),
        make_node("If", ["c"], ["y"], then_branch=yes, else_branch=no, name="either"),
    ]
    path = write(tmp_path / "m.onnx", nodes, {"x": (3, 4)}, {})
    with pytest.raises(ModelError, match=r"If 'either': its condition 'c' is computed, and its br"):
        load(path)


def turns(keep: str = "going") -> GraphProto:
    """v, then v + x, and so on; each is collected."""
    nodes = [
        make_node("Add", ["v", "x"], ["more"]),
        make_node("Identity", ["more"], ["seen"]),
        make_node("Identity", [keep], ["on"]),
    ]
    inputs = [("i", TensorProto.INT64), ("going", TensorProto.BOOL), ("v", TensorProto.FLOAT)]
    return graph(nodes, ["on", "more", "seen"], inputs)


@pytest.mark.parametrize("count", [1, 3])
def test_a_short_loop_is_written_out(tmp_path: Path, count: int) -> None:
    node = make_node("Loop", ["n", "go", "x"], ["last", "y"], body=turns())
    constants = {"n": np.array(count), "go": np.array(True)}
    compare(tmp_path, [node], {"x": X}, constants, ("last", "y"))


def test_loops_that_cannot_be_written_out(tmp_path: Path) -> None:
    constants = {"n": np.array(1000), "go": np.array(True)}
    nodes = [
        make_node("Loop", ["n", "go", "x"], ["a", "p"], body=turns(), name="long"),
        make_node("Loop", ["m", "go", "x"], ["b", "q"], body=turns(), name="open"),
        make_node("ReduceMax", ["x"], ["top"], keepdims=0),
        make_node("Cast", ["top"], ["c"], to=TensorProto.BOOL),
        make_node("Loop", ["n", "go", "x"], ["d", "r"], body=turns("c"), name="data"),
    ]
    path = write(tmp_path / "m.onnx", nodes, {"x": (3, 4), "m": ()}, constants, ("p", "q", "r"))
    with pytest.raises(ModelError) as error:
        load(path)
    for line in (
        "3 nodes are not supported",
        "Loop 'long': it runs more than 64 times",
        "Loop 'open': its trip count 'm' is computed",
        "Loop 'data': it runs as often as data say",
    ):
        assert line in str(error.value)


def gathered(**attributes: Any) -> NodeProto:
    """A running sum of the columns of x, times those of w; both sums and products are kept."""
    nodes = [
        make_node("Add", ["s", "a"], ["t"]),
        make_node("Mul", ["t", "b"], ["p"]),
        make_node("Identity", ["t"], ["q"]),
    ]
    kinds = [(name, TensorProto.FLOAT) for name in ("s", "a", "b")]
    body = graph(nodes, ["t", "p", "q"], kinds)
    for value in body.input:
        value.type.tensor_type.ClearField("shape")
    return make_node("Scan", ["s0", "x", "w"], ["last", "y", "z"], num_scan_inputs=2, body=body,
                     scan_input_axes=[1, -1], **attributes)  # fmt: skip


@pytest.mark.parametrize("directions", [[0, 0], [1, 0], [0, 1]])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_short_scan_is_written_out(tmp_path: Path, directions: list[int], axis: int) -> None:
    node = gathered(
        scan_input_directions=directions, scan_output_directions=directions,
        scan_output_axes=[axis, axis - 2],
    )  # fmt: skip
    given = {"s0": np.zeros(3, np.float32), "x": X, "w": RNG.random((3, 4), np.float32)}
    compare(tmp_path, [node], given, outputs=("last", "y", "z"))


def test_scans_that_cannot_be_written_out(tmp_path: Path) -> None:
    node = gathered()
    node.name = "long"
    path = write(tmp_path / "m.onnx", [node], {"s0": (3,), "x": (3, 65), "w": (3, 65)}, {})
    with pytest.raises(ModelError, match="Scan 'long': it runs 65 times, more than 64"):
        load(path)
    path = write(tmp_path / "m.onnx", [node], {"s0": (3,), "x": (3, 5), "w": (3, 4)}, {})
    with pytest.raises(ModelError, match="which are not of one length"):
        load(path)
