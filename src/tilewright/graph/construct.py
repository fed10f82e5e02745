"""Modules of one network, made of whatever way is chosen for each piece of its work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.graph.assemble import Work, assemble
from tilewright.graph.budget import Way
from tilewright.graph.ir import Graph, Node
from tilewright.graph.kernels import Bound
from tilewright.graph.model import Model
from tilewright.graph.module import Module
from tilewright.loops.interpret import packed
from tilewright.loops.nodes import Buffer
from tilewright.runtime.artifact import Artifact, compile_nest
from tilewright.runtime.memory import aligned
from tilewright.target import Target
from tilewright.tuning.task import Task


class Constructor:
    """Makes modules of a network; code and packed constants are made once for each way.

    `tasks` are the different pieces of work, `numbers` says of which task each call is, `held` how
    many different constants the network has for each tensor of each task.
    """

    def __init__(self, model: Model, target: Target, threads: int) -> None:
        self._model, self._target, self._threads = model, target, threads
        self.tasks = model.tasks(target, threads)
        self._works = list(_works(model, self.tasks))
        arrays = [defaultdict[str, set[int]](set) for _ in self.tasks]
        for _, work, number in self._works:
            for tensor, value in work.given.items():
                array = _constant(model.graph, value)
                if array is not None:
                    arrays[number][tensor].add(id(array))
        self.numbers = [number for _, _, number in self._works]
        self.held = [{name: len(ids) for name, ids in of.items()} for of in arrays]
        self._code: dict[tuple[int, int], _Code] = {}
        self._ready: _Ready = {}

    def prepare(self, number: int, way: Way) -> None:
        """Make the code and constants of one task's way, which `module` then finds made."""
        code = self._compiled(number, way)
        for node, work, task in self._works:
            if task == number:
                self._places(node, work, code)

    def module(self, ways: Sequence[Way]) -> Module:
        """Return a module that does each task in its way."""
        made = [self._compiled(number, way) for number, way in enumerate(ways)]
        works = [self._work(node, work, made[number]) for node, work, number in self._works]
        untuned = tuple(t.name for t, way in zip(self.tasks, ways, strict=True) if not way.tuned)
        graph = self._model.graph
        return Module(assemble(graph, works, self._target, self._threads, untuned))

    def _compiled(self, number: int, way: Way) -> _Code:
        key = number, id(way)
        if key not in self._code:
            task = self.tasks[number]
            artifact = compile_nest(way.loops, self._target, f"op{number}")
            shapes = {t.name: t.shape for t in task.expression.inputs}
            self._code[key] = _Code(way, artifact, shapes, task.flops)
        return self._code[key]

    def _work(self, node: Node, work: Bound, code: _Code) -> Work:
        places = self._places(node, work, code)
        return Work(node, work.operator.name, code.flops, code.artifact, places)

    def _places(
        self, node: Node, work: Bound, code: _Code
    ) -> tuple[str | np.ndarray | Buffer, ...]:
        return tuple(self._place(buffer, node, work, code) for buffer in code.artifact.parameters)

    def _place(
        self, buffer: Buffer, node: Node, work: Bound, code: _Code
    ) -> str | np.ndarray | Buffer:
        """Return what a parameter of a node's kernel is."""
        if buffer.scope == "output":
            return node.output.name
        if buffer.scope == "workspace":
            return buffer
        name = buffer.source or buffer.name
        value = work.given[name]
        array = _constant(self._model.graph, value)
        if array is None:
            assert isinstance(value, str)
            return value
        key = (id(array), id(code), buffer.name)
        if key not in self._ready:
            shaped = array.reshape(code.shapes[name])
            ready = aligned(packed(buffer, shaped) if buffer.source else shaped)
            self._ready[key] = array, ready
        return self._ready[key][1]


@dataclass(frozen=True, eq=False)
class _Code:
    way: Way  # whose id is that of its code as long as this lives
    artifact: Artifact
    shapes: dict[str, tuple[int, ...]]
    flops: int


# Constants as kernels read them, by identity, code and parameter; the first array holds the id.
_Ready = dict[tuple[int, int, str], tuple[np.ndarray, np.ndarray]]


def _constant(graph: Graph, value: str | np.ndarray) -> np.ndarray | None:
    """Return an array that is given as it is or by its name; None if the graph computes it."""
    return graph.constants.get(value) if isinstance(value, str) else value


def _works(model: Model, tasks: Sequence[Task]) -> Iterator[tuple[Node, Bound, int]]:
    """Yield each node that computes something, with its work and the number of its task.

    The work's tensors have the names that they have in its task's expression.
    """
    numbers = {task.key: number for number, task in enumerate(tasks)}
    of = {operator: operator.expression() for operator in set(model.operators) if operator}
    for node, work in zip(model.graph.nodes, model.bound, strict=True):
        if work is not None:
            own = of[work.operator]
            number = numbers[own.digest]
            pairs = zip(own.inputs, tasks[number].expression.inputs, strict=True)
            names = {mine.name: its.name for mine, its in pairs}
            given = {names[name]: value for name, value in work.given.items() if name in names}
            yield node, replace(work, given=given), number
