"""Graphs by themselves: how they print, what `verify` finds, what `interpret` refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.models import resnet18
from tests.graph.models import save

from tilewright.errors import ArgumentError, ModelError
from tilewright.graph import Graph, Node, Value
from tilewright.graph.interpret import interpret
from tilewright.graph.onnx import load
from tilewright.graph.verify import verify
from tilewright.ops.program import Program

PLAIN = {"transpose_a": 0, "transpose_b": 0}
GRAPH = Graph(
    inputs=(Value("x", (2, 3)),),
    outputs=("y",),
    nodes=(
        Node("fc", "matmul", ("x", "w"), (Value("p", (2, 4)),), PLAIN, Program.of("relu")),
        Node("flat", "reshape", ("p",), (Value("y", (8,)),), {"shape": (8,)}),
    ),
    constants={"w": np.ones((3, 4), np.float32)},
)


def test_show() -> None:
    assert str(GRAPH) == "\n".join(
        [
            "input x: float32 2x3",
            "  p: 2x4 = matmul(x, w) transpose_a=0 transpose_b=0 then %1 = relu(%0)",
            "  y: 8 = reshape(p) shape=8",
            "output y: float32 8",
            "constants: 1, 0.00 MB",
        ]
    )


def test_verify_accepts() -> None:
    assert verify(GRAPH) is GRAPH


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": GRAPH.nodes[::-1]}, "p read before it is made"),
        ({"nodes": (*GRAPH.nodes, GRAPH.nodes[1])}, "'y' is made twice"),
        ({"outputs": ("y", "z")}, "outputs z are not made"),
        ({"nodes": (replace(GRAPH.nodes[0], op="gelu"),)}, r"'gelu' is unknown\n  p: 2x4"),
        (
            {"nodes": (replace(GRAPH.nodes[0], outputs=(Value("y", (9,)),)),)},
            r"makes float32 \(2, 4\), but says it makes\n  y: 9 = matmul",
        ),
        (
            {"constants": {"w": np.ones((2, 4), np.float32)}},
            "product of 2x3 and 2x4, in which 3 and 2 do not agree",
        ),
    ],
)
def test_verify_refuses(change: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        verify(replace(GRAPH, **change))  # pyright: ignore[reportArgumentType]


def test_interpret() -> None:
    (y,) = interpret(GRAPH, [np.arange(6).reshape(2, 3)], dtype="float64")
    np.testing.assert_array_equal(y, [3] * 4 + [12] * 4)
    assert y.dtype == np.float64


def test_interpret_refuses_arrays_that_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match="1 inputs, 0 were given"):
        interpret(GRAPH, [])
    with pytest.raises(ArgumentError, match=r"x: float32 2x3 was given an array of shape \(3,\)"):
        interpret(GRAPH, [np.zeros(3)])


def test_interpret_changes_neither_inputs_nor_constants(tmp_path: Path) -> None:
    graph = load(save(resnet18.build(32, 8, (1,), classes=5), tmp_path / "m.onnx"))
    x = np.ones((1, 3, 32, 32), np.float32)
    first, second = interpret(graph, [x]), interpret(graph, [x])
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(x, 1)


def test_a_graph_may_pass_values_through() -> None:
    graph = Graph((Value("x", (2,)),), ("x", "c", "x"), (), {"c": np.zeros(1, np.float32)})
    assert [len(a) for a in interpret(verify(graph), [np.ones(2)])] == [2, 1, 2]
