"""Memory plans: nothing that is needed is overwritten, and little is wasted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmarks.models import resnet18
from hypothesis import given
from hypothesis import strategies as st
from tests.graph.models import save

from tilewright.graph import Graph, Node, Value
from tilewright.graph.onnx import load
from tilewright.graph.passes import optimize
from tilewright.graph.plan import ALIGNMENT, Plan, plan


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
    """Run the graph in the arena, each operator writing a mark of its own; all must stay."""
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
        buffer = layout.buffers[node.output.name]
        assert buffer.nbytes == node.output.nbytes
        assert buffer.offset % ALIGNMENT == 0
        assert buffer.offset + buffer.nbytes <= layout.nbytes
        arena[buffer.offset : buffer.offset + buffer.nbytes] = marks[node.output.name] = (
            position + 1
        )
        assert all(map(holds, node.inputs)), f"{node.name} overwrites what it reads"
    assert all(map(holds, graph.outputs)), "an output is gone at the end"


@given(graphs())
def test_no_value_is_overwritten_while_it_is_needed(graph: Graph) -> None:
    run(graph, plan(graph))


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
