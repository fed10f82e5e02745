"""Memory plans: nothing that is needed is overwritten, and little is wasted."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.models import resnet18
from hypothesis import given
from hypothesis import strategies as st
from tests.graph.models import save

from tilewright.graph import Graph, Node, Value
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.plan import (
    Need,
    Plan,
    View,
    _placed,  # pyright: ignore[reportPrivateUsage]
    arranged,
    bound,
    extent,
    plan,
    views,
)
from tilewright.ops.program import Program
from tilewright.runtime.memory import ALIGNMENT


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Vectors of all sizes, made of earlier ones; reshapes in between."""
    x = Value("x", (draw(st.integers(1, 99)),))
    values, nodes = [x], list[Node]()
    for number in range(draw(st.integers(0, 14))):
        source = draw(st.sampled_from(values))
        name = f"v{number}"
        if draw(st.booleans()):
            made = Value(name, (1, *source.shape))
            nodes.append(Node(name, "reshape", (source.name,), (made,), {"shape": made.shape}))
        else:
            other = draw(st.sampled_from(values))
            made = Value(name, (draw(st.integers(1, 99)),))
            nodes.append(Node(name, "mix", (source.name, other.name), (made,)))
        values.append(made)
    outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3))
    return Graph((x,), tuple(value.name for value in outputs), tuple(nodes), {})


def run(graph: Graph, layout: Plan) -> None:
    """Run the graph in the arena, each operator writing a mark of its own; all must stay.

    Its scratch memory it spoils before it writes.
    """
    arena = np.zeros(layout.nbytes, np.uint8)
    marks: dict[str, int] = {}

    def holds(name: str) -> bool:
        buffer, mark = layout.buffer(name), marks.get(layout.roots[name])
        if buffer is None:
            return True
        return bool((arena[buffer.offset : buffer.offset + buffer.nbytes] == mark).all())

    for position, node in enumerate(graph.nodes):
        if node.op == "reshape":
            assert layout.roots[node.output.name] == layout.roots[node.inputs[0]]
            continue
        assert all(map(holds, node.inputs)), f"an operand of {node.name} is gone"
        assert (node.output.name in layout.buffers) != any(
            layout.roots[name] == node.output.name for name in graph.outputs
        ), "an output lies in the caller's array, and nothing else does"
        if scratch := layout.scratch.get(position):
            assert scratch.offset % ALIGNMENT == 0
            assert scratch.offset + scratch.nbytes <= layout.nbytes
            arena[scratch.offset : scratch.offset + scratch.nbytes] = 255
        if node.output.name not in layout.buffers:
            continue
        buffer = layout.buffers[node.output.name]
        assert buffer.nbytes == node.output.nbytes
        assert buffer.offset % ALIGNMENT == 0
        assert buffer.offset + buffer.nbytes <= layout.nbytes
        arena[buffer.offset : buffer.offset + buffer.nbytes] = marks[node.output.name] = (
            position + 1
        )
        assert all(map(holds, node.inputs)), f"{node.name} overwrites what it reads"


@given(graphs(), st.lists(st.integers(0, 500), min_size=14, max_size=14))
def test_no_value_is_overwritten_while_it_is_needed(graph: Graph, scratch: list[int]) -> None:
    run(graph, plan(graph))
    needed = {i: scratch[i] for i, node in enumerate(graph.nodes) if node.op != "reshape"}
    layout = plan(graph, needed)
    run(graph, layout)
    assert {i: b.nbytes for i, b in layout.scratch.items()} == {
        i: n for i, n in needed.items() if n
    }


needs = st.lists(
    st.builds(
        lambda nbytes, first, more: Need(nbytes, first, first + more),
        st.integers(0, 2000), st.integers(0, 9), st.integers(0, 9),
    ),
    max_size=20,
)  # fmt: skip


@given(needs)
def test_what_is_needed_at_once_lies_apart(needs: list[Need]) -> None:
    offsets = arranged(needs)
    placed = list(zip(needs, offsets, strict=True))
    for (one, at), (other, there) in combinations(placed, 2):
        if one.first <= other.last and other.first <= one.last:
            assert at + one.size <= there or there + other.size <= at or 0 in (one.size, other.size)
    assert bound(needs) <= extent(needs, offsets) <= sum(need.size for need in needs)


def test_branches_waste_less_than_by_one_order() -> None:
    """Over random graphs with branches, against placing all by size, the largest first."""
    rng = np.random.default_rng(1)
    best, by_size = list[float](), list[float]()
    for _ in range(40):
        made = [
            Need(64 * int(rng.integers(1, 40)), at, at + int(rng.choice([1, 1, 2, 3, 8])))
            for at in range(int(rng.integers(5, 30)))
            for _ in range(int(rng.integers(1, 4)))
        ]
        best.append(extent(made, arranged(made)) / bound(made))
        order = sorted(range(len(made)), key=lambda i: (-made[i].size, made[i].first))
        by_size.append(extent(made, _placed(made, order)) / bound(made))
    assert np.mean(best) - 1 < (np.mean(by_size) - 1) / 2
    assert np.mean(best) < 1.03


def test_resnet18_reuses_its_memory(tmp_path: Path) -> None:
    graph = optimize(load(save(resnet18.build(64, 8), tmp_path / "m.onnx")))
    layout = plan(graph)
    run(graph, layout)
    live = [
        sum(b.nbytes for b in layout.buffers.values() if b.first <= position <= b.last)
        for position in range(len(graph.nodes))
    ]
    assert layout.nbytes < sum(b.nbytes for b in layout.buffers.values()) * 2 / 3
    assert layout.nbytes <= max(live) * 1.1, "no plan can be below the most that is live at once"


def test_reshapes_of_inputs_need_no_memory() -> None:
    flat = Node("r", "reshape", ("x",), (Value("y", (6,)),), {"shape": (6,)})
    layout = plan(Graph((Value("x", (2, 3)),), ("y",), (flat,), {}))
    assert (layout.nbytes, layout.roots["y"], layout.buffer("y")) == (0, "x", None)
    assert str(layout) == "arena of 0 bytes"


@pytest.mark.parametrize("bad", [0, 2, -3])
def test_offsets_are_found_in_gaps(bad: int) -> None:
    from tilewright.graph.plan import _lowest  # pyright: ignore[reportPrivateUsage]

    assert _lowest([(0, 64), (192, 256)], 128 + bad) == (64 if bad <= 0 else 256)


def test_a_block_of_a_value_is_a_view_of_it():
    """Rows of what lies in the arena need no copy; those of an input, or for an output, do."""
    relu = {"program": Program.of("relu")}

    def rows(name: str, source: str, first: int, step: int = 1) -> Node:
        cut = {"start": (first, 0), "count": (2, 8), "step": (step, 1)}
        return Node(name, "slice", (source,), (Value(name, (2, 8)),), cut)

    nodes = (
        Node("a", "map", ("x",), (Value("a", (6, 8)),), relu),
        rows("block", "a", 2),
        Node("flat", "reshape", ("block",), (Value("flat", (16,)),), {"shape": (16,)}),
        rows("strided", "a", 0, 2),
        rows("of_input", "x", 0),
        rows("output", "a", 1),
        Node("y", "map", ("flat",), (Value("y", (16,)),), relu),
        Node("z", "map", ("of_input",), (Value("z", (2, 8)),), relu),
        Node("s", "map", ("strided",), (Value("s", (2, 8)),), relu),
    )
    graph = Graph((Value("x", (6, 8)),), ("y", "z", "s", "output"), nodes, {})
    assert views(graph) == {"block": View("a", 64), "flat": View("block")}
    made = plan(graph)
    assert (made.roots["flat"], made.begins["flat"]) == ("a", 64)
    buffer = made.buffer("flat")
    assert buffer is not None
    assert buffer.last == 6, "as long as the view is read"


@pytest.mark.parametrize(("first", "step"), [(7, -1), (3, 0)])
def test_a_block_in_another_order_is_no_view(first: int, step: int) -> None:
    relu: Any = {"program": Program.of("relu")}
    cut = {"start": (2, first), "count": (2, 8), "step": (1, step)}
    nodes = (
        Node("a", "map", ("x",), (Value("a", (6, 8)),), relu),
        Node("turned", "slice", ("a",), (Value("turned", (2, 8)),), cut),
        Node("y", "gather", ("turned", "i"), (Value("y", (3, 8)),), {"axis": 0}),
    )
    inputs = Value("x", (6, 8)), Value("i", (3,), "int64")
    assert not views(Graph(inputs, ("y",), nodes, {}))
