"""Networks of one kernel after another, most of which share out loops among threads."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.graph.assemble import Work, assemble
from tilewright.graph.executable import Executable
from tilewright.graph.ir import Graph, Node, Value
from tilewright.runtime.artifact import Artifact, compile_nest
from tilewright.target import Target

SHAPE = (24, 16)


def turned(target: Target, name: str, *, parallel: bool) -> Artifact:
    """Compile x / 2 + 1 as two loops, each of which begins with what was written last before it.

    So a thread that does not wait for the others reads what is not there yet.
    """
    rows = SHAPE[0]
    x = tw.tensor("X", SHAPE)
    half = tw.compute("H", SHAPE, lambda i, j: x[rows - 1 - i, j] * 0.5)
    made = tw.compute("Y", SHAPE, lambda i, j: half[rows - 1 - i, j] + 1.0)
    schedule = tw.Schedule(made)
    for loop in [loop.name for loop in schedule.loops.body if parallel]:  # pyright: ignore
        schedule = schedule.parallel(loop)
    return compile_nest(schedule.loops, target, name)


def chain(count: int, target: Target | None = None, *, parallel: bool = True) -> Executable:
    """Return a network of `count` calls of `turned`; one in three, or all, share out no loops."""
    target = target or tw.host()
    kernels = [turned(target, f"op{i}", parallel=parallel and i == 0) for i in range(2)]
    names = [f"v{i}" for i in range(count + 1)]
    nodes = [
        Node(f"n{i}", "unary", (names[i],), (Value(names[i + 1], SHAPE),)) for i in range(count)
    ]
    graph = Graph((Value(names[0], SHAPE),), (names[-1],), tuple(nodes), {})
    works = [_work(node, kernels[i % 3 == 2]) for i, node in enumerate(nodes)]
    return assemble(graph, works, target, 2)


def _work(node: Node, artifact: Artifact) -> Work:
    given = {"input": node.operands[0], "output": node.output.name}
    places = tuple(given.get(b.scope, b) for b in artifact.parameters)
    return Work(node, "turned", 1, artifact, places)


def given(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(SHAPE).astype(np.float32)


def meant(x: np.ndarray, count: int) -> np.ndarray:
    for _ in range(count):
        x = x * np.float32(0.5) + np.float32(1.0)
    return x
