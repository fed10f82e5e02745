"""Scales and shifts behind a product or convolution: they go into its weights and one addend."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from onnx.helper import make_node
from tests.graph.compare import compare, kinds
from tests.graph.models import floats

from tilewright.graph.ir import Graph

RNG = np.random.default_rng(5)

MAKERS: dict[str, tuple[NodeProto, tuple[int, ...], tuple[int, ...]]] = {
    "conv": (make_node("Conv", ["x", "w"], ["m"]), (6, 3, 3, 3), (1, 3, 6, 5)),
    "groups": (make_node("Conv", ["x", "w"], ["m"], group=3), (6, 2, 3, 1), (2, 6, 5, 5)),
    "depthwise": (make_node("Conv", ["x", "w"], ["m"], group=6), (6, 1, 3, 1), (1, 6, 5, 4)),
    "line": (make_node("Conv", ["x", "w"], ["m"]), (6, 3, 3), (1, 3, 7)),
    "matmul": (make_node("MatMul", ["x", "w"], ["m"]), (5, 6), (2, 3, 5)),
}


def made(folder: Path, maker: str, behind: list[NodeProto], constants: dict[str, np.ndarray],
         compiled: bool = False) -> Graph:  # fmt: skip
    node, weights, shape = MAKERS[maker]
    return compare(
        folder, [node, *behind], {"x": floats(RNG, *shape)},
        {"w": floats(RNG, *weights), **constants}, compiled=compiled, tolerance=1e-4,
    )  # fmt: skip


def vector(maker: str) -> np.ndarray:
    """Return an element for each channel, none near zero."""
    node, _, shape = MAKERS[maker]
    spatial = len(shape) - 2 if node.op_type == "Conv" else 0
    signs = np.where(RNG.random(6) < 0.5, -1, 1)
    return (signs * RNG.uniform(0.5, 2, 6)).astype(np.float32).reshape(6, *(1,) * spatial)


def left(graph: Graph) -> list[str]:
    """Return the functions behind the only node."""
    assert len(kinds(graph)) == 1, str(graph)
    (then,) = (n.then for n in graph.nodes if n.op not in ("transpose", "reshape"))
    return [step.function for step in then.steps] if then else []


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(("op", "first"), [*product(["Add", "Sub", "Mul", "Div"], [True, False])])
def test_two_steps_of_any_kind(tmp_path: Path, maker: str, op: str, first: bool) -> None:
    """The result is either operand; what cannot be folded, a division by it, stays."""
    behind = [
        make_node("Mul", ["s", "m"], ["a"]),
        make_node(op, ["a", "t"] if first else ["t", "a"], ["b"]),
        make_node("Relu", ["b"], ["y"]),
    ]
    found = left(made(tmp_path, maker, behind, {"s": vector(maker), "t": vector(maker)}))
    if op == "Div" and not first:
        assert found == ["div", "relu"]
    else:
        assert found == (["relu"] if op in ("Mul", "Div") else ["add", "relu"])


@pytest.mark.parametrize("maker", MAKERS)
def test_a_sum_before_a_product(tmp_path: Path, maker: str) -> None:
    behind = [
        make_node("Add", ["m", "s"], ["a"]),
        make_node("Mul", ["a", "t"], ["b"]),
        make_node("Sub", ["n", "b"], ["c"]),
        make_node("Tanh", ["c"], ["y"]),
    ]
    constants = {"s": vector(maker), "t": vector(maker), "n": np.array(1.5, np.float32)}
    found = left(made(tmp_path, maker, behind, constants, compiled=True))
    assert found == ["add", "tanh"]


@pytest.mark.parametrize("maker", ["conv", "depthwise", "line"])
def test_batch_normalisation_is_gone(tmp_path: Path, maker: str) -> None:
    behind = [make_node("BatchNormalization", ["m", "s", "t", "u", "v"], ["y"], epsilon=1e-3)]
    constants = {name: vector(maker).reshape(6) for name in "stu"}
    constants["v"] = np.abs(vector(maker).reshape(6))
    assert left(made(tmp_path, maker, behind, constants, compiled=True)) == ["add"]


def test_what_is_no_channel_stays(tmp_path: Path) -> None:
    """A factor for each column, one that the graph computes, and a sum that is read twice."""
    column = [make_node("Mul", ["m", "s"], ["a"]), make_node("Mul", ["a", "s"], ["y"])]
    assert left(made(tmp_path, "conv", column, {"s": floats(RNG, 3)})) == ["mul", "mul"]
    twice = [make_node("Mul", ["m", "s"], ["a"]), make_node("Mul", ["a", "m"], ["y"])]
    assert left(made(tmp_path, "conv", twice, {"s": floats(RNG, 6, 1, 1)})) == ["mul", "mul"]


def test_a_single_addition_stays_as_it_is(tmp_path: Path) -> None:
    found = made(tmp_path, "conv", [make_node("Add", ["m", "s"], ["y"])], {"s": vector("conv")})
    assert left(found) == ["add"]
    assert not any(name.endswith(".weight") for name in found.constants)


def test_factors_that_are_not_finite_stay(tmp_path: Path) -> None:
    """A weight of zero times infinity is no number, where the sum divided by zero is infinite."""
    behind = [make_node("Div", ["m", "z"], ["y"])]
    node, _, _ = MAKERS["matmul"]
    weights = np.diag(np.arange(1, 6)).astype(np.float32)
    zero = {"w": weights, "z": np.zeros(1, np.float32)}
    x = np.ones((1, 5), np.float32)
    compare(tmp_path, [node, *behind], {"x": x}, zero)
