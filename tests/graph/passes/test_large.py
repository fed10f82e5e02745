"""Passes over long networks do what they do once a node, not once a pair of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright.graph import Graph, Node, Value
from tilewright.graph.ir import Type
from tilewright.graph.passes import optimize
from tilewright.graph.verify import verify
from tilewright.ops.program import Program

SHAPE = (1, 16, 4, 4)


def chain(length: int) -> Graph:
    """Return scales by a constant and reductions in turn, none of which can be left out."""
    nodes: list[Node] = []
    last = "x"
    for i in range(length):
        nodes.append(Node(f"r{i}", "reduce", (last,), (Value(f"r{i}", (1, 16, 1, 1)),),
                          {"kind": "max", "axes": (2, 3)}))  # fmt: skip
        program = Program.of("mul", 2)
        nodes.append(
            Node(f"m{i}", "map", ("x", f"r{i}"), (Value(f"m{i}", SHAPE),), {"program": program})
        )
        last = f"m{i}"
    return Graph((Value("x", SHAPE),), (last,), tuple(nodes), {})


def test_types_are_worked_out_once_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many nodes make four times as many types, not sixteen times."""
    counted = 0

    def count(*given: Any) -> Type:
        nonlocal counted
        counted += 1
        return Type(*given)

    def made(length: int) -> int:
        nonlocal counted
        counted = 0
        assert len(verify(optimize(chain(length))).nodes) >= length
        return counted

    monkeypatch.setattr("tilewright.graph.ir.Type", count)
    short, long = made(50), made(200)
    assert 0 < long <= 4.5 * short
