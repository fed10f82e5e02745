"""Elementwise work: how much of it becomes one program, and where that is applied."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from onnx.helper import make_node
from tests.graph.compare import compare, kinds
from tests.graph.models import floats

from tilewright.graph.ir import Graph, Node
from tilewright.graph.passes.maps import MAX_INPUTS, MAX_PARTS
from tilewright.ops.program import Program

RNG = np.random.default_rng(4)


def program(node: Node) -> Program:
    found = node.attributes["program"] if node.op == "map" else node.then
    assert isinstance(found, Program)
    return found


def functions(graph: Graph) -> list[list[str]]:
    return [[step.function for step in program(node).steps] for node in graph.nodes]


def test_a_chain_becomes_one_program_with_its_numbers(tmp_path: Path) -> None:
    """x * 2 + c, through a sigmoid, times itself: numbers are literals, vectors operands."""
    nodes = [
        make_node("Mul", ["two", "x"], ["a"]),
        make_node("Add", ["a", "c"], ["b"]),
        make_node("Sigmoid", ["b"], ["s"]),
        make_node("Mul", ["s", "b"], ["y"]),
    ]
    constants = {"two": np.array([2.0], np.float32), "c": floats(RNG, 5)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 3, 5)}, constants, compiled=True)
    (node,) = made.nodes
    assert set(node.inputs) == {"x", "c"}
    assert functions(made) == [["constant", "mul", "add", "sigmoid", "mul"]]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_literals_of_any_rank(tmp_path: Path, shape: tuple[int, ...]) -> None:
    nodes = [make_node("Max", ["x", "c"], ["y"])]
    constants = {"c": np.full(shape, 0.25, np.float32)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 7)}, constants)
    assert made.nodes[0].output.shape == np.broadcast_shapes((7,), shape)
    assert (len(made.nodes[0].inputs) == 1) == (len(shape) < 2)


def test_literals_of_other_types(tmp_path: Path) -> None:
    nodes = [make_node("Equal", ["x", "c"], ["e"]), make_node("Where", ["e", "k", "x"], ["y"])]
    constants = {"c": np.array(3, np.int64), "k": np.array(-7, np.int64)}
    made = compare(tmp_path, nodes, {"x": np.arange(6).reshape(2, 3)}, constants, compiled=True)
    assert [len(node.inputs) for node in made.nodes] == [1]


def test_a_shared_value_stays(tmp_path: Path) -> None:
    nodes = [
        make_node("Exp", ["x"], ["a"]),
        make_node("Neg", ["a"], ["y"]),
        make_node("Sqrt", ["a"], ["z"]),
    ]
    made = compare(tmp_path, nodes, {"x": floats(RNG, 3, 5)}, outputs=("y", "z"))
    assert kinds(made) == ["map"] * 3


def test_an_operand_that_is_repeated_is_not_computed_anew(tmp_path: Path) -> None:
    nodes = [make_node("Exp", ["r"], ["e"]), make_node("Add", ["x", "e"], ["y"])]
    arrays = {"x": floats(RNG, 6, 5), "r": floats(RNG, 5)}
    assert kinds(compare(tmp_path, nodes, arrays, compiled=True)) == ["map", "map"]


def test_programs_end_where_they_would_be_large(tmp_path: Path) -> None:
    """Each step reads the one before it twice: merged without end it would have 2^20 parts."""
    steps = [f"x{i}" for i in range(20)] + ["y"]
    nodes = [
        make_node("Mul", [a, a], [b]) if i % 2 else make_node("Tanh", [a], [b])
        for i, (a, b) in enumerate(zip(["x", *steps[1:-1]], steps[1:], strict=True))
    ]
    made = compare(tmp_path, nodes, {"x": floats(RNG, 4)})
    sizes = [program(node).size(["float32"] * len(node.inputs)) for node in made.nodes]
    assert len(sizes) > 1
    assert max(sizes) <= MAX_PARTS


def test_programs_end_where_they_would_read_much(tmp_path: Path) -> None:
    count = 3 * MAX_INPUTS
    arrays = {f"x{i}": floats(RNG, 2, 3) for i in range(count)}
    made = compare(tmp_path, [make_node("Sum", list(arrays), ["y"])], arrays, compiled=True)
    assert 3 <= len(made.nodes) <= 5
    assert all(len(node.inputs) <= MAX_INPUTS for node in made.nodes)


BEHIND: dict[str, tuple[list[NodeProto], dict[str, np.ndarray], list[str]]] = {
    "conv": ([make_node("Conv", ["x", "w"], ["m"], pads=[1, 1, 1, 1])],
             {"w": floats(RNG, 4, 4, 3, 3)}, ["conv"]),
    "pool": ([make_node("MaxPool", ["x"], ["m"], kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
             {}, ["pool"]),
    "average": ([make_node("AveragePool", ["x"], ["m"], kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
                {}, ["pool"]),
    "matmul": ([make_node("MatMul", ["x", "w"], ["m"])], {"w": floats(RNG, 6, 6)}, ["matmul"]),
    "reduce": ([make_node("GlobalAveragePool", ["x"], ["m"])], {}, ["reduce"]),
    "transpose": ([make_node("Transpose", ["x"], ["m"], perm=[0, 2, 3, 1])], {}, []),
}  # fmt: skip


@pytest.mark.parametrize("name", BEHIND)
def test_what_makes_a_value_applies_the_program(tmp_path: Path, name: str) -> None:
    """c * m + d of all its elements, which are repeated in several ways, through a relu."""
    nodes, constants, wanted = BEHIND[name]
    nodes = [
        *nodes,
        make_node("Mul", ["c", "m"], ["a"]),
        make_node("Sub", ["a", "d"], ["b"]),
        make_node("Relu", ["b"], ["y"]),
    ]
    constants = {**constants, "c": floats(RNG, 1), "d": floats(RNG, 1, 1, 1, 1)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 2, 4, 6, 6)}, constants, compiled=True)
    assert kinds(made) == wanted


def test_a_program_that_reads_a_sum_twice_stays_behind_it(tmp_path: Path) -> None:
    nodes = [
        make_node("Conv", ["x", "w", "b"], ["c"]),
        make_node("Sigmoid", ["c"], ["s"]),
        make_node("Mul", ["c", "s"], ["y"]),
    ]
    constants = {"w": floats(RNG, 6, 3, 1, 1), "b": floats(RNG, 6)}
    made = compare(tmp_path, nodes, {"x": floats(RNG, 1, 3, 5, 7)}, constants, compiled=True)
    assert kinds(made) == ["conv"]
    (then,) = (program(node) for node in made.nodes if node.op == "conv")
    assert [step.function for step in then.steps] == ["add", "sigmoid", "mul"]


def test_an_operand_that_cannot_be_seen_there_keeps_its_program(tmp_path: Path) -> None:
    """A product over (2, 3) rows is one over 6; an addend of (2, 1, n) has no place in that."""
    nodes = [make_node("MatMul", ["x", "w"], ["m"]), make_node("Add", ["m", "r"], ["y"])]
    constants = {"w": floats(RNG, 5, 4)}
    arrays = {"x": floats(RNG, 2, 3, 5), "r": floats(RNG, 2, 1, 4)}
    made = compare(tmp_path, nodes, arrays, constants, compiled=True)
    assert kinds(made) == ["matmul", "map"]
